#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: access gateway translate authz upstream http net tenants app cli
# step: verify
# Plain kubectl as a tenant's administrator, verb by verb, beside a second tenant with the same names.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant a
new_tenant b

cat >"$TMPDIR/web.yaml" <<'Y'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx:1, ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello}
Y

for id in "$a" "$b"; do
  check "$id: apply (client side)" as "$id" apply -f "$TMPDIR/web.yaml"
  check "$id: rollout status" as "$id" rollout status deployment/web --timeout=60s
  check "$id: wait for pods" as "$id" wait pod -l app=web --for=condition=Ready --timeout=60s
done
check "apply again changes nothing" as "$a" apply -f "$TMPDIR/web.yaml"
expect "apply again says unchanged" 2 "$(as "$a" apply -f "$TMPDIR/web.yaml" | grep -c unchanged)"

check "create a namespace" as "$a" create namespace team
expect "a namespace once made is listed" "namespace/team" "$(as "$a" get namespace team -o name)"
check_fails "and not twice" 'namespaces "team" already exists' as "$a" create namespace team
check_fails "the other tenant has none" 'namespaces "team" not found' as "$b" get namespace team
check "create in it" as "$a" -n team create configmap settings --from-literal=greeting=team
expect "server-side apply after client-side" "" "$(as "$a" apply --server-side -f "$TMPDIR/web.yaml" 2>&1 >/dev/null)"
expect_no_match "takes over what client-side apply had" client-side-apply \
  "$(as "$a" get configmap settings -o jsonpath='{.metadata.managedFields[*].manager}')"

applied() { # manager, labels, more: prints what kubectl says
  printf '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"held","labels":{%s}}}' "$2" |
    as "$a" apply --server-side --field-manager="$1" -f - "${@:3}" 2>&1
}
level=pod-security.kubernetes.io/enforce
check "a namespace is applied" applied one "\"$level\":\"restricted\""
expect "another manager's labels are no matter of the first" "namespace/held serverside-applied" "$(applied two '"owner":"two"')"
check "even by force" applied two '"owner":"three"' --force-conflicts
expect "its level stays" restricted "$(as "$a" get namespace held -o jsonpath="{.metadata.labels.pod-security\.kubernetes\.io/enforce}")"
expect_match "who names another one is told" 'conflict with "one"' "$(applied two "\"$level\":\"baseline\"")"
check "and who gives it up has the platform's" applied one ''
expect "which is baseline" baseline "$(upstream get namespace "$a-held" -o jsonpath="{.metadata.labels.pod-security\.kubernetes\.io/enforce}")"
check "delete it" as "$a" delete namespace held
expect "namespaces carry the tenant's names" "default kube-node-lease kube-public kube-system team" \
  "$(as "$a" get namespaces -o jsonpath='{.items[*].metadata.name}')"
expect "labels too" team "$(as "$a" get namespace team -o jsonpath='{.metadata.labels.kubernetes\.io/metadata\.name}')"
expect "upstream has it under the prefix" "namespace/$a-team" "$(upstream get namespace "$a-team" -o name)"

all=$(as "$a" get pods,deployments,replicasets,configmaps,namespaces,events -A -o yaml)
expect_no_match "no prefix of its own in what it reads" "$a-" "$all"
expect_no_match "no name of the other tenant" "$b" "$all"
expect "get -A counts its own pods" 2 "$(as "$a" get pods -A --no-headers | wc -l)"
expect_match "wide" 'kwok-' "$(as "$a" get pods -A -o wide)"
expect_match "get -A shows its namespaces" '^default +web-' "$(as "$a" get pods -A --no-headers)"
expect "custom columns" "default" "$(as "$a" get deployment web --no-headers -o custom-columns=NS:.metadata.namespace)"
expect "paging" 2 "$(as "$a" get pods -A --chunk-size=1 --no-headers | wc -l)"
expect "a selector" 2 "$(as "$a" get pods -A -l app=web --no-headers | wc -l)"
expect "a selector that fits nothing" 0 "$(as "$a" get pods -A -l app=none -o name | wc -l)"
expect "a field selector by namespace" 2 "$(as "$a" get pods -A --field-selector metadata.namespace=default -o name | wc -l)"
check "get all" as "$a" get all -A

# A name of the tenant's own may begin as its prefix does.
check "a deployment that begins so" as "$a" create deployment "$a-web" --image=none
said() { as "$a" get events "$@" | says_line "Created pod: $a-web-"; }
eventually "its events say its name" 30 said -o 'jsonpath={.items[*].message}'
check "in a table too" said
check "it goes" as "$a" delete deployment "$a-web"

check "label" as "$a" label deployment web tier=front
expect "label is there" front "$(as "$a" get deployment web -o jsonpath='{.metadata.labels.tier}')"
check "annotate" as "$a" annotate namespace team note=here
check "label a namespace" as "$a" label namespace team stage=one
check "remove the label" as "$a" label namespace team stage-
check "scale" as "$a" scale deployment web --replicas=3
check "rollout of the scaled" as "$a" rollout status deployment/web --timeout=60s
check "set image" as "$a" set image deployment/web web=nginx:2
check "rollout status" as "$a" rollout status deployment/web --timeout=60s
check "rollout undo" as "$a" rollout undo deployment/web
check "rollout history" as "$a" rollout history deployment/web
check "rollout restart" as "$a" rollout restart deployment/web
expect "b keeps two replicas" 2 "$(as "$b" get deployment web -o jsonpath='{.spec.replicas}')"
check "patch: strategic" as "$a" patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]}]}}}}'
check "patch: merge" as "$a" patch configmap settings --type=merge -p '{"data":{"greeting":"patched"}}'
check "patch: json" as "$a" patch configmap settings --type=json -p '[{"op":"add","path":"/data/more","value":"x"}]'
expect "patched" patched "$(as "$a" get configmap settings -o jsonpath='{.data.greeting}')"
expect "b is untouched" hello "$(as "$b" get configmap settings -o jsonpath='{.data.greeting}')"
check "edit" env KUBE_EDITOR="sed -i s/patched/edited/" "$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" edit configmap settings
expect "edited" edited "$(as "$a" get configmap settings -o jsonpath='{.data.greeting}')"
check "replace" bash -c "'$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' get configmap settings -o yaml | '$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' replace -f -"

expect_match "describe" 'Namespace: +default' "$(as "$a" describe deployment web)"
expect_match "describe a namespace" 'Name: +team' "$(as "$a" describe namespace team)"
expect_no_match "describe shows no prefix" "$a-" "$(as "$a" describe deployment,namespace,pod)"
expect_match "explain" 'ConfigMap holds configuration data' "$(as "$a" explain configmap)"
expect_match "api-resources" '^deployments' "$(as "$a" api-resources --no-headers)"
check "diff finds nothing" as "$a" diff -f <(as "$a" get configmap settings -o yaml)
expect "auth can-i" yes "$(as "$a" auth can-i create pods -A)"
expect_match "auth whoami" 'admin' "$(as "$a" auth whoami)"
check "create --dry-run=server" as "$a" create configmap dry --dry-run=server
check_fails "dry run leaves nothing" 'configmaps "dry" not found' as "$a" get configmap dry

# RBAC objects are stored and shown as they were written, and inert upstream.
check "create a role" as "$a" create role reader --verb=get,list --resource=pods
check "create a rolebinding" as "$a" create rolebinding readers --role=reader --user=jane --serviceaccount=default:default
check "create a clusterrole" as "$a" create clusterrole lister --verb=list --resource=nodes
check "create a clusterrolebinding" as "$a" create clusterrolebinding everyone --clusterrole=lister --group=system:authenticated
expect "role's verbs" '["get","list"]' "$(as "$a" get role reader -o jsonpath='{.rules[0].verbs}')"
expect "subject's name" jane "$(as "$a" get rolebinding readers -o jsonpath='{.subjects[0].name}')"
expect "clusterrolebindings list" clusterrolebinding.rbac.authorization.k8s.io/everyone \
  "$(as "$a" get clusterrolebindings -l kubernetes.io/bootstrapping!=rbac-defaults -o name)"
expect_no_match "rolebindings hide what zood keeps there" 'zoo' "$(as "$a" get rolebindings -A -o yaml)"
expect_match "system roles are shown" '^cluster-admin ' "$(as "$a" get clusterroles --no-headers)"
expect "upstream has no clusterrolebinding of the tenant" 0 "$(upstream get clusterrolebindings -o name | grep -c "$a")"
check "delete them" as "$a" delete clusterrolebinding/everyone clusterrole/lister rolebinding/readers role/reader

# Watches: one change of its own, none of the neighbour's.
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get configmaps -A -w -o name >"$TMPDIR/watch.out" 2>&1 &
watcher=$!
eventually "the watch has begun" 30 grep -q configmap/settings "$TMPDIR/watch.out"
as "$b" create configmap foreign --from-literal=x=y >/dev/null
as "$a" create configmap mine --from-literal=x=y >/dev/null
eventually "a watch across namespaces shows its own" 30 grep -q configmap/mine "$TMPDIR/watch.out"
kill "$watcher" && wait "$watcher" 2>/dev/null
expect_no_match "and not the neighbour's" foreign "$(cat "$TMPDIR/watch.out")"

check "delete with wait" as "$a" delete deployment web --wait --timeout=60s
check "delete a namespace" as "$a" delete namespace team --timeout=90s
check_fails "it is gone" 'not found' as "$a" get namespace team
check_fails "default cannot be deleted" 'may not be deleted' as "$a" delete namespace default
expect "b still has its deployment" web "$(as "$b" get deployment -o jsonpath='{.items[*].metadata.name}')"

# What a stranger may not do.
check_fails "nodes are read-only" 'forbidden' as "$a" delete node kwok-1
check_fails "no collection of nodes" 'forbidden' as "$a" delete nodes --all
check_fails "nor their kubelets" 'forbidden|not found' as "$a" get --raw /api/v1/nodes/kwok-1/proxy/metrics
check_fails "whom it impersonates has no more rights than his own" 'User "jane" cannot list' as "$a" get pods --as jane
check_fails "a super-user is one of its own cluster" 'forbidden' as "$a" delete node kwok-1 --as admin --as-group system:masters
check_fails "no metrics of upstream" 'forbidden|not found|could not find' as "$a" get --raw /metrics
check_fails "another tenant's namespace is just a name that does not exist" 'not found' as "$a" -n "$b-default" get configmap settings
