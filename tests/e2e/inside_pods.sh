#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate
# timeout: 300
# Pods that upstream's policy zoo-pods-inside has made, through kubectl and in each encoding: their tenant sees what it has
# written and may write it back, what it does not see survives its writes, and refusals and names of Services are its own.
. "$(dirname "$0")/lib.sh"

own_upstream --nodes 1
# Pods are given zood where it advertises an address that they can reach: not a loopback one. Nothing connects to it here.
start_zood_with 'advertise: 192.0.2.7:6443'
a=$(random_id)
require "create tenant $a" ctl tenant create "$a" --wait
export_kubeconfig "$a" --server "https://$zood_address"
unpack "$a"
here=$a-shop
check "a namespace" as "$a" create namespace shop
has_account() { as "$a" -n shop get serviceaccount default; }
eventually "its account is there" 30 has_account
in_force() { [[ $(as "$a" -n shop run probe --image=x --dry-run=server -o json | jq '[.spec.containers[].env[]?.name] | index("KUBERNETES_SERVICE_HOST")') == 0 ]]; }
eventually "the policy is in force" 60 in_force

pod() { # NAME
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {app: web}, annotations: {own: "1"}}
spec:
  containers:
  - name: c
    image: x
    env:
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    volumeMounts: [{name: info, mountPath: /info}]
  volumes:
  - name: info
    downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}, {path: name, fieldRef: {fieldPath: metadata.name}}]}
  - name: both
    projected: {sources: [{downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}, {path: uid, fieldRef: {fieldPath: metadata.uid}}]}}]}
  - name: one
    projected: {sources: [{downwardAPI: {items: [{path: only, fieldRef: {fieldPath: metadata.namespace}}]}}]}
  - name: ca
    configMap: {name: kube-root-ca.crt}
YAML
}
pod web >"$TMPDIR/web.yaml"
pod bare | sed -e '/POD_NAMESPACE/d' -e '/- {name: NODE/d' -e '/^    env:/d' -e '/name: info$/,$d' -e '/volumeMounts/d' -e '/^  volumes:/d' >"$TMPDIR/bare.yaml"
stored() { upstream -n "$here" get pod "$1" -o json; }
given() { stored web | jq -r '.metadata.annotations["zoo.kubezoo.io/namespace"]'; }
spec_of() { stored "$1" | jq -S .spec; }

# ---- what is seen ----------------------------------------------------------------------------------------------------

check "a pod that reads its namespace is applied" as "$a" -n shop apply -f "$TMPDIR/web.yaml"
check "and one that does not" as "$a" -n shop apply -f "$TMPDIR/bare.yaml"
expect "upstream reads the namespace from an annotation" shop "$(given)"
expect_match "and its authorities from zood's ConfigMap" 'zoo-root-ca.crt' "$(stored web)"
expect "the other pod has no annotation" null "$(stored bare | jq '.metadata.annotations["zoo.kubezoo.io/namespace"]')"

shows_own() { # WHAT TEXT
  expect_no_match "$1: nothing of zood's" 'zoo\.kubezoo|zoo-root-ca' "$2"
  expect_match "$1: the namespace's field" 'metadata\.namespace' "$2"
  expect_match "$1: the ConfigMap's own name" 'kube-root-ca\.crt' "$2"
}
pods=/api/v1/namespaces/shop/pods
shows_own "get" "$(as "$a" -n shop get pod web -o json --show-managed-fields)"
shows_own "list" "$(as "$a" -n shop get pods -o yaml)"
shows_own "list of all namespaces" "$(as "$a" get pods -A -o yaml)"
shows_own "watch" "$(fetch "$a" "$pods?watch=1&timeoutSeconds=1")"
ask() { curl -sN --max-time 20 --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" -H "Accept: $1" "https://$zood_address$2" | tr '\0' '?'; }
binary=application/vnd.kubernetes.protobuf
shows_own "protobuf" "$(ask $binary "$pods/web" | strings)"
shows_own "protobuf of a list" "$(ask $binary "$pods" | strings)"
shows_own "protobuf of a watch" "$(ask "$binary;stream=watch" "$pods?watch=1&timeoutSeconds=1" | strings)"
shows_own "Table with objects" "$(ask 'application/json;as=Table;v=v1;g=meta.k8s.io' "$pods?includeObject=Object")"
expect_no_match "metadata alone" 'zoo\.kubezoo' "$(ask 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' "$pods")"

# The same pod in a namespace of the platform's: where no policy acts.
upstream create namespace "direct-$a" >/dev/null
direct_account() { upstream -n "direct-$a" get serviceaccount default; }
eventually "the platform's account is there" 30 direct_account
check "the same pod is made directly" upstream -n "direct-$a" apply -f "$TMPDIR/web.yaml"
plain() { # of env, DNS and the token's audience the policy's are visible
  jq -S '.spec | del(.nodeName, .dnsPolicy, .dnsConfig) | del(.containers[].env[] | select(.name | startswith("KUBERNETES_")))
    | (.volumes[] | select(.name | startswith("kube-api-access-")).name) = "token" | (.containers[].volumeMounts[] | select(.name | startswith("kube-api-access-")).name) = "token"
    | del(.volumes[].projected.sources[]?.serviceAccountToken.audience?)'
}
expect "is what the tenant sees of its own" "$(upstream -n "direct-$a" get pod web -o json | plain)" "$(as "$a" -n shop get pod web -o json | plain)"

# ---- what is written back --------------------------------------------------------------------------------------------

runs() { [[ $(stored web | jq -r '.status.conditions[]? | select(.type == "Ready").status') == True ]]; }
eventually "the pod runs, and nobody writes it any more" 60 runs
before=$(spec_of web)
kept() { # WHAT
  expect "$1: the annotation is there" shop "$(given)"
  expect "$1: and the pod is the same" "$before" "$(spec_of web)"
}
expect "applied once more, it says what it says directly" "$(upstream -n "direct-$a" apply -f "$TMPDIR/web.yaml" 2>&1)" "$(as "$a" -n shop apply -f "$TMPDIR/web.yaml" 2>&1)"
check "applied by the server" as "$a" -n shop apply --server-side --force-conflicts -f "$TMPDIR/web.yaml"
check "and by another manager" as "$a" -n shop apply --server-side --force-conflicts --field-manager other -f "$TMPDIR/web.yaml"
kept "after apply"
put_back() { as "$a" -n shop get pod web -o json | as "$a" -n shop replace -f -; }
check "what was read is put back" put_back
kept "after PUT"
put_without() { as "$a" -n shop get pod web -o json | jq 'del(.metadata.annotations)' | as "$a" -n shop replace -f -; }
check "and without annotations" put_without
expect "of which none is left" null "$(as "$a" -n shop get pod web -o json | jq .metadata.annotations)"
kept "after PUT of less"
put_status() { as "$a" -n shop get pod web -o json | jq 'del(.metadata.annotations) | .status.message = "own"' | as "$a" -n shop replace --subresource status -f -; }
check "a status without annotations" put_status
kept "after PUT of the status"
put_bare_status() { as "$a" -n shop get pod web -o json | jq '{apiVersion, kind, metadata: {name: "web"}, status}' | as "$a" -n shop replace --subresource status -f -; }
check "a status without a spec" put_bare_status
kept "after PUT of the status alone"

patched() { # WHAT TYPE PATCH [MORE...]
  as "$a" -n shop annotate pod web own=1 --overwrite >/dev/null
  check "$1" as "$a" -n shop patch pod web --type "$2" -p "$3" "${@:4}"
  kept "$1"
}
gone() { expect "nothing else is left" null "$(as "$a" -n shop get pod web -o json | jq -c .metadata.annotations)"; }
patched "a merge patch of null" merge '{"metadata":{"annotations":null}}'
gone
patched "of the status" merge '{"metadata":{"annotations":null}}' --subresource status
gone
patched "a strategic patch of null" strategic '{"metadata":{"annotations":null}}'
gone
patched "that replaces" strategic '{"metadata":{"annotations":{"$patch":"replace","other":"2"}}}'
expect "by its own" '{"other":"2"}' "$(as "$a" -n shop get pod web -o json | jq -c .metadata.annotations)"
patched "that deletes" strategic '{"metadata":{"annotations":{"$patch":"delete"}}}'
gone
patched "a JSON patch that removes" json '[{"op":"remove","path":"/metadata/annotations"}]'
gone
patched "that replaces the map" json '[{"op":"replace","path":"/metadata/annotations","value":{"other":"2"}}]'
expect "by what it says" '{"other":"2"}' "$(as "$a" -n shop get pod web -o json | jq -c .metadata.annotations)"
as "$a" -n shop patch pod web --type json -p '[{"op":"remove","path":"/metadata/annotations"}]' >/dev/null
check "a test of the whole map" as "$a" -n shop patch pod web --type json -p '[{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"own":"3"}},{"op":"test","path":"/metadata/annotations","value":{"own":"3"}}]'
check_fails "and of another one" 'the server rejected our request|test' as "$a" -n shop patch pod web --type json -p '[{"op":"test","path":"/metadata/annotations","value":{"own":"4"}}]'
kept "after tests"
check "a label" as "$a" -n shop label pod web tier=front
kept "after a label"

# ---- a namespace -----------------------------------------------------------------------------------------------------

upstream label namespace "$here" zoo.kubezoo.io/e2e=kept >/dev/null
upstream annotate namespace "$here" zoo.kubezoo.io/e2e=kept >/dev/null
space_kept() {
  expect "$1" "[\"kept\",\"kept\",\"$a\",\"baseline\"]" "$(upstream get namespace "$here" -o json | jq -c '.metadata
    | [.labels["zoo.kubezoo.io/e2e"], .annotations["zoo.kubezoo.io/e2e"], .labels["tenant.kubezoo.io/id"], .labels["pod-security.kubernetes.io/enforce"]]')"
}
put_space() { as "$a" get namespace shop -o json | as "$a" replace -f -; }
check "a namespace is put back" put_space
space_kept "and keeps what its tenant does not see"
check "a namespace is labelled" as "$a" label namespace shop team=x
for patch in 'merge {"metadata":{"labels":null,"annotations":null}}' 'strategic {"metadata":{"labels":{"$patch":"replace","team":"y"}}}' \
  'json [{"op":"remove","path":"/metadata/labels"}]' 'json [{"op":"add","path":"/metadata/annotations","value":{}}]' \
  'json [{"op":"replace","path":"/metadata/labels","value":{"team":"z"}}]'; do
  check "a patch of a namespace: $patch" as "$a" patch namespace shop --type "${patch%% *}" -p "${patch#* }"
  space_kept "leaves the rest"
done
expect "what it says holds" z "$(as "$a" get namespace shop -o json | jq -r .metadata.labels.team)"

# ---- what zood holds back --------------------------------------------------------------------------------------------

as "$a" create -f - >/dev/null <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sum, annotations: {own: "1"}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
YAML
check "a role's annotations are taken away" as "$a" patch clusterrole sum --type merge -p '{"metadata":{"annotations":null}}'
expect "its aggregation stays" '{"a":"b"}' "$(as "$a" get clusterrole sum -o json | jq -c '.aggregationRule.clusterRoleSelectors[0].matchLabels')"

# ---- names of Services -----------------------------------------------------------------------------------------------

leads_to() { upstream -n "$here" get service ext -o jsonpath='{.spec.externalName}'; }
name=web.default.svc.cluster.local
check "a Service that leads to another" as "$a" -n shop create service externalname ext --external-name $name
expect "leads to the tenant's own" "web.$a-default.svc.cluster.local" "$(leads_to)"
expect "and says so in the tenant's words" $name "$(as "$a" -n shop get service ext -o jsonpath='{.spec.externalName}')"
expect_match "in a Table" " $name " "$(as "$a" -n shop get service ext)"
expect_match "in protobuf" "$name" "$(ask $binary /api/v1/namespaces/shop/services/ext | strings)"
expect_no_match "without the prefix" "$a" "$(ask $binary /api/v1/namespaces/shop/services | strings)"
check "a JSON patch" as "$a" -n shop patch service ext --type json -p '[{"op":"test","path":"/spec/externalName","value":"'$name'"},{"op":"replace","path":"/spec/externalName","value":"db-0.db.shop.svc."}]'
expect "is translated" "db-0.db.$here.svc." "$(leads_to)"
check "a merge patch" as "$a" -n shop patch service ext --type merge -p '{"spec":{"externalName":"www.example.com"}}'
expect "of a name of nobody's here" www.example.com "$(leads_to)"
check "an apply" as "$a" -n shop apply --server-side --force-conflicts -f - <<<'{"apiVersion":"v1","kind":"Service","metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"x.'"$here"'.svc.cluster.local"}}'
expect "of upstream's name is the tenant's own" "x.$a-$here.svc.cluster.local" "$(leads_to)"
put_service() { as "$a" -n shop get service ext -o json | as "$a" -n shop replace -f -; }
check "it is put back" put_service
expect "and leads where it did" "x.$a-$here.svc.cluster.local" "$(leads_to)"

# ---- words -----------------------------------------------------------------------------------------------------------

check_fails "the annotation is not to be asked for" 'rule reserved-names' as "$a" -n shop create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: forged}
spec: {containers: [{name: c, image: x, env: [{name: N, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['zoo.kubezoo.io/namespace']"}}}]}]}
YAML
check_fails "nor zood's ConfigMap" 'rule reserved-names.*kube-root-ca.crt' as "$a" -n shop create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: forged}
spec: {containers: [{name: c, image: x}], volumes: [{name: v, configMap: {name: zoo-root-ca.crt}}]}
YAML
check_fails "nor written" 'rule reserved-names' as "$a" -n shop annotate pod web zoo.kubezoo.io/namespace=kube-system --overwrite
kept "after an attempt"
upstream -n "$here" create -f - >/dev/null <<YAML
apiVersion: v1
kind: Event
metadata: {name: web.1, namespace: $here}
involvedObject: {kind: Pod, namespace: $here, name: web, apiVersion: v1}
reason: FailedMount
message: 'MountVolume.SetUp failed for volume "ca" : configmap "zoo-root-ca.crt" not found'
type: Warning
YAML
expect_match "an Event names the tenant's ConfigMap" 'configmap "kube-root-ca.crt" not found' "$(as "$a" -n shop get events)"
expect_no_match "in protobuf, too" 'zoo-root-ca' "$(ask $binary /api/v1/namespaces/shop/events | strings)"

without_host() {
  upstream -n zoo-system patch configmap zoo-inside --type merge -p '{"data":{"apiHost":null}}' >/dev/null
  said=$(as "$a" -n shop run refused --image=x 2>&1) && as "$a" -n shop delete pod refused --now
  [[ $said == *'(rule pods-inside)'* ]] || { echo "$said"; return 1; }
  echo "$said" >"$TMPDIR/refusal" # zood puts the parameter back: the next one may be made
}
eventually "a pod that upstream's policy cannot prepare is refused by a rule" 60 without_host
said=$(<"$TMPDIR/refusal")
expect_no_match "without the policy's text" 'zoo-pods|variables\.|JSONPatch|apiHost' "$said"
expect_match "as what is forbidden" 'Forbidden|forbidden' "$said"
eventually "and made when it can, once zood has put the parameter back" 60 in_force
