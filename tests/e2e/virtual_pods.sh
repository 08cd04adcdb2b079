#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters tenants keeper app
# step: verify
# timeout: 300
# Nodes and pods of virtual clusters, on fake nodes: a Deployment runs upstream in the cluster's own namespaces; scaled, deleted, and
# evicted upstream; zood killed in between; two clusters with the same names; a share that holds; nodes that come and go; the end.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 3
at_end() { end_keeper; }
start_clusters

# pods_there ID NAMESPACE: those of a cluster as upstream has them: name, phase, node.
pods_there() { upstream get pods -n "$1-$2" -o json | jq -r '.items[] | select(.metadata.deletionTimestamp == null) | "\(.metadata.name) \(.status.phase) \(.spec.nodeName)"' | sort; }
pods_here() { in_cluster "$1" get pods -n "$2" -o json | jq -r '.items[] | select(.metadata.deletionTimestamp == null) | "\(.metadata.name) \(.status.phase) \(.spec.nodeName)"' | sort; }
count_is() { [[ $(pods_there "$1" "$2" | wc -l) == "$3" ]]; }
same_pods() { local here; here=$(pods_here "$1" "$3") && [[ -n $here && $here == "$(pods_there "$2" "$3")" ]]; }

# ---- named nodes ---------------------------------------------------------------------------------------------------

require "a cluster with two nodes of the upstream" ctl cluster create t1 --node kwok-1 --node kwok-2 --dns none
eventually "its nodes are ready" 60 condition_is t1 NodesReady "True Ready"
eventually "and both sides were read" 60 condition_is t1 Synced "True Synced"
id1=$(cluster_id t1)
expect "they are the upstream's, by name" "node/kwok-1 node/kwok-2" "$(in_cluster t1 get nodes -o name | sort | paste -sd' ')"
check "Ready" in_cluster t1 wait --for=condition=Ready node/kwok-1 node/kwok-2 --timeout=60s
renewed() { [[ -n $(in_cluster t1 get lease -n kube-node-lease kwok-1 -o 'jsonpath={.spec.renewTime}') ]]; }
eventually "with leases" 60 renewed
expect_no_match "the Tenant behind it stands in no list" "$id1" "$(ctl tenant list -o name)"
check_fails "and gets no credentials" "virtual cluster default/t1" ctl kubeconfig export "$id1" -o "$TMPDIR/none"
expect "before a pod comes, upstream has the namespace of its API server's Service alone" "namespace/$id1-default" "$(upstream get ns -l "tenant.kubezoo.io/id=$id1" -o name)"

require "a Deployment of three" in_cluster t1 create deployment web --image=registry.example/nginx:1 --replicas=3
check "is available in the cluster" in_cluster t1 wait --for=condition=Available deployment/web --timeout=90s
eventually "its pods run upstream, on the same nodes" 60 same_pods t1 "$id1" default
expect "three of them" 3 "$(pods_there "$id1" default | grep -c ' Running kwok-[12]$')"
expect "with addresses in the cluster" 3 "$(in_cluster t1 get pods -o json | jq '[.items[].status | select(.podIP != null and .startTime != null)] | length')"
expect "the cluster's user may do nothing elsewhere" no "$(upstream auth can-i create pods -n default --as "zoo:$id1" --as-group zoo:tenants)"
# From here on upstream takes pods, ConfigMaps and Secrets in its namespaces from the cluster's user alone, be it zood's own account that tries.
upstream apply -f - >/dev/null <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: writers}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {tenant.kubezoo.io/id: "$id1"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [pods, pods/resize, pods/ephemeralcontainers, configmaps, secrets]}]
  # zood's, the administrator of the script, and the upstream's own programs.
  validations: [{expression: "request.userInfo.username in ['zoo:$id1', 'admin', 'system:kube-scheduler'] || request.userInfo.username.startsWith('system:serviceaccount:kube-system:')", message: "only the cluster's user writes here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: writers}
spec: {policyName: writers, validationActions: [Deny]}
YAML
zood_is_refused() { grep -q "only the cluster's user writes here" <<<"$(upstream run own --image=registry.example/x -n "$id1-default" --dry-run=server --as system:serviceaccount:zoo-system:zood --as-group system:masters 2>&1)"; }
eventually "upstream takes what pods need from nobody else" 30 zood_is_refused
expect "without a token of the upstream" 0 "$(upstream get pods -n "$id1-default" -o json | grep -c serviceAccountToken)"

check "scaled up" in_cluster t1 scale deployment web --replicas=5
eventually "upstream follows" 60 count_is "$id1" default 5
check "scaled down" in_cluster t1 scale deployment web --replicas=2
eventually "upstream follows again" 60 count_is "$id1" default 2
check "another image" in_cluster t1 set image deployment/web nginx=registry.example/nginx:2
rolled() { [[ $(upstream get pods -n "$id1-default" -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null) | .spec.containers[].image] | unique | join(" ")') == registry.example/nginx:2 ]] && count_is "$id1" default 2; }
eventually "is rolled out" 90 rolled
one=$(in_cluster t1 get pods -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null) | .metadata.name][0]')
check "a label set later" in_cluster t1 label pod "$one" color=blue
labelled() { [[ $(upstream get pod -n "$id1-default" "$one" -o 'jsonpath={.metadata.labels.color}') == blue ]]; }
eventually "comes upstream" 60 labelled

# ---- from upstream ---------------------------------------------------------------------------------------------------

uid=$(in_cluster t1 get pod "$one" -o 'jsonpath={.metadata.uid}')
check_fails "the status of an earlier pod of a name is not taken for it" 'uid|UID|immutable' \
  at_plane "$id1" patch pod "$one" --subresource=status --type=strategic -p '{"metadata":{"uid":"11111111-2222-3333-4444-555555555555"},"status":{"message":"x"}}'
check "a pod is deleted upstream" upstream delete pod -n "$id1-default" "$one" --wait=false
replaced() { ! in_cluster t1 get pods -o json | jq -e --arg uid "$uid" 'any(.items[]; .metadata.uid == $uid)' >/dev/null && same_pods t1 "$id1" default && count_is "$id1" default 2; }
eventually "the cluster's goes, and another one comes" 90 replaced
check "the upstream cordons a node" upstream cordon kwok-1
cordoned() { [[ $(in_cluster t1 get node kwok-1 -o 'jsonpath={.spec.unschedulable}') == "${1:-}" ]]; }
eventually "so does the cluster's" 60 cordoned true
check "and back" upstream uncordon kwok-1
eventually "with it" 60 cordoned
check "an agent of the platform writes to a node what is its own" upstream annotate node kwok-2 example.com/arguments='["--server","https://10.9.8.7:6443","--token","of-the-platform"]'
check "a taint of the upstream's" upstream taint node kwok-2 own=x:PreferNoSchedule
tainted() { [[ $(in_cluster t1 get node kwok-2 -o json | jq -r '[.spec.taints[]? | .key] | join(" ")') == own ]]; }
eventually "is the cluster's" 60 tainted
# The host's annotation was written before its taint, so a Node with the taint was made from a host with the annotation.
node=$(in_cluster t1 get node kwok-2 -o yaml)
expect_match "of the agent's words" 'name: kwok-2' "$node"
expect_no_match "the cluster is shown nothing" of-the-platform "$node"

# ---- a name that is somebody else's ---------------------------------------------------------------------------------

upstream apply -n "$id1-default" -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: mine}
spec: {containers: [{name: c, image: registry.example/other}]}
YAML
in_cluster t1 run mine --image=registry.example/nginx:1 >/dev/null
says_why() { in_cluster t1 get events --field-selector involvedObject.name=mine,reason=NotSynced -o 'jsonpath={.items[*].message}' | says_line "$1"; }
eventually "a pod whose name is taken upstream says so" 60 says_why "not the cluster's"
expect "it stays Pending" Pending "$(in_cluster t1 get pod mine -o 'jsonpath={.status.phase}')"
eventually "the cluster tells of it" 60 condition_is t1 Synced "False PodsRefused"
expect "upstream's is as it was" registry.example/other "$(upstream get pod -n "$id1-default" mine -o 'jsonpath={.spec.containers[0].image}')"
check "it can be deleted" in_cluster t1 delete pod mine --timeout=60s
check "upstream's is still there" upstream get pod -n "$id1-default" mine
upstream delete pod -n "$id1-default" mine --wait=false >/dev/null
in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: mighty}
spec: {hostNetwork: true, containers: [{name: c, image: registry.example/x}]}
YAML
refused() { in_cluster t1 get events --field-selector involvedObject.name=mighty,reason=NotSynced -o 'jsonpath={.items[*].message}' | says_line 'baseline'; }
eventually "what pod security refuses says so" 60 refused
expect_no_match "in the cluster's words" "$id1-" "$(in_cluster t1 get events -o json)"
check "and goes" in_cluster t1 delete pod mighty --timeout=60s
eventually "all is well again" 60 condition_is t1 Synced "True Synced"

# ---- two clusters with the same names --------------------------------------------------------------------------------

require "a second cluster, of a share of one cpu" ctl cluster create t2 --cpu 1 --memory 4Gi --dns none
eventually "its node is ready" 60 condition_is t2 NodesReady "True Ready"
id2=$(cluster_id t2)
expect "its share is a node" "1 4Gi" "$(in_cluster t2 get node t2 -o json | jq -r '.status.capacity | "\(.cpu) \(.memory)"')"
for name in t1 t2; do
  in_cluster "$name" apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: nginx, labels: {app: nginx}}
spec: {containers: [{name: c, image: registry.example/nginx:1, resources: {requests: {cpu: 400m}}}]}
YAML
done
runs() { [[ $(in_cluster "$1" get pod "$2" -o 'jsonpath={.status.phase}') == Running ]]; }
eventually "default/nginx runs in the one" 60 runs t1 nginx
eventually "and in the other" 60 runs t2 nginx
before=$(upstream get pod -n "$id2-default" nginx -o 'jsonpath={.metadata.uid}')
for right in "create pods" "delete pods" "get secrets"; do
  # shellcheck disable=SC2086 # a verb and a resource
  expect "the one's user may not $right of the other" no "$(upstream auth can-i $right -n "$id2-default" --as "zoo:$id1" --as-group zoo:tenants)"
done
check "the one is deleted" in_cluster t1 delete pod nginx --timeout=60s
expect "the other is as it was" "$before Running" "$(upstream get pod -n "$id2-default" nginx -o json | jq -r '"\(.metadata.uid) \(.status.phase)"')"

# ---- a share holds -----------------------------------------------------------------------------------------------------

for number in 2 3; do
  in_cluster t2 run "more-$number" --image=registry.example/x --overrides='{"spec":{"containers":[{"name":"c","image":"registry.example/x","resources":{"requests":{"cpu":"400m"}}}]}}' >/dev/null
done
eventually "a second one has room" 60 runs t2 more-2
no_room() { in_cluster t2 get events --field-selector involvedObject.name=more-3 -o 'jsonpath={.items[*].message}' | says_line 'Insufficient cpu'; }
eventually "a third one has none, says the cluster's scheduler" 60 no_room
in_cluster t2 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: sly}
spec: {nodeName: t2, containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: 400m}}}]}
YAML
short() { in_cluster t2 get events --field-selector involvedObject.name=sly,reason=NotSynced -o 'jsonpath={.items[*].message}' | says_line '400m of cpu, and 200m are left'; }
eventually "who goes past the scheduler is stopped by the ledger" 60 short
expect "upstream has two" 2 "$(pods_there "$id2" default | wc -l)"
check "room is made" in_cluster t2 delete pod more-2 more-3 --timeout=60s
eventually "and taken" 90 runs t2 sly

# ---- zood is killed in between ------------------------------------------------------------------------------------------

versions() { { upstream get pods -n "$id1-default" -o json; at_plane "$id1" get pods -o json; } | jq -r '.items[] | "\(.metadata.namespace) \(.metadata.name) \(.metadata.resourceVersion)"' | sort; }
patrolled() { (($(grep -c "$id1: patrol: .* pods" "$zood_dir.log") > patrols)); }
check "a namespace" in_cluster t1 create namespace side
check "with a pod" in_cluster t1 run x -n side --image=registry.example/x
eventually "is upstream, too" 60 count_is "$id1" side 1
check "and goes in the cluster" in_cluster t1 delete namespace side --timeout=90s
eventually "nothing is under way" 60 same_pods t1 "$id1" default
stop_zood KILL
before=$(versions)
patrols=$(grep -c "$id1: patrol: .* pods" "$zood_dir.log")
start_clusters
eventually "zood comes back and reads both sides" 90 patrolled
expect "it writes nothing that is there already" "$before" "$(versions)"
side_gone() { [[ -z $(upstream get ns "$id1-side" -o name --ignore-not-found) ]]; }
eventually "what a deleted namespace has left is taken away" 60 side_gone
expect_match "nor looks at it" ': patrol: 2 pods upstream, 0 to be looked at' "$(grep "$id1: patrol: .* pods" "$zood_dir.log" | tail -1)"
stop_zood KILL
check "scaled while zood is away" at_plane "$id1" scale deployment web --replicas=4
bound() { [[ $(at_plane "$id1" get pods -o json | jq '[.items[] | select(.spec.nodeName != null)] | length') == 4 ]]; }
eventually "the cluster's own scheduler goes on" 60 bound
gone=$(pods_there "$id1" default | awk 'NR == 1 { print $1 }')
check "and one is deleted upstream" upstream delete pod -n "$id1-default" "$gone" --timeout=60s
start_clusters
caught_up() { same_pods t1 "$id1" default && count_is "$id1" default 4; }
eventually "zood catches up" 90 caught_up
expect "the one that was deleted is not run again" 0 "$(pods_here t1 default | grep -c "^$gone ")"
expect "no node was lost" "True True" "$(at_plane "$id1" get nodes -o json | jq -r '[.items[].status.conditions[] | select(.type == "Ready") | .status] | join(" ")')"

# ---- nodes come and go -----------------------------------------------------------------------------------------------------

admin=("$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig")
check "a node is taken away, another one given" "${admin[@]}" patch virtualcluster t1 --type merge -p '{"spec":{"promoteResources":{"nodes":["kwok-2","kwok-3","kwok-9"]}}}'
nodes_are() { [[ $(in_cluster t1 get nodes -o name | sort | paste -sd' ') == "$1" ]]; }
eventually "the cluster has it so" 120 nodes_are "node/kwok-2 node/kwok-3"
moved() { caught_up && ! pods_here t1 default | says_line 'kwok-1$'; }
eventually "its pods have moved" 120 moved
eventually "a node that is not there is told" 60 condition_is t1 NodesReady "False NodeNotFound"

# ---- the end ------------------------------------------------------------------------------------------------------------------

color_there() { [[ $(upstream get namespace "$id2-default" -o 'jsonpath={.metadata.labels.color}') == blue ]]; }
check "a label of a namespace" in_cluster t2 label namespace default color=blue
eventually "is upstream" 30 color_there
check "a paused cluster" ctl cluster pause t2
expect "keeps its pods upstream" 2 "$(pods_there "$id2" default | wc -l)"
rm -rf "$zood_dir/clusters/$id2/etcd/member"/*
check "it is resumed with an etcd that is empty" ctl cluster resume t2
eventually "which is not the store that it had" 90 condition_is t2 Synced "False StoreReplaced"
expect "so nothing upstream is deleted for it" 2 "$(pods_there "$id2" default | wc -l)"
check "and the label that the other store lacks stays" color_there
check "goes, too" ctl cluster delete t2 --timeout 120s
check "and so does the other" ctl cluster delete t1 --timeout 120s
expect "upstream has nothing of either" "" "$(upstream get ns -o name | grep -E "$id1|$id2")"
check_fails "nor zood" 'there is no tenant' ctl tenant get "$id1"
expect_no_match "zood took nothing for an error of its own" ' (error|critical) ' "$(grep -v 'cannot be told' "$zood_dir.log")"
