#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants app upstream gateway admin cli common
# timeout: 600
# What upstream makes of tenants' pods so that zood is the API server inside them and names are the tenant's, and how that is kept
# there. Nothing runs in the pods here: tests/node shows what they find.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream --nodes 1
upstream_policies=mutatingadmissionpolicies.admissionregistration.k8s.io upstream_bindings=mutatingadmissionpolicybindings.admissionregistration.k8s.io
upstream get "$upstream_policies" >/dev/null 2>&1 || skip "this upstream serves no MutatingAdmissionPolicy"

# A DNS server that knows the one name that doctor asks for, while $TMPDIR/rules is there. Any address of 127.0.0.0/8 is this machine's.
dns=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
python3 -u -c 'import os, socket, sys
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.bind((sys.argv[1], 53))
print("ready")
while True:
    asked, client = door.recvfrom(4096)
    head, question = asked[:2], asked[12:]
    try:
        address = socket.inet_aton(open(sys.argv[2]).read().strip())
        if not question.startswith(b"\x0akubernetes\x07default\x03svc\x07cluster\x05local\x06zoosys\x03zoo\x07cluster\x05local\x00"): raise OSError
        answer = head + b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" + question + b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04" + address
    except OSError:
        answer = head + b"\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00" + question
    door.sendto(answer, client)' "$dns" "$TMPDIR/rules" >"$TMPDIR/dns.out" 2>"$TMPDIR/dns.log" &
dns_server=$!
at_end() { kill "$dns_server" 2>/dev/null; }
eventually "a DNS server listens" 30 test -s "$TMPDIR/dns.out"

zood_yaml='advertise: 192.0.2.7:6443'
start_zood_with "$zood_yaml
inside: {dns_servers: [$dns, 192.0.2.53]}"
access() { ctl tenant get "$1" -o json | jq -r '.status.conditions[] | select(.type == "InClusterAccess") | "\(.status) \(.reason) \(.message)"'; }
has_access() { [[ $(access "$1") == "$2 "* ]]; } # ID "STATUS REASON"
tenant() { # VARIABLE [ARGUMENTS]: one whose kubeconfig names the address that this machine has
  local -n made=$1
  made=$(random_id)
  require "create tenant $made" ctl tenant create "$made" --wait "${@:2}"
  export_kubeconfig "$made" --server "https://$zood_address"
}
tenant a
eventually "its condition says that pods find zood" 60 has_access "$a" "True Published"
params() { upstream -n zoo-system get configmap zoo-inside -o json | jq -c .data; }
ip=$(upstream -n zoo-system get service zood -o 'jsonpath={.spec.clusterIP}')
expect "what pods are given" "{\"apiHost\":\"$ip\",\"apiPort\":\"443\",\"audiences\":\"$(jq -r '.aud | join(" ")' <<<"$(upstream create token default | cut -d. -f2 | tr '_-' '/+' | base64 -d 2>/dev/null)")\",\"dnsServers\":\"$dns 192.0.2.53\",\"domain\":\"cluster.local\"}" "$(params)"
expect "the Service leads to the advertised address" '["192.0.2.7",6443]' \
  "$(upstream -n zoo-system get endpointslice zood -o json | jq -c '[.endpoints[0].addresses[0], .ports[0].port]')"
names() { openssl s_client -connect "$zood_address" </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName; }
for name in "IP Address:$ip" DNS:kubernetes DNS:kubernetes.default DNS:kubernetes.default.svc DNS:kubernetes.default.svc.cluster.local; do
  expect_match "the door's certificate is good for $name" "$name(,|\$)" "$(names)"
done

# ---- pods -------------------------------------------------------------------------------------------------------
space() { # ID: it makes a namespace, and may make pods there
  check "$1 makes a namespace" as "$1" create namespace shop
  eventually "which is furnished" 60 as "$1" -n shop get serviceaccount default
}
space "$a"
cat >"$TMPDIR/pod.yaml" <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: whole}
spec:
  initContainers: [{name: first, image: none}]
  containers:
  - name: main
    image: none
    env:
    - {name: URL, value: "https://$(KUBERNETES_SERVICE_HOST)"}
    - {name: SPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: CA, valueFrom: {configMapKeyRef: {name: kube-root-ca.crt, key: ca.crt}}}
    envFrom: [{configMapRef: {name: kube-root-ca.crt}}]
  - {name: own, image: none, env: [{name: KUBERNETES_SERVICE_HOST, value: 192.0.2.1}]}
  dnsConfig: {searches: [own.example.com], nameservers: [192.0.2.9], options: [{name: ndots, value: "2"}, {name: edns0}]}
  volumes:
  - {name: ca, configMap: {name: kube-root-ca.crt}}
  - {name: space, downwardAPI: {items: [{path: space, fieldRef: {fieldPath: metadata.namespace}}]}}
  - name: tokens
    projected:
      sources:
      - {serviceAccountToken: {path: vault, audience: vault}}
      - {serviceAccountToken: {path: none}}
      - {downwardAPI: {items: [{path: space, fieldRef: {fieldPath: metadata.namespace}}, {path: own-name, fieldRef: {fieldPath: metadata.name}}]}}
Y
check "a pod with all that is changed" as "$a" -n shop apply -f "$TMPDIR/pod.yaml"
stored() { upstream -n "$a-shop" get pod "${2:-whole}" -o json | jq -c "$1"; }
expect "the address stands before the container's own environment" "[\"KUBERNETES_SERVICE_HOST=$ip\",\"KUBERNETES_SERVICE_PORT=443\",\"KUBERNETES_SERVICE_PORT_HTTPS=443\",\"KUBERNETES_PORT=tcp://$ip:443\",\"KUBERNETES_PORT_443_TCP=tcp://$ip:443\",\"KUBERNETES_PORT_443_TCP_PROTO=tcp\",\"KUBERNETES_PORT_443_TCP_PORT=443\",\"KUBERNETES_PORT_443_TCP_ADDR=$ip\"]" \
  "$(stored '[.spec.containers[0].env[:8][] | "\(.name)=\(.value)"]')"
expect "in init containers, too" "\"$ip\"" "$(stored '.spec.initContainers[0].env[0].value')"
expect "a container that names a host itself has none of it" 1 "$(stored '.spec.containers[1].env | length')"
own="metadata.annotations['zoo.kubezoo.io/namespace']"
expect "the namespace is read from an annotation" "[\"$own\",\"$own\",\"$own\",\"shop\"]" \
  "$(stored '[.spec.containers[0].env[9].valueFrom.fieldRef.fieldPath, .spec.volumes[1].downwardAPI.items[0].fieldRef.fieldPath, .spec.volumes[2].projected.sources[2].downwardAPI.items[0].fieldRef.fieldPath, .metadata.annotations["zoo.kubezoo.io/namespace"]]')"
expect "the authority is zood's, wherever it is named" '["zoo-root-ca.crt","zoo-root-ca.crt","zoo-root-ca.crt"]' \
  "$(stored '[.spec.containers[0].env[10].valueFrom.configMapKeyRef.name, .spec.containers[0].envFrom[0].configMapRef.name, .spec.volumes[0].configMap.name]')"
expect "tokens that upstream would take are zood's, others stay" '["vault","zood","zood"]' \
  "$(stored '[.spec.volumes[].projected.sources[]?.serviceAccountToken.audience // empty]')"
expect "what every pod mounts" '[{"serviceAccountToken":{"audience":"zood","expirationSeconds":3607,"path":"token"}},{"configMap":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"zoo-root-ca.crt"}},{"configMap":{"items":[{"key":"namespace","path":"namespace"}],"name":"zoo-root-ca.crt"}}]' \
  "$(stored '.spec.volumes[] | select(.name | startswith("kube-api-access")).projected.sources')"
zone=$a.zoo.cluster.local
expect "names are the tenant's" "[\"None\",{\"nameservers\":[\"$dns\",\"192.0.2.53\",\"192.0.2.9\"],\"options\":[{\"name\":\"edns0\"},{\"name\":\"ndots\",\"value\":\"7\"}],\"searches\":[\"shop.svc.cluster.local.$zone\",\"svc.cluster.local.$zone\",\"cluster.local.$zone\",\"$zone\",\"own.example.com\"]}]" \
  "$(stored '[.spec.dnsPolicy, .spec.dnsConfig]')"

check "applied again it comes out as it is" as "$a" -n shop apply -f "$TMPDIR/pod.yaml"
check "and labelled" as "$a" -n shop label pod whole seen=yes
check "an ephemeral container comes" as "$a" -n shop debug whole --image=none -c late --attach=false --profile=baseline --custom=<(echo '{"env": [{"name": "SPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]}')
expect "it is given the address, and the namespace itself" "[\"$ip\",\"shop\"]" \
  "$(stored '[.spec.ephemeralContainers[0].env[0].value, .spec.ephemeralContainers[0].env[-1].value]')"

check "a Deployment" as "$a" -n shop create deployment web --image=none
of_web() { upstream -n "$a-shop" get pods -l app=web -o json | jq -e --arg ip "$ip" '.items | length == 1 and .[0].spec.containers[0].env[0].value == $ip' >/dev/null; }
eventually "its pods are changed, too" 60 of_web
plain() { jq -cn --arg name "$1" --argjson more "${2:-null}" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name}, spec: ({containers: [{name: "main", image: "none"}]} + ($more // {}))}'; }
check "a pod that mounts no token" as "$a" -n shop create -f - <<<"$(plain tokenless '{"automountServiceAccountToken": false}')"
expect "has none" '[]' "$(stored '[.spec.volumes[]?]' tokenless)"
check "one with the node's DNS" as "$a" -n shop create -f - <<<"$(plain of-node '{"dnsPolicy": "Default"}')"
expect "keeps it" '["Default",null]' "$(stored '[.spec.dnsPolicy, .spec.dnsConfig]' of-node)"
check "one with as many searches as Kubernetes takes" as "$a" -n shop create -f - <<<"$(plain searching "$(jq -cn '{dnsConfig: {searches: [range(32) | "s\(.).example.com"]}}')")"
expect "has as many, the first of them the tenant's" "[32,\"$zone\",\"s27.example.com\"]" "$(stored '.spec.dnsConfig.searches | [length, .[3], .[31]]' searching)"
check "and may be labelled" as "$a" -n shop label pod searching seen=yes
plain many | jq -c '.spec.containers = [range(60) | {name: "c\(.)", image: "none", env: [range(100) | {name: "E\(.)", value: "v"}]}]' >"$TMPDIR/many.json"
check "one with sixty containers of a hundred variables each" as "$a" -n shop create --dry-run=server -f "$TMPDIR/many.json"
check "one that searches another tenant's names" as "$a" -n shop create -f - <<<"$(plain copied '{"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.9"], "searches": ["shop.svc.cluster.local.zzzzzz.zoo.cluster.local", "zzzzzz.zoo.cluster.local", "own.example.com"]}}')"
expect "searches its own" "[\"shop.svc.cluster.local.$zone\",\"svc.cluster.local.$zone\",\"cluster.local.$zone\",\"$zone\",\"own.example.com\"]" "$(stored .spec.dnsConfig.searches copied)"
check "a pod of the platform" upstream create -f - <<<"$(plain platform)"
expect "is not changed" '["ClusterFirst",null]' "$(upstream get pod platform -o json | jq -c '[.spec.dnsPolicy, .spec.containers[0].env]')"

# ---- a Tenant may switch it off ---------------------------------------------------------------------------------
tenant none --inside none
tenant dns_alone --inside dns
check_fails "there is nothing else" '--inside is one of all, api, dns, none, not .some.' ctl tenant create zzzzz9 --inside some
label() { upstream get namespace "$1" -o json | jq -r '.metadata.labels["zoo.kubezoo.io/inside"]'; }
for id in "$none" "$dns_alone"; do space "$id"; done
expect "all namespaces say so" 'none none dns' "$(label "$none-default") $(label "$none-shop") $(label "$dns_alone-shop")"
expect_no_match "which its tenant does not see" 'zoo.kubezoo.io' "$(as "$none" get namespace shop -o yaml)"
for id in "$none" "$dns_alone"; do check "a pod of $id" as "$id" -n shop create -f - <<<"$(plain p)"; done
expect "nothing is changed" '["ClusterFirst",null,[null]]' \
  "$(upstream -n "$none-shop" get pod p -o json | jq -c '[.spec.dnsPolicy, .spec.containers[0].env, [.spec.volumes[0].projected.sources[0].serviceAccountToken.audience]]')"
expect "or DNS alone" '["None",null,[null]]' \
  "$(upstream -n "$dns_alone-shop" get pod p -o json | jq -c '[.spec.dnsPolicy, .spec.containers[0].env, [.spec.volumes[0].projected.sources[0].serviceAccountToken.audience]]')"
eventually "its condition says so" 60 has_access "$none" "False SwitchedOff"
check "it is switched on again" ctl tenant apply -f - <<<"$(ctl tenant get "$none" -o json | jq '.spec.inside = {api: true, dns: true} | del(.status)')"
unlabelled() { [[ $(label "$none-default") == null && $(label "$none-shop") == null ]]; }
eventually "and its namespaces say nothing any more" 60 unlabelled
eventually "nor does its condition" 60 has_access "$none" "True Published"

# ---- kept as it is ----------------------------------------------------------------------------------------------
there() { upstream "$@" >/dev/null 2>&1; }
for object in "$upstream_bindings zoo-pods-inside" "$upstream_policies zoo-pods-inside" "-n zoo-system configmap zoo-inside" "-n zoo-system endpointslice zood" "-n zoo-system service zood"; do
  read -ra words <<<"$object"
  verb=("${words[@]:0:${#words[@]}-2}")
  check "somebody removes: $object" upstream "${verb[@]}" delete "${words[@]: -2}"
  eventually "it is put back" 60 there "${verb[@]}" get "${words[@]: -2}"
done
expect "the Service has the address that pods have" "$ip" "$(upstream -n zoo-system get service zood -o 'jsonpath={.spec.clusterIP}')"
check "somebody changes what pods are given" upstream -n zoo-system patch configmap zoo-inside --type merge -p '{"data":{"apiHost":"192.0.2.66"}}'
good_params() { [[ $(params | jq -r .apiHost) == "$ip" ]]; }
eventually "it is put right" 60 good_params
# What was taken away has not kept upstream from hearing of new parameters.
shown() { as "$a" -n shop create --dry-run=server -o json -f - <<<"$(plain shown)" | jq -r '.spec.dnsConfig.nameservers[0]'; }
expect "a pod is given what stands there" "$dns" "$(shown)"
check "and the policy" upstream patch "$upstream_policies" zoo-pods-inside --type merge -p '{"spec":{"failurePolicy":"Ignore"}}'
good_policy() { [[ $(upstream get "$upstream_policies" zoo-pods-inside -o 'jsonpath={.spec.failurePolicy}') == Fail ]]; }
eventually "it is put right, too" 60 good_policy

# ---- doctor -----------------------------------------------------------------------------------------------------
eventually "doctor has tried a pod" 60 eval 'ctl doctor | says_line "a pod in namespace .*-kube-system would find zood"'
expect "which leaves nothing" "" "$(upstream get pods -A -o name | grep zood-doctor)"
expect_match "and says that the rules are missing" "names inside pods: the rules are not in force at $dns" "$(ctl doctor)"
echo "$ip" >"$TMPDIR/rules"
expect_match "or that they are there" "names inside pods: the rules are in force at $dns" "$(ctl doctor)"

# ---- tokens -----------------------------------------------------------------------------------------------------
stop_zood
expect "zood ends" 0 $?
check "while zood is away the policy holds" upstream -n "$a-shop" create -f - <<<"$(plain alone)"
expect "as before" "\"$ip\"" "$(stored '.spec.containers[0].env[0].value' alone)"
check "and somebody takes the binding" upstream delete "$upstream_bindings" zoo-pods-inside
as_controller() { upstream --as system:serviceaccount:kube-system:replicaset-controller --as-group system:serviceaccounts:kube-system --as-group system:authenticated "$@"; }
token_refused() { [[ $(as_controller -n "$a-shop" create --dry-run=server -f - <<<"$(plain tokens)" 2>&1) == *"no token that the platform's API server takes"* ]]; }
eventually "no pod is given a token of upstream's" 60 token_refused
check "but where the Tenant wants it" as_controller -n "$dns_alone-shop" create --dry-run=server -f - <<<"$(plain tokens)"
start_zood --config "$TMPDIR/zood.yaml"
eventually "zood puts it back" 60 there get "$upstream_bindings" zoo-pods-inside

# ---- not at all -------------------------------------------------------------------------------------------------
check "what zood prints is what it installs" upstream apply --server-side --dry-run=server --force-conflicts -f <("$ZOO_BUILD/bin/zood" --print-upstream-inside)
stop_zood
expect "zood ends" 0 $?
start_zood_with "$zood_yaml
inside: {enabled: false}"
gone() { ! there get "$upstream_bindings" zoo-pods-inside && ! there get "$upstream_policies" zoo-pods-inside && ! there -n zoo-system get configmap zoo-inside; }
eventually "inside.enabled false: the policy goes" 60 gone
eventually "and each Tenant says why" 60 has_access "$a" "False SwitchedOff"
untouched() { as_controller -n "$a-shop" create --dry-run=server -o json -f - <<<"$(plain before)" | jq -e '.spec.containers[0].env == null' >/dev/null; }
eventually "pods are as they were" 60 untouched
stop_zood
start_zood
eventually "an address of this machine alone is no address for pods" 60 has_access "$a" "False NotReachable"
check_fails "what is no address is refused" "inside.dns_servers: 'dns.example.com' is no IP address" \
  "$ZOO_BUILD/bin/zood" --dir "$TMPDIR/none" --upstream "$ZOO_E2E_KUBECONFIG" --check-config --config <(echo 'inside: {dns_servers: [dns.example.com]}')
check "all go" ctl tenant delete "$a" "$none" "$dns_alone" --wait
