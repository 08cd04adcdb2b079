#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources translate
# timeout: 900
# An ordinary user of the upstream works through the account door with what people have: helm makes his namespace, the Python client
# and fabric8's list, watch and follow his spaces, and the requests of k9s are answered as it needs them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/python/lib.sh"
. "$(dirname "$0")/fabric8/lib.sh"

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
own_upstream --nodes 1 # the kinds of accounts are installed in it
start_zood_with $'drain_timeout: 2s\naccounts:\n  enabled: true\n  listen: 127.0.0.1:0\n  self_service: true'
door=$(account_door)
require "the account door listens" test -n "$door"
new_tenant t
unpack "$t" # the account door's certificate is by the same authority as the tenants' door's

run=$(random_id)
john=john-$run
new_user "$john"
upstream apply -f - >/dev/null <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: $john}
spec: {space: {clusterRole: kiosk-space-admin}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: $john}]}
YAML
export KUBECONFIG=$TMPDIR/john.kubeconfig
kubeconfig_of_door "$KUBECONFIG" "$john" "$door" "$TMPDIR/$t.ca"
john() { "$KUBECTL" "$@"; }
sees_account() { [[ $(john get accounts.tenancy.kiosk.sh -o name) == "account.tenancy.kiosk.sh/$john" ]]; }
eventually "he sees his account" 30 sees_account

# ---- Python, fabric8 --------------------------------------------------------------------------------------------------
if python account.py "$KUBECONFIG" "$john" "$run-py"; then passed "the Python client"; else failed "the Python client" <<<"see above"; fi
gone() { [[ -z $(john get ns -o name) ]]; }
eventually "its spaces are gone" 60 gone
if fabric8 Account.java "$KUBECONFIG" "$john" "$run-java"; then passed "fabric8's client"; else failed "fabric8's client" <<<"see above"; fi
eventually "its spaces are gone" 60 gone

# ---- helm -------------------------------------------------------------------------------------------------------------
export HELM_CACHE_HOME=$TMPDIR/helm HELM_CONFIG_HOME=$TMPDIR/helm HELM_DATA_HOME=$TMPDIR/helm
chart=$TMPDIR/chart web=$run-web
mkdir -p "$chart/templates"
echo '{apiVersion: v2, name: web, version: 1.0.0}' >"$chart/Chart.yaml"
echo 'greeting: hello' >"$chart/values.yaml"
cat >"$chart/templates/all.yaml" <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {greeting: "{{ .Values.greeting }}"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: "{{ .Release.Namespace }}"}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {serviceAccountName: web, containers: [{name: web, image: web}]}}
YAML
h() { "$helm" -n "$web" "$@"; }
greeting() { john -n "$web" get configmap page -o 'jsonpath={.data.greeting}'; }
check "helm makes the namespace and installs" h install web "$chart" --create-namespace --wait --timeout 60s
expect "which is his account's" "$john" "$(john get space "$web" -o 'jsonpath={.spec.account}')"
expect "with what the chart says" hello "$(greeting)"
check "helm upgrades" h upgrade web "$chart" --set greeting=bye --wait --timeout 60s
expect "to what is said now" bye "$(greeting)"
expect_match "helm lists it, in all of his namespaces" "^web[[:space:]]+$web" "$("$helm" list -A)"
check "helm rolls back" h rollback web 1 --wait --timeout 60s
expect "to what was said first" hello "$(greeting)"
check_fails "helm makes no namespace of the system" 'is reserved' "$helm" -n "kube-$run" install web "$chart" --create-namespace --timeout 60s
check "helm uninstalls" h uninstall web --wait --timeout 60s
expect "and leaves nothing" "" "$(john -n "$web" get configmaps,deployments,roles -l app.kubernetes.io/managed-by=Helm -o name)"

# ---- server-side apply ------------------------------------------------------------------------------------------------
# applied KIND LABELS: kubectl applies the space $ssa so.
ssa=$run-ssa
applied() {
  local version=v1
  [[ $1 == Namespace ]] || version=tenancy.kiosk.sh/v1alpha1
  john apply --server-side -f - <<<"{apiVersion: $version, kind: $1, metadata: {name: $ssa, labels: {$2}}}"
}
labels() { upstream get ns "$ssa" -o json | jq -c '.metadata.labels | del(.["kubernetes.io/metadata.name"], .["kiosk.sh/account"])'; }
for kind in Namespace Space; do
  check "a $kind is applied, and made" applied "$kind" "team: x, tier: front"
  expect "it is his account's" "$john" "$(john get space "$ssa" -o 'jsonpath={.spec.account}')"
  check "it is applied again" applied "$kind" "team: z"
  expect "what is applied no more is gone" '{"team":"z"}' "$(labels)"
  expect "and whoever applied it owns the rest" "kubectl Apply" \
    "$(john get ns "$ssa" -o json --show-managed-fields | jq -r '.metadata.managedFields[] | select(.fieldsV1["f:metadata"]["f:labels"]["f:team"]) | .manager + " " + .operation')"
  check_fails "no label of the system's" 'is reserved' applied "$kind" "pod-security.kubernetes.io/enforce: privileged"
  upstream label ns "$ssa" team=boss --overwrite --field-manager=boss >/dev/null
  check_fails "what another one has set since is not taken from him" 'conflict' applied "$kind" "team: w"
  check "the space goes" john delete space "$ssa" --wait
  # He sees it no more when its bindings are gone, which is before the namespace is.
  check "and its namespace" upstream wait --for=delete "namespace/$ssa" --timeout=60s
done

# ---- what k9s asks for ------------------------------------------------------------------------------------------------
# ask PATH ACCEPT [CURL ARGUMENTS...]: the status, and the answer in $TMPDIR/answer.
ask() {
  curl -sN -o "$TMPDIR/answer" -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/$t.ca" --cert "$TMPDIR/$john.crt" --key "$TMPDIR/$john.key" \
    -H "Accept: $2" "https://$door$1" "${@:3}"
}
answer() { jq -r "$1" "$TMPDIR/answer"; }
table='application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
partial='application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'
discovery='application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
may() { # VERB GROUP RESOURCE [NAMESPACE]: "true", "false"
  ask /apis/authorization.k8s.io/v1/selfsubjectaccessreviews application/json -H 'Content-Type: application/json' -d '{"apiVersion":"authorization.k8s.io/v1",
    "kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"'"$1"'","group":"'"$2"'","resource":"'"$3"'","namespace":"'"${4:-}"'"}}}' >/dev/null
  answer .status.allowed
}
expect "the version" 200 "$(ask /version application/json)"
expect "which is upstream's" "$(upstream version -o json | jq -r .serverVersion.gitVersion)" "$(answer .gitVersion)"
for path in /api /apis; do
  expect "discovery at once: $path" 200 "$(ask "$path" "$discovery")"
  expect "$path: in its kind" APIGroupDiscoveryList "$(answer .kind)"
done
expect_match "spaces are among the kinds" '^spaces$' "$(answer '.items[] | select(.metadata.name == "tenancy.kiosk.sh").versions[].resources[].resource')"
for verb in list watch; do
  expect "may he $verb namespaces" true "$(may "$verb" '' namespaces)"
  expect "may he $verb pods everywhere" true "$(may "$verb" '' pods)"
done
for verb in get list watch; do
  expect "may he $verb pods in his space" true "$(may "$verb" '' pods "$web")"
  expect "may he $verb nodes" false "$(may "$verb" '' nodes)"
  expect "may he $verb spaces" true "$(may "$verb" tenancy.kiosk.sh spaces)"
  expect "may he $verb definitions" false "$(may "$verb" apiextensions.k8s.io customresourcedefinitions)"
done
expect "what is not answered by a filter, upstream refuses" 403 "$(ask /api/v1/nodes "$table")"
expect "metrics are not there" 404 "$(ask /apis/metrics.k8s.io/v1beta1/nodes application/json)"
for path in /api/v1/namespaces /apis/tenancy.kiosk.sh/v1alpha1/spaces; do
  expect "a table of $path" 200 "$(ask "$path?limit=500" "$table")"
  expect "$path: it is one" "Table $web" "$(answer '.kind + " " + .rows[].object.metadata.name')"
  expect "$path: metadata alone" 200 "$(ask "$path?limit=500&resourceVersion=0" "$partial")"
  expect "$path: and of his" "PartialObjectMetadataList $web" "$(answer '.kind + " " + .items[].metadata.name')"
  version=$(answer .metadata.resourceVersion)
  ask "$path?watch=true&resourceVersion=$version&timeoutSeconds=2&allowWatchBookmarks=true" "$table" >"$TMPDIR/status" &
  watching=$!
  check "$path: a change" john label --overwrite space "$web" "turn=$RANDOM"
  wait "$watching"
  expect "$path: is watched" 200 "$(cat "$TMPDIR/status")"
  expect_match "$path: as a table" "^MODIFIED Table $web\$" "$(answer 'select(.type != "BOOKMARK") | .type + " " + .object.kind + " " + .object.rows[].object.metadata.name')"
done
for path in pods configmaps secrets events services; do
  expect "all $path of his" 200 "$(ask "/api/v1/$path?includeObject=Object&limit=500" "$table")"
  expect "$path: as a table" Table "$(answer .kind)"
  expect "$path: of no other's" "" "$(answer '.rows[]?.object.metadata.namespace' | grep -vx "$web")"
  expect "$path: metadata alone" 200 "$(ask "/api/v1/$path" "$partial")"
  expect "$path: in its kind" PartialObjectMetadataList "$(answer .kind)"
done
expect "his space, as YAML has it" "$web" "$(ask "/api/v1/namespaces/$web" application/json >/dev/null && answer .metadata.name)"
