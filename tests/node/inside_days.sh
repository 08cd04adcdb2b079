#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 600
# Bad days of pods that live in a tenant's cluster: zood is away, what it keeps upstream is removed by hand, pods are from before it
# was there, others add to them.
. "$(dirname "$0")/lib.sh"

folder=/var/run/secrets/kubernetes.io/serviceaccount
sees_zood() { within "$1" "$2" "$3" probe whoami; } # ID NAMESPACE POD
who() { echo "system:serviceaccount:$1:default"; }

# ---- before: pods of tenants have the platform's API server
start_zood_for_pods 'inside: {enabled: false}'
eventually "nothing is done to pods" 60 fails upstream get mutatingadmissionpolicybinding zoo-pods-inside
new_tenant old
check "a namespace" as "$old" create namespace shop
check "a pod from before" as "$old" create -n shop -f - <<<"$(pod before "$tools" -- /agnhost pause)"
require "runs" ready "$old" -n shop pod/before
expect "and sees what kubelet has given it" 10.0.0.1 "$(within "$old" shop before sh -c 'echo $KUBERNETES_SERVICE_HOST')"
started=$(as "$old" get pod -n shop before -o 'jsonpath={.status.startTime} {.status.containerStatuses[0].restartCount}')
stop_zood
start_zood_for_pods
export_kubeconfig "$old"
given_access "$old"
new_tenant id
given_access "$id"

# ---- namespaces and pods from before
expect "the pod from before runs on" "$started" "$(as "$old" get pod -n shop before -o 'jsonpath={.status.startTime} {.status.containerStatuses[0].restartCount}')"
check "it is labelled" as "$old" label -n shop pod before color=red
check "it is read and put" put_pod "$old" shop before
check "a pod is made in its namespace" as "$old" create -n shop -f - <<<"$(pod after "$tools" -- /agnhost pause)"
require "it runs" ready "$old" -n shop pod/after
expect "and sees zood" "$(who shop)" "$(sees_zood "$old" shop after)"

# ---- zood is away
check "a pod" create "$id" "$(pod stays "$tools" -- /agnhost pause)"
check "a Deployment" as "$id" create deployment web --image="$tools" -- /agnhost pause
require "runs" ready "$id" pod/stays
require "runs" as "$id" rollout status deployment/web --timeout=90s
port=$zood_port
stop_zood KILL
check "a pod of the Deployment goes while zood is away" upstream -n "$id-default" delete pod -l app=web --wait=false
another_runs() { [[ $(upstream -n "$id-default" get pods -l app=web -o json | jq '[.items[] | select(.metadata.deletionTimestamp == null and any(.status.conditions[]?; .type == "Ready" and .status == "True"))] | length') == 1 ]]; }
eventually "another one starts and runs" 90 another_runs
in_it() { upstream -n "$id-default" exec stays -- "$@"; }
check_fails "the API is not there inside" 'refused|i/o timeout|no route|connection' in_it probe whoami
start_zood_of_nodes "" --listen "$machine:$port"
eventually "it is when zood is" 60 says "$(who default)" in_it probe whoami
expect "in the pod that came meanwhile, too" "$(who default)" "$(sees_zood "$id" default deploy/web)"

# ---- what zood keeps is removed by hand
there() { upstream get "$@" -o name; }
for kept in mutatingadmissionpolicybinding/zoo-pods-inside mutatingadmissionpolicy/zoo-pods-inside; do
  uid=$(upstream get "$kept" -o 'jsonpath={.metadata.uid}')
  check "$kept is removed" upstream delete "$kept"
  is_new() { local got; got=$(upstream get "$kept" -o 'jsonpath={.metadata.uid}') && [[ $got != "$uid" ]]; }
  eventually "and comes again" 60 is_new
done
check "the parameters are removed" upstream -n zoo-system delete configmap zoo-inside
eventually "and come again" 60 there -n zoo-system configmap zoo-inside
check "the Service is removed" upstream -n zoo-system delete service zood
eventually "and comes again" 60 there -n zoo-system service zood
check "the authority of a namespace is removed" upstream -n "$id-default" delete configmap zoo-root-ca.crt
eventually "and comes again" 60 there -n "$id-default" configmap zoo-root-ca.crt
makes_one() { create "$id" "$(pod again "$tools" -- /agnhost pause)"; }
eventually "then a pod can be made" 60 makes_one
require "runs" ready "$id" pod/again
eventually "and sees zood" 60 says "$(who default)" sees_zood "$id" default again

# ---- what pods bring along
searches=$(jq -nc '[range(28) | "d\(.).example.com"]')
check "a pod with as many searches as there is room for" create "$id" "$(pod searches "$tools" "{\"dnsConfig\": {\"searches\": $searches}}" -- /agnhost pause)"
check "one with more, of which the last is left out" create "$id" "$(pod more "$tools" "{\"dnsConfig\": {\"searches\": $(jq -c '. + ["x.example.com"]' <<<"$searches")}}" -- /agnhost pause)"
check "one that names an API server itself" create "$id" "$(pod names "$tools" '{}' '{"env": [{"name": "KUBERNETES_SERVICE_HOST", "value": "api.example.com"}]}' -- /agnhost pause)"
check "one with a volume of the token's name" create "$id" "$(pod volume "$tools" '{"volumes": [{"name": "kube-api-access-abcde", "emptyDir": {}}]}' -- /agnhost pause)"
check "one whose containers take the authority from the ConfigMap" create "$id" "$(pod variables "$tools" '{}' \
  '{"env": [{"name": "CA", "valueFrom": {"configMapKeyRef": {"name": "kube-root-ca.crt", "key": "ca.crt"}}}], "envFrom": [{"prefix": "ALL_", "configMapRef": {"name": "kube-root-ca.crt"}}]}' -- /agnhost pause)"
require "they run" ready "$id" pod/searches pod/more pod/names pod/volume pod/variables
expect "32 searches" 32 "$(inside "$id" searches awk '$1 == "search" { print NF - 1 }' /etc/resolv.conf)"
expect "no more" "32 0" "$(inside "$id" more awk '$1 == "search" { print NF - 1, /x\.example\.com/ }' /etc/resolv.conf)"
expect "its own API server's name stays" api.example.com "$(inside "$id" names sh -c 'echo $KUBERNETES_SERVICE_HOST')"
# Upstream takes a volume by this name as the one that it would add, on every cluster.
expect "with a volume of that name it has that volume, and no token" "" "$(inside "$id" volume ls $folder)"
expect "the variable has the authority of zood" "$(inside "$id" variables cat $folder/ca.crt)" "$(inside "$id" variables sh -c 'echo "$CA"')"

# ---- others add to it: a policy of the platform's, which comes after zood's
check "a policy that adds a container to pods" upstream apply -f - <<Y
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: zzz-sidecar}
spec:
  reinvocationPolicy: IfNeeded
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    objectSelector: {matchLabels: {app: joined}}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: "object.spec.containers.exists(c, c.name == 'beside') ? [] : [JSONPatch{op: 'add', path: '/spec/containers/-',
      value: Object.spec.containers{name: 'beside', image: '$tools'}}]"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: zzz-sidecar}
spec: {policyName: zzz-sidecar}
Y
joined() {
  as "$id" delete pod joined --ignore-not-found --now >/dev/null 2>&1
  create "$id" "$(pod joined "$tools" -- /agnhost pause)" && [[ $(as "$id" get pod joined -o 'jsonpath={.spec.containers[*].name}') == "main beside" ]]
}
eventually "a pod gets it" 60 joined
require "runs" ready "$id" pod/joined
expect "and the container that was added sees zood's address" "$(upstream -n zoo-system get service zood -o 'jsonpath={.spec.clusterIP}')" \
  "$(as "$id" exec joined -c beside -- sh -c 'echo $KUBERNETES_SERVICE_HOST')"
upstream delete mutatingadmissionpolicy/zzz-sidecar mutatingadmissionpolicybinding/zzz-sidecar >/dev/null

# ---- the tenant is suspended, and comes back
check "the tenant is suspended" ctl tenant suspend "$id"
eventually "then its pods are not let in" 30 fails in_it probe whoami
check_fails "and are told so" 'Unauthorized|suspended|provide credentials' in_it probe whoami
check "it is resumed" ctl tenant resume "$id"
eventually "then they are" 60 says "$(who default)" in_it probe whoami
