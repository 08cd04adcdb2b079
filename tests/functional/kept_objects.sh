#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants gateway translate upstream app
# timeout: 600
# What zood keeps in each namespace of a tenant, and hides: ConfigMap zoo-root-ca.crt and, of isolated tenants, NetworkPolicy zoo-baseline. It is
# there when a namespace is told of, comes back, goes with the guard and with the tenant; and kube-root-ca.crt shows what pods verify zood by.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream --nodes 1 # a zood that pods find changes the pods of all tenants
reachable='advertise: 192.0.2.7:6443
guards: {network: open, network_from: ["192.0.2.0/24", "kubernetes.io/metadata.name=ingress"]}'
start_zood_with "$reachable"
tenant() { # VARIABLE: one whose kubeconfig names the address that this machine has
  local -n made=$1
  made=$(random_id)
  require "create tenant $made" ctl tenant create "$made" --wait
  export_kubeconfig "$made" --server "https://$zood_address"
}
tenant a
tenant b
unpack "$a"
authorities=$(cat "$TMPDIR/$a.ca")
# kept ID NAMESPACE: the data of the ConfigMap, as upstream has it; policy ID NAMESPACE: the spec of the policy.
kept() { upstream -n "$1-$2" get configmap zoo-root-ca.crt -o json 2>/dev/null | jq -c .data; }
policy() { upstream -n "$1-$2" get networkpolicy zoo-baseline -o json 2>/dev/null | jq -cS .spec; }
wanted() { jq -cn --arg ca "$authorities"$'\n' --arg space "$1" '{"ca.crt": $ca, namespace: $space}'; }
is_kept() { [[ $(kept "$1" "$2") == "$(wanted "$2")" ]]; }
holds() { kept "$1" "$2" | jq -e --arg ca "$authorities" --arg space "$2" '.namespace == $space and (.["ca.crt"] | contains($ca))'; }
has_policy() { [[ -n $(policy "$1" "$2") ]]; }
has_none() { [[ -z $(policy "$1" "$2") ]]; }
isolates() { # ID: spec.guards of its Tenant
  curl -sSf --unix-socket "$zood_dir/zood.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' -o /dev/null \
    -d '{"spec":{"guards":{"network":'"$2"'}}}' "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$1"
}

# ---- when it is there
for space in default kube-system; do expect "a new tenant has it in $space" "$(wanted $space)" "$(kept "$a" $space)"; done
for ((i = 0; i < 5; ++i)); do
  check "a namespace is made" as "$a" create namespace "team$i"
  expect "and has it, when that is told" "$(wanted "team$i")" "$(kept "$a" "team$i")"
done
check "the first write into kube-public" as "$a" -n kube-public create configmap notices
expect "finds it there" "$(wanted kube-public)" "$(kept "$a" kube-public)"
expect "an open tenant has no policy" "" "$(policy "$a" team0)"
check "the platform makes the tenant a namespace" upstream create -f - <<Y
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"$a-given","labels":{"tenant.kubezoo.io/id":"$a"}}}
Y
eventually "which has it soon" 60 is_kept "$a" given

# ---- who sees what
check "objects of the tenant's own" as "$a" -n team0 create configmap own --from-literal=ca.crt=mine
names() { as "$a" get configmaps "$@" -o name | xargs; }
everybody_has() { (($(as "$a" get configmaps -A -o name | grep -c kube-root-ca.crt) == 9)); }
eventually "upstream has written its own" 120 everybody_has
expect "a list shows all but zood's" "configmap/kube-root-ca.crt configmap/own" "$(names -n team0)"
expect "in pages of one" "configmap/kube-root-ca.crt configmap/own" "$(names -n team0 --chunk-size=1)"
expect "of all namespaces none" "" "$(as "$a" get configmaps -A -o name | grep zoo-root)"
expect "in pages neither" "" "$(as "$a" get configmaps -A --chunk-size=2 -o name | grep zoo-root)"
expect "nor as a table" "" "$(as "$a" get configmaps -A | grep zoo-root)"
expect "nor by its name" "" "$(names -n team0 --field-selector metadata.name=zoo-root-ca.crt)"
expect "all but one" "configmap/kube-root-ca.crt" "$(names -n team0 --field-selector metadata.name!=own)"
fetch "$a" '/api/v1/namespaces/team0/configmaps?limit=1' >"$TMPDIR/page"
expect "a page is whole, and says nothing of how many follow" "1 null" "$(jq -r '"\(.items | length) \(.metadata.remainingItemCount)"' "$TMPDIR/page")"
expect "a watch begins with all but zood's" "kube-root-ca.crt own" "$(begins "$a" /api/v1/namespaces/team0/configmaps | sort | xargs)"
check_fails "a get does not find it" 'configmaps "zoo-root-ca.crt" not found' as "$a" -n team0 get configmap zoo-root-ca.crt
check_fails "it cannot be made" 'rule reserved-names' as "$a" -n team0 create configmap zoo-root-ca.crt
check_fails "nor applied" 'rule reserved-names' as "$a" -n team0 apply --server-side -f - <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"zoo-root-ca.crt"}}'
check_fails "nor deleted" 'rule reserved-names' as "$a" -n team0 delete configmap zoo-root-ca.crt
check "all ConfigMaps of a namespace go" as "$a" -n team0 delete configmap --all
expect "but zood's" "$(wanted team0)" "$(kept "$a" team0)"
check "other names are free" as "$a" -n team0 create configmap zoo-baseline

# ---- kube-root-ca.crt
found() { [[ $(ctl tenant get "$a" -o json | jq -r '.status.conditions[] | select(.type == "InClusterAccess").status') == True ]]; }
eventually "pods find zood" 60 found
shows_zoods() { [[ $(as "$a" -n team0 get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}') == *"$authorities"* ]]; }
eventually "kube-root-ca.crt has come back, with zood's authorities" 120 shows_zoods
expect_no_match "upstream's is another one" "$(sed -n 2p <<<"$authorities")" "$(upstream -n "$a-team0" get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}')"
expect "so do all of them in a list" "$(for ((i = 0; i < 9; ++i)); do sha256sum <<<"$authorities"; done | sort -u)" \
  "$(as "$a" get configmaps -A -o json | jq -r '.items[] | select(.metadata.name == "kube-root-ca.crt") | .data["ca.crt"] | rtrimstr("\n") | @base64' |
    while read -r one; do base64 -d <<<"$one" | { cat; echo; } | sha256sum; done | sort -u)"
for path in configmaps/kube-root-ca.crt configmaps; do
  curl -sg --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" -H 'Accept: application/vnd.kubernetes.protobuf' \
    "https://$zood_address/api/v1/namespaces/team0/$path" >"$TMPDIR/protobuf"
  check "in protobuf, too: $path" grep -aqF "$(sed -n 2p <<<"$authorities")" "$TMPDIR/protobuf"
  expect "without upstream's" 1 "$(grep -acF 'BEGIN CERTIFICATE' "$TMPDIR/protobuf")"
  check_fails "and without what is hidden" '' grep -aqF zoo-root-ca "$TMPDIR/protobuf"
done
expect "in the beginning of a watch" "$authorities" \
  "$(fetch "$a" '/api/v1/namespaces/team0/configmaps?watch=1&resourceVersion=0&timeoutSeconds=1' | jq -r 'select(.object.metadata.name == "kube-root-ca.crt").object.data["ca.crt"]')"
check "a client that knows nothing but that file finds the tenant's cluster" eval \
  'as "$a" -n team0 get configmap kube-root-ca.crt -o "jsonpath={.data.ca\.crt}" >"$TMPDIR/in-pod.ca" && curl -sSf --cacert "$TMPDIR/in-pod.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" "https://$zood_address/version"'

# ---- it comes back
check "somebody deletes it upstream" upstream -n "$a-team1" delete configmap zoo-root-ca.crt
eventually "it is there again" 60 is_kept "$a" team1
check "somebody changes it" upstream -n "$b-default" patch configmap zoo-root-ca.crt --type merge -p '{"data":{"ca.crt":"forged"}}'
eventually "it is as it was" 60 is_kept "$b" default
check "a quota of the tenant's counts it" as "$b" create quota q --hard=configmaps=2
counted() { [[ $(as "$b" get quota q -o 'jsonpath={.status.used.configmaps}') == 2 ]]; }
eventually "beside upstream's own" 60 counted
check "the tenant may have no more" as "$b" patch quota q --type merge -p '{"spec":{"hard":{"configmaps":"1"}}}'
seen() { [[ $(upstream -n "$b-default" get quota q -o 'jsonpath={.status.hard.configmaps}') == 1 ]]; }
eventually "of which upstream knows" 60 seen
check "then somebody deletes it" upstream -n "$b-default" delete configmap zoo-root-ca.crt
told() { [[ $(ctl tenant get "$b" -o json | jq -r '.status.conditions[] | select(.type == "Synced").message') == *"exceeded quota"* ]]; }
eventually "that it cannot be made is told in the Tenant's words" 60 told
expect_match "doctor names it" "config map zoo-root-ca.crt in namespace $b-default" "$(ctl doctor 2>&1)"
check "other namespaces of that tenant are made" as "$b" create namespace other
expect "and have theirs" "$(wanted other)" "$(kept "$b" other)"
check "the quota goes" as "$b" delete quota q
eventually "it is there again" 120 is_kept "$b" default
no_faults() { ! ctl doctor 2>&1 | grep -E 'config map zoo-root|network policy zoo-base'; }
eventually "and doctor finds all" 60 no_faults

# ---- networks
check "the other tenant is to be isolated" isolates "$b" '"isolated"'
for space in default kube-system other; do eventually "it has a policy in $space" 60 has_policy "$b" "$space"; done
expect "from its own namespaces, and from where the platform says" \
  '{"ingress":[{"from":[{"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'"$b"'"}}},{"ipBlock":{"cidr":"192.0.2.0/24"}},{"namespaceSelector":{"matchExpressions":[{"key":"tenant.kubezoo.io/id","operator":"DoesNotExist"}],"matchLabels":{"kubernetes.io/metadata.name":"ingress"}}}]}],"podSelector":{},"policyTypes":["Ingress"]}' \
  "$(policy "$b" other)"
expect "others have none" "" "$(policy "$a" default)"
check "a namespace is made" as "$b" create namespace closed
check "and has it, when that is told" has_policy "$b" closed
check "the tenant has a policy of its own" as "$b" -n closed create -f - <<<'{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"own"},"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"198.51.100.0/24"}}]}]}}'
expect "and sees that alone" "networkpolicy.networking.k8s.io/own" "$(as "$b" get networkpolicies -A -o name | xargs)"
check "they all go" as "$b" -n closed delete networkpolicies --all
check "but zood's" has_policy "$b" closed
check "somebody deletes it upstream" upstream -n "$b-closed" delete networkpolicy zoo-baseline
eventually "it is there again" 60 has_policy "$b" closed
before=$(policy "$b" closed)
check "somebody narrows it" upstream -n "$b-closed" patch networkpolicy zoo-baseline --type json -p '[{"op":"add","path":"/spec/ingress/0/ports","value":[{"port":80}]}]'
as_before() { [[ $(policy "$b" closed) == "$before" ]]; }
eventually "it is as it was" 60 as_before
printf '%s\n' 'guards: {network: isolated, network_from: []}' >"$TMPDIR/zood.yaml"
reload_zood
for space in default team0 team4 given; do eventually "zood.yaml isolates all: $space" 120 has_policy "$a" "$space"; done
narrower() { [[ $(policy "$b" closed) == '{"ingress":[{"from":[{"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'"$b"'"}}}]}],"podSelector":{},"policyTypes":["Ingress"]}' ]]; }
eventually "and lets nobody else in" 120 narrower
check "one says otherwise" isolates "$a" '"open"'
for space in default team0 team4 given; do eventually "and has none any more: $space" 120 has_none "$a" "$space"; done
printf '%s\n' 'guards: {network_from: ["everybody"]}' >"$TMPDIR/zood.yaml"
kill -HUP "${zood_pids[$zood_dir]}"
eventually "what says nothing is not taken" 30 grep -q "not reloaded: .*'everybody' says neither" "$zood_dir.log"
check_fails "nor does --check-config" "'everybody' says neither" "$ZOO_BUILD/bin/zood" --check-config --config "$TMPDIR/zood.yaml" --upstream "$ZOO_E2E_KUBECONFIG"
printf '{}\n' >"$TMPDIR/zood.yaml"
reload_zood
check "and again" isolates "$b" null
for space in default other closed; do eventually "nobody is isolated: $space" 120 has_none "$b" "$space"; done

# ---- namespaces that come and go at once
for ((i = 0; i < 8; ++i)); do
  { as "$a" create namespace "gone$i" && as "$a" delete namespace "gone$i" --wait=false && as "$a" create namespace "gone$i"; } >"$TMPDIR/gone$i" 2>&1 &
  racers[i]=$!
done
wait "${racers[@]}"
none_gone() { ! as "$a" get namespaces -o name | grep gone; }
eventually "what was made and deleted goes" 120 none_gone
expect_no_match "and nobody was told anything odd" 'panic|Internal|unexpected' "$(cat "$TMPDIR"/gone?)"

# ---- another authority, and a start
umask 077
ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 "${ec[@]}" -keyout "$TMPDIR/ca.key" -out "$TMPDIR/ca.crt" -days 1 -subj /CN=corporate -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
openssl req "${ec[@]}" -keyout "$TMPDIR/tls.key" -out "$TMPDIR/tls.csr" -subj /CN=zood 2>/dev/null
openssl x509 -req -in "$TMPDIR/tls.csr" -CA "$TMPDIR/ca.crt" -CAkey "$TMPDIR/ca.key" -set_serial 7 -days 1 -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$TMPDIR/tls.crt" 2>/dev/null
printf '%s\ntls: {certificate: %s, key: %s, ca: %s}\n' "$reachable" "$TMPDIR/tls.crt" "$TMPDIR/tls.key" "$TMPDIR/ca.crt" >"$TMPDIR/zood.yaml"
reload_zood
authorities=$(cat "$TMPDIR/ca.crt")
for id in "$a" "$b"; do
  for space in default kube-system; do eventually "another authority is written everywhere: $id, $space" 120 holds "$id" "$space"; done
done
for space in team0 team4 given kube-public; do eventually "in $space, too" 120 holds "$a" "$space"; done
export_kubeconfig "$a" --server "https://$zood_address"
eventually "and kube-root-ca.crt shows it" 60 shows_zoods
stop_zood
for space in default team2 given; do check "while zood is away it goes from $space" upstream -n "$a-$space" delete configmap zoo-root-ca.crt; done
start_zood --config "$TMPDIR/zood.yaml"
for space in default team2 given; do eventually "when zood starts it is there again in $space" 120 holds "$a" "$space"; done

check "the tenants are deleted" ctl tenant delete "$a" "$b" --wait
expect "nothing is left" "" "$(upstream get configmaps,networkpolicies -A -o name | grep -E 'zoo-root-ca|zoo-baseline' | head -n 1; upstream get namespaces -o name | grep -E "/($a|$b)-")"
