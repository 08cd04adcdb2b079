#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 600
# The API server inside a tenant's pods, whoever has made them, for two tenants with the same names: what it is reached by, who a
# pod is there, what it may, and what clients of several kinds make of it.
. "$(dirname "$0")/lib.sh"

start_zood_for_pods
new_tenant a
new_tenant b
given_access "$a" "$b"
address=$(upstream -n zoo-system get service zood -o 'jsonpath={.spec.clusterIP}')
own_name='{"env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]}'
folder=/var/run/secrets/kubernetes.io/serviceaccount

# of_kind KIND NAME: that controller of one pod with the tools, as JSON.
of_kind() {
  pod "$2" "$tools" '{}' "$own_name" -- /agnhost pause | jq -c --arg kind "$1" --arg name "$2" '{apiVersion: "apps/v1", kind: $kind, metadata: {name: $name},
    spec: {replicas: 1, selector: {matchLabels: {app: $name}}, template: {metadata: {labels: {app: $name}}, spec: .spec}}}'
}
# job COMMAND...: of a pod that ends.
job() { pod job "$tools" '{"restartPolicy": "Never"}' "$own_name" -- "$@" | jq -c '{backoffLimit: 0, template: {spec: .spec}}'; }
every_minute() {
  jq -n --argjson spec "$(job kubectl get pods -l app=bare -o name)" '{apiVersion: "batch/v1", kind: "CronJob", metadata: {name: "clock"},
    spec: {schedule: "* * * * *", concurrencyPolicy: "Forbid", jobTemplate: {spec: $spec}}}'
}
bare=$(pod bare "$tools" "{\"initContainers\": [{\"name\": \"first\", \"image\": \"$tools\", \"command\": [\"sh\", \"-c\", \"echo \$KUBERNETES_SERVICE_HOST; probe whoami\"]}]}" "$own_name" -- /agnhost pause)

for id in "$a" "$b"; do
  check "a namespace of $id" as "$id" create namespace shop
  check "and at once a bare pod there" as "$id" create -n shop -f - <<<"$bare"
  check "a Deployment" as "$id" create -n shop -f - <<<"$(of_kind Deployment web)"
  check "a StatefulSet" as "$id" create -n shop -f - <<<"$(of_kind StatefulSet db)"
  check "a Job" as "$id" create -n shop -f - <<<"$(jq -n --argjson spec "$(job probe whoami)" '{apiVersion: "batch/v1", kind: "Job", metadata: {name: "once"}, spec: $spec}')"
  check "a CronJob with kubectl" as "$id" create -n shop -f - <<<"$(every_minute)"
  check "what the namespace's pods may" as "$id" create -n shop rolebinding sees --clusterrole=view --serviceaccount=shop:default
done
for id in "$a" "$b"; do
  require "the bare pod of $id runs" ready "$id" -n shop pod/bare
  require "the Deployment" as "$id" -n shop rollout status deployment/web --timeout=90s
  require "the StatefulSet" as "$id" -n shop rollout status statefulset/db --timeout=90s
done
expect "none of them waited for a volume" "" "$(as "$a" get events -n shop -o json | jq -r '.items[] | select(.reason == "FailedMount").message')"

# ---- whoever makes the pod
# looks ID CLIENT: what a pod sees, a line each.
audience() { jq -rR 'split(".")[1] | gsub("-"; "+") | gsub("_"; "/") | @base64d | fromjson | .aud | join(" ")'; }
looks() {
  within "$1" shop "$2" sh -c "echo \$KUBERNETES_SERVICE_HOST \$KUBERNETES_SERVICE_PORT \$KUBERNETES_SERVICE_PORT_HTTPS; cat $folder/namespace; echo; echo \$POD_NAMESPACE; probe whoami"
  within "$1" shop "$2" cat "$folder/token" | audience
}
seen=$(printf '%s\n' "$address 443 443" shop shop system:serviceaccount:shop:default zood)
for id in "$a" "$b"; do
  for one in deploy/web db-0 bare; do expect "$one of $id sees its own API server" "$seen" "$(looks "$id" "$one")"; done
  check "the Job completes" as "$id" wait -n shop --for=condition=Complete job/once --timeout=90s
  expect "and was somebody there" system:serviceaccount:shop:default "$(as "$id" logs -n shop job/once)"
  expect "the init container, too" "$address"$'\nsystem:serviceaccount:shop:default' "$(as "$id" logs -n shop bare -c first)"
done
check "an ephemeral container" as "$a" debug -n shop bare --image="$tools" --container=later --profile=baseline -- sh -c 'echo $KUBERNETES_SERVICE_HOST; sleep 3600'
eventually "sees it, too" 60 says "$address" as "$a" logs -n shop bare -c later

# ---- clients
expect "client-go lists" "bare db-0" "$(within "$a" shop bare probe pods shop | grep -v -e ^web -e ^once -e ^clock | xargs)"
expect "kubectl takes the namespace from the file" pod/bare "$(within "$a" shop bare kubectl get pods -l app=bare -o name)"
expect_match "and is who it is" 'system:serviceaccount:shop:default' "$(within "$a" shop bare kubectl auth whoami)"
expect "curl, with the authority and the token of the pod" 200 "$(within "$a" shop bare sh -c \
  "curl -s -o /dev/null -w '%{http_code}' --cacert $folder/ca.crt -H \"Authorization: Bearer \$(cat $folder/token)\" https://\$KUBERNETES_SERVICE_HOST:\$KUBERNETES_SERVICE_PORT/api/v1/namespaces/shop/pods")"
expect "the Python client" bare "$(within "$a" shop bare python3 -c 'from kubernetes import client, config
config.load_incluster_config()
print(*(pod.metadata.name for pod in client.CoreV1Api().list_namespaced_pod("shop", label_selector="app=bare").items))')"
within "$a" shop bare probe watch shop >"$TMPDIR/watched" 2>/dev/null &
watching=$!
eventually "client-go watches" 30 grep -qx watching "$TMPDIR/watched"
check "a pod comes" as "$a" run -n shop comes --image="$tools" --restart=Never -- true
wait "$watching"
expect "and is seen" comes "$(sed 1d "$TMPDIR/watched")"

clock() { as "$1" logs -n shop "job/$(as "$1" get jobs -n shop -o json | jq -r '[.items[] | select(.metadata.ownerReferences[0].kind == "CronJob" and .status.succeeded == 1)][0].metadata.name')"; }
for id in "$a" "$b"; do eventually "kubectl in the CronJob of $id" 120 says pod/bare clock "$id"; done

# ---- rights
check_fails "nothing of another namespace" 'forbidden.*cannot list resource "pods"' within "$a" shop bare probe pods default
check_fails "nor what the right does not name" 'forbidden' within "$a" shop bare kubectl get secrets
check "the right goes" as "$a" delete -n shop rolebinding sees
eventually "then nothing of its own" 30 fails within "$a" shop bare probe pods shop
check_fails "as the API server says" 'User "system:serviceaccount:shop:default" cannot list' within "$a" shop bare probe pods shop
check "the other tenant's pod still may" within "$b" shop bare probe pods shop

# ---- the token elsewhere
token=$(within "$b" shop bare cat "$folder/token")
with_token() { curl -sk -o /dev/null -w '%{http_code}' --max-time 10 -H "Authorization: Bearer $token" "$1"; }
expect "the token opens nothing upstream" 401 "$(with_token "$(upstream config view --raw -o 'jsonpath={.clusters[0].cluster.server}')/api")"
expect "nor at a kubelet" 401 "$(with_token "https://$(upstream get node node-1 -o json | jq -r '.status.addresses[] | select(.type == "InternalIP").address'):10250/pods")"
expect "at zood it does" 200 "$(with_token "https://$zood_address/api/v1/namespaces/shop/pods")"
expect "of its own tenant alone: there is no such pod in the list" "" "$(curl -sk -H "Authorization: Bearer $token" "https://$zood_address/api/v1/namespaces/shop/pods" | jq -r '.items[].metadata.name' | grep comes)"

# ---- tokens for others, and none
more='{"volumes": [{"name": "more", "projected": {"sources": [{"serviceAccountToken": {"path": "vault", "audience": "vault"}}, {"serviceAccountToken": {"path": "plain"}},
  {"downwardAPI": {"items": [{"path": "where", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}, {"configMap": {"name": "kube-root-ca.crt"}}]}}]}'
check "a pod with tokens of its own" as "$a" create -n shop -f - <<<"$(pod tokens "$tools" "$more" '{"volumeMounts": [{"name": "more", "mountPath": "/more"}]}' -- /agnhost pause)"
check "one that wants none" as "$a" create -n shop -f - <<<"$(pod quiet "$tools" '{"automountServiceAccountToken": false}' -- /agnhost pause)"
require "they run" ready "$a" -n shop pod/tokens pod/quiet
expect "a token for somebody else stays that" vault "$(within "$a" shop tokens cat /more/vault | audience)"
expect "one for the API server is for zood" zood "$(within "$a" shop tokens cat /more/plain | audience)"
expect "the namespace is the tenant's" shop "$(within "$a" shop tokens cat /more/where)"
authority=$(as "$a" get -n shop configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}')
expect "the authority is that of the API" "$authority" "$(within "$a" shop tokens cat /more/ca.crt)"
expect "and that of the mounted token" "$authority" "$(within "$a" shop bare cat "$folder/ca.crt")"
check_fails "who wants no token has none" 'No such file' within "$a" shop quiet cat "$folder/token"

# ---- what tenants see
check_fails "what zood keeps for pods is hidden" 'not found' as "$a" get -n shop configmap zoo-root-ca.crt
expect_no_match "in lists, too" zoo-root-ca "$(as "$a" get configmaps -A -o name)"
shown=$(as "$a" get pod -n shop tokens -o json)
expect_no_match "and in pods" 'zoo-root-ca|zoo\.kubezoo\.io' "$shown"
expect "which name the namespace as they were told to" metadata.namespace \
  "$(jq -r '.spec.volumes[] | select(.name == "more").projected.sources[].downwardAPI.items[]?.fieldRef.fieldPath' <<<"$shown")"
expect "in their environment" metadata.namespace "$(as "$a" get pod -n shop bare -o json | jq -r '.spec.containers[0].env[] | select(.name == "POD_NAMESPACE").valueFrom.fieldRef.fieldPath')"
