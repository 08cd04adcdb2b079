#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# alone
# timeout: 2400
# zood is killed among 2,000 pods of a virtual cluster, on fake nodes, and is away for longer than the Leases of its nodes last: it catches up
# without a write to what is there already, on either side; no node turns not ready, and no pod is evicted.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

pods=2000 deployments=10
cat >"$TMPDIR/audit.yaml" <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules: [{level: Metadata, verbs: [create, update, patch, delete, deletecollection]}, {level: None}]
YAML
own_upstream --nodes 3 --apiserver-arg "--audit-policy-file=$TMPDIR/audit.yaml" --apiserver-arg "--audit-log-path=$TMPDIR/audit"
at_end() { end_keeper; }
start_clusters 'shared: {storage_classes: ["fast"]}'

require "a cluster with three nodes and a share" ctl cluster create many --node kwok-1 --node kwok-2 --node kwok-3 --cpu 210 --memory 500Gi \
  --resource "pods=$((pods + 1))" --dns none
eventually "both of its sides were read" 90 condition_is many Synced "True Synced"
eventually "its nodes are ready" 60 condition_is many NodesReady "True Ready"
id=$(cluster_id many)
check "its kubeconfig" ctl cluster connect many --direct --kubeconfig-file "$TMPDIR/many.kubeconfig"
share_class many

# ---- two thousand pods, and something of each other kind ---------------------------------------------------------------------

# part NUMBER: a Deployment with what its pods name, and Services that lead to them.
part() {
  cat <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: settings-$1}
data: {number: "$1"}
---
apiVersion: v1
kind: Secret
metadata: {name: password-$1}
stringData: {word: "$1"}
---
apiVersion: v1
kind: Service
metadata: {name: web-$1}
spec: {selector: {app: web-$1}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web-$1}
spec: {podSelector: {matchLabels: {app: web-$1}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-$1}
spec:
  replicas: $((pods / deployments))
  selector: {matchLabels: {app: web-$1}}
  template:
    metadata: {labels: {app: web-$1}}
    spec:
      containers:
        - name: c
          image: registry.example/x
          resources: {requests: {cpu: 10m, memory: 16Mi}}
          envFrom: [{configMapRef: {name: settings-$1}}, {secretRef: {name: password-$1}}]
---
YAML
}
parts() { for ((n = 0; n < deployments; ++n)); do part "$n"; done; }
require "Deployments of $pods pods" as many apply -f - < <(parts)
check "a Service without selector" as many apply -f - < <(service_to byhand 192.0.2.7 8080)
check "a claim, and a pod that mounts it" as many apply -f - < <(disk_and_writer)
chosen() { [[ -n $(upstream get pvc -n "$id-default" disk -o json --ignore-not-found | jq -r '.metadata.annotations["volume.kubernetes.io/selected-node"] // ""') ]]; }
eventually "a claim is upstream" 120 chosen
check "and gets its volume" provision "$id" disk
ready_pods() { [[ $(as many get deployments -o json | jq '[.items[].status.readyReplicas // 0] | add') == "$pods" && $(as many get pod writer -o 'jsonpath={.status.phase}') == Running ]]; }
require_ready() {
  local end=$((SECONDS + 1200))
  until ready_pods; do ((SECONDS < end)) || return 1; sleep 2; done
}
require "all of them run" require_ready
eventually "nothing is left to be done" 300 is_at_rest "$id"
check "none of them is refused" condition_is many Synced "True Synced"

# ---- zood is killed ------------------------------------------------------------------------------------------------------------

stop_zood KILL
before_there=$(objects_there "$id") before_here=$(objects_here "$id") nodes_before=$(nodes_here "$id")
expect "all pods are upstream" $((pods + 1)) "$(grep -c '^Pod ' <<<"$before_there")"
expect "with tokens" $((pods + 1)) "$(grep -c "^Secret $id-default/zoo-token-" <<<"$before_there")"
expect "and something of each kind" "ConfigMap EndpointSlice Namespace NetworkPolicy PersistentVolume PersistentVolumeClaim Pod Secret Service" \
  "$(cut -d' ' -f1 <<<"$before_there" | sort -u | paste -sd' ')"
# silent SECONDS: so long no Lease of a node was renewed.
silent() {
  local last
  last=$(at_plane "$id" get leases -n kube-node-lease -o json | jq -r '[.items[].spec.renewTime] | max | sub("\\.[0-9]+Z$"; "Z") | fromdate')
  (($(date +%s) - last > $1))
}
eventually "the Leases of its nodes have run out" 90 silent 50
# writes_here: a line for each verb, resource and subresource: how many writes of what is upstream, too, the cluster's API server has
# answered, be something changed by them or not.
writes_here() {
  at_plane "$id" get --raw /metrics |
    sed -nE '/^apiserver_request_total\{/s/.*resource="(pods|services|endpointslices|configmaps|secrets|persistentvolumeclaims|persistentvolumes|networkpolicies|namespaces)".*subresource="([^"]*)".*verb="(POST|PUT|PATCH|APPLY|DELETE)".* ([0-9]+)$/\3 \1 \2 \4/p' | sort
}
asked_here=$(writes_here)
check "the cluster's API server has counted the writes until now" grep -q '^PATCH pods status [1-9]' <<<"$asked_here"
written=$(wc -l <"$TMPDIR/audit")
patrols() { grep -c "$id: patrol: [0-9]* $1 upstream" "$zood_dir.log"; }
kinds=(pods services endpointslices configmaps secrets persistentvolumeclaims networkpolicies)
declare -A patrols_before=()
for each in "${kinds[@]}"; do patrols_before[$each]=$(patrols "$each"); done
caught_up() {
  local each
  for each in "${kinds[@]}"; do (($(patrols "$each") > patrols_before[$each])) || return 1; done
  [[ $(backlog "$id") == 0 ]] && condition_is many Synced "True Synced"
}
begun=$(date +%s%N)
start_clusters 'shared: {storage_classes: ["fast"]}'
eventually "zood comes back, and has compared all" 180 caught_up
echo "told: caught up after $((($(date +%s%N) - begun) / 1000000)) ms with $pods pods"
eventually "its nodes have Leases again" 60 condition_is many NodesReady "True Ready"
is_renewed() { ! silent 30; }
eventually "which are renewed" 60 is_renewed
# Services and claims, whose status comes up, are looked at once each.
expect "it has found nothing else to be done" "" "$(for each in pods endpointslices configmaps secrets networkpolicies; do grep "$id: patrol: [0-9]* $each upstream" "$zood_dir.log" | tail -n +$((patrols_before[$each] + 1)); done | grep -v ', 0 to be looked at')"
expect "upstream nothing was written" "$before_there" "$(objects_there "$id")"
expect "nor in the cluster" "$before_here" "$(objects_here "$id")"
expect "nor was it asked for anything there" "$asked_here" "$(writes_here)"
expect "no node turned not ready" "$nodes_before" "$(nodes_here "$id")"
# Of writes that change nothing resourceVersions do not tell.
expect "and as its user nothing was asked for" "" \
  "$(tail -n +$((written + 1)) "$TMPDIR/audit" | jq -r --arg user "zoo:$id" 'select(.impersonatedUser.username == $user) | "\(.verb) \(.requestURI) \(.responseStatus.code)"' | sort | uniq -c | head -20)"
check "one pod more, for which the share has no room" as many run more --image=registry.example/x
check "another one goes" as many delete pod writer --timeout=60s
runs_there() { [[ $(upstream get pod -n "$id-default" more -o 'jsonpath={.status.phase}' --ignore-not-found) == Running ]]; }
eventually "then it runs" 90 runs_there
check "the cluster goes" ctl cluster delete many --timeout 300s
expect "upstream has nothing of it" "" "$(upstream get ns -o name | grep -F "$id")"
