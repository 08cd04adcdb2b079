#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 900
# Nodes of virtual clusters, on fake ones: a share as several nodes, nodes that are one cluster's alone, labels that a host loses, the
# weight of a cluster, and shares of extended resources.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 3
at_end() { end_keeper; }
start_clusters 'shared: {storage_classes: ["fast"]}'
says_node() { field "$1" '.status.conditions[] | select(.type == "NodesReady").message' | says_line -E "$2"; }
admin=("$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig")
change() { "${admin[@]}" patch virtualcluster "$1" --type merge -p "{\"spec\":$2}"; }

# ---- a share as several nodes ------------------------------------------------------------------------------------------

require "a share as three nodes" ctl cluster create parts --cpu 10 --memory 10Gi --virtual-nodes 3 --dns none
eventually "are ready" 60 condition_is parts NodesReady "True Ready"
check "its kubeconfig" ctl cluster connect parts --kubeconfig-file "$TMPDIR/parts.kubeconfig"
expect "each with a part of it" "parts-0 3334m,parts-1 3333m,parts-2 3333m" \
  "$(as parts get nodes -o json | jq -r '[.items[] | "\(.metadata.name) \(.status.allocatable.cpu)"] | sort | join(",")')"
renewed() { [[ $(as parts get leases -n kube-node-lease -o name | wc -l) == 3 ]]; }
eventually "with leases" 60 renewed
check "pods that want to be apart" as parts apply -f - <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}]}}
      containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: "1"}}}]
YAML
check "are, in the cluster" as parts wait --for=condition=Available deployment/web --timeout=90s
expect "one on each node" "parts-0 parts-1 parts-2" "$(as parts get pods -o json | jq -r '[.items[].spec.nodeName] | sort | join(" ")')"
upstream apply -f - >/dev/null <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/disks
volumeBindingMode: Immediate
YAML
has_class() { [[ -n $(as parts get storageclass fast -o name --ignore-not-found) ]]; }
eventually "a StorageClass that is shared is in the cluster" 60 has_class
check "a claim, and a pod that mounts it" as parts apply -f - < <(disk_and_writer)
id=$(cluster_id parts)
claimed() { [[ -n $(upstream get pvc -n "$id-default" disk -o name --ignore-not-found) ]]; }
eventually "the claim is upstream" 60 claimed
check "where its volume is on one host" provision "$id" disk kwok-3
writes() { [[ $(as parts get pod writer -o 'jsonpath={.status.phase}') == Running ]]; }
eventually "the pod runs, though its Node has no such label" 90 writes
expect "on that host" kwok-3 "$(upstream get pod writer -n "$id-default" -o 'jsonpath={.spec.nodeName}')"
check_fails "nodes by name are not divided" 'spec.virtualNodes: divides a share' change parts '{"promoteResources":{"nodes":["kwok-1"]}}'
check "fewer nodes" change parts '{"virtualNodes":2}'
nodes_are() { [[ $(as parts get nodes -o name | sort | paste -sd' ') == "$1" ]]; }
eventually "the third one goes" 120 nodes_are "node/parts-0 node/parts-1"
grown() { [[ $(as parts get node parts-0 -o 'jsonpath={.status.allocatable.cpu}') == 5 ]]; }
eventually "and the others have its part" 60 grown
check "one alone" change parts '{"virtualNodes":1}'
eventually "has the cluster's name" 180 nodes_are "node/parts"

# ---- nodes that are one's alone ------------------------------------------------------------------------------------------

require "a node with its own label" upstream label node kwok-1 zone=a
require "a cluster with two nodes of its own alone" ctl cluster create first --node kwok-1 --node kwok-2 --exclusive --dns none
eventually "has them" 60 condition_is first NodesReady "True Ready"
keeps_off() { # a pod of a share that is made from then on
  as parts delete pod apart --ignore-not-found >/dev/null && as parts run apart --image=registry.example/x >/dev/null || return 1
  local end=$((SECONDS + 20)) found=
  until found=$(upstream get pod apart -n "$id-default" -o json --ignore-not-found) && [[ -n $found ]]; do ((SECONDS < end)) || return 1; done
  [[ $(jq -r '[.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchFields[]? | select(.operator == "NotIn") | .values[]] | sort | join(" ")' <<<"$found") == "kwok-1 kwok-2" ]]
}
eventually "pods of a share keep off them" 60 keeps_off
require "another one that asks for one of them, too" ctl cluster create second --node kwok-2 --node kwok-3 --dns none
eventually "does not get it" 60 condition_is second NodesReady "False NodeTaken"
expect_match "which it is told" 'virtual cluster default/first has node kwok-2 alone' "$(field second '.status.conditions[] | select(.type == "NodesReady").message')"
check "its kubeconfig" ctl cluster connect second --kubeconfig-file "$TMPDIR/second.kubeconfig"
second_has() { [[ $(as second get nodes -o name | sort | paste -sd' ') == "$1" ]]; }
eventually "the rest works" 60 second_has node/kwok-3
stop_zood KILL
start_clusters 'shared: {storage_classes: ["fast"]}'
check "the kubeconfig at its new place" ctl cluster connect second --kubeconfig-file "$TMPDIR/second.kubeconfig"
eventually "zood that was killed knows whose they are" 60 condition_is first NodesReady "True Ready"
eventually "and whose not" 60 condition_is second NodesReady "False NodeTaken"
check "the first one shares them" change first '{"exclusive":false}'
eventually "and the second one has it" 120 second_has "node/kwok-2 node/kwok-3"
eventually "as it is told" 60 condition_is second NodesReady "True Ready"
check "the first one wants them alone again" change first '{"exclusive":true}'
eventually "which comes too late" 60 condition_is first NodesReady "False NodeShared"
check "its kubeconfig" ctl cluster connect first --kubeconfig-file "$TMPDIR/first.kubeconfig"
expect "it keeps them, with others" "node/kwok-1 node/kwok-2" "$(as first get nodes -o name | sort | paste -sd' ')"
check "the second one goes" ctl cluster delete second --timeout 120s
eventually "and they are its alone" 90 condition_is first NodesReady "True Ready"

# ---- labels, weight --------------------------------------------------------------------------------------------------------

zone_is() { [[ $(as first get node kwok-1 -o 'jsonpath={.metadata.labels.zone}') == "$1" ]]; }
eventually "a host's label is its Node's" 60 zone_is a
check "a label of the cluster's own" as first label node kwok-1 own=1
check "the host loses its" upstream label node kwok-1 zone-
eventually "so does the Node" 60 zone_is ""
expect "the cluster's own stays" 1 "$(as first get node kwok-1 -o 'jsonpath={.metadata.labels.own}')"
check "a weight" change first '{"weight":300}'
check_fails "that is none" 'spec.weight: must be a number of 1 to 10000' change first '{"weight":0}'
expect_match "kubectl explains it" 'has twice those of one of 100' "$("${admin[@]}" explain virtualcluster.spec.weight)"

# ---- extended resources ----------------------------------------------------------------------------------------------------

gpus='{"example.com/gpu":"2"}'
check "a host with two GPUs" upstream patch node kwok-3 --subresource=status --type=merge -p "{\"status\":{\"capacity\":$gpus,\"allocatable\":$gpus}}"
require "a cluster with a share of one" ctl cluster create gpu --cpu 4 --memory 8Gi --resource example.com/gpu=1 --dns none
require "one that has the host by name, and a share of one" ctl cluster create named --node kwok-3 --cpu 4 --memory 8Gi --resource example.com/gpu=1 --dns none
# computes NAME [MEMBERS of its spec]: a pod that asks for a GPU.
computes() { echo "{apiVersion: v1, kind: Pod, metadata: {name: $1}, spec: {${2:+$2, }containers: [{name: c, image: registry.example/x, resources: {limits: {example.com/gpu: 1}}}]}}"; }
runs_on() { [[ $(upstream get pod -n "$1-default" "$2" -o json --ignore-not-found | jq -r '"\(.status.phase) \(.spec.nodeName)"') == "Running $3" ]]; }
says() { as "$1" get events --field-selector "involvedObject.name=$2,reason=$3" -o 'jsonpath={.items[*].message}' | says_line "$4"; }
while read -r cluster node; do
  eventually "the node of $cluster is ready" 90 condition_is "$cluster" NodesReady "True Ready"
  eventually "and both of its sides were read" 90 condition_is "$cluster" Synced "True Synced"
  id=$(cluster_id "$cluster")
  check "its kubeconfig" ctl cluster connect "$cluster" --kubeconfig-file "$TMPDIR/$cluster.kubeconfig"
  expect "its node has one GPU" 1 "$(as "$cluster" get node "$node" -o json | jq -r '.status.allocatable["example.com/gpu"]')"
  check "a pod that asks for it" as "$cluster" create -f - <<<"$(computes first)"
  eventually "runs on the host that has it" 60 runs_on "$id" first kwok-3
  expect "and takes it there" 1 "$(upstream get pod -n "$id-default" first -o json | jq -r '.spec.containers[0].resources.requests["example.com/gpu"]')"
  expect "the upstream holds the share, too" "1 1" \
    "$(upstream get resourcequota -n "$id-default" zoo-share -o json | jq -r '"\(.spec.hard["requests.example.com/gpu"]) \(.status.used["requests.example.com/gpu"])"')"
  check "a second one" as "$cluster" create -f - <<<"$(computes second)"
  eventually "has no room, says the cluster's scheduler" 60 says "$cluster" second FailedScheduling 'Insufficient example.com/gpu'
  check "a third one, past the scheduler" as "$cluster" create -f - <<<"$(computes third "nodeName: $node")"
  eventually "is stopped by the ledger" 60 says "$cluster" third NotSynced 'it needs 1 of example.com/gpu, and 0 are left'
  expect "it stays Pending" Pending "$(as "$cluster" get pod third -o 'jsonpath={.status.phase}')"
  expect "and upstream has the first one alone" pod/first "$(upstream get pods -n "$id-default" -o name)"
  check "the first one goes" as "$cluster" delete pod first --timeout=60s
  eventually "and the third one has it" 60 runs_on "$id" third kwok-3
done <<'CLUSTERS'
gpu gpu
named kwok-3
CLUSTERS
check "all go" ctl cluster delete parts first gpu named --timeout 120s
