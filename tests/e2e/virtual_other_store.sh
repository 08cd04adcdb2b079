#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 2400
# The upstream is away for longer than five minutes, and comes back with what it had: nothing is made anew on either side. Then its etcd is
# swapped for an empty one while zood runs: nothing goes in a virtual cluster for what the other store lacks, be it pods, nodes, classes,
# volumes or Services; a cluster that is ordered in the first store stays; nothing of the cluster is made in the other one, and nothing there
# is taken for a cluster's that is deleted meanwhile; and with the first store all goes on.
# A cluster that is deleted while the upstream is away waits for it, and goes by itself.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 2
at_end() { end_keeper; }
zoo_clusters_crd=true
start_clusters 'shared: {storage_classes: ["fast"]}'

require "a cluster with two nodes" ctl cluster create t1 --node kwok-1 --node kwok-2 --dns none
eventually "both sides were read" 90 condition_is t1 Synced "True Synced"
id=$(cluster_id t1)
share_class t1
in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: own}
spec: {podSelector: {}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: registry.example/nginx:1, envFrom: [{configMapRef: {name: settings}}]}]}
YAML
require "a Deployment runs" in_cluster t1 wait --for=condition=Available deployment/web --timeout=90s
check "a Service" in_cluster t1 expose deployment web --type=NodePort --port=80
check "another one" in_cluster t1 create service clusterip other --tcp=80
# state: all that the cluster has, by its UIDs. uids ID: of its pods upstream.
state() { in_cluster t1 get namespaces,nodes,pods,services,configmaps,secrets,networkpolicies,pvc,pv,storageclasses -A -o json | jq -r '.items[] | "\(.kind) \(.metadata.namespace // "")/\(.metadata.name) \(.metadata.uid) \(.metadata.deletionTimestamp // "")"' | sort; }
uids() { upstream get pods -n "$id-default" -o json | jq -r '.items[] | "\(.metadata.name) \(.metadata.uid)"' | sort; }
claimed() { upstream get pvc -n "$id-default" disk -o name; }
eventually "its claim is upstream" 60 claimed
before=$(state)
before_there=$(uids)

order() { upstream apply -f - <<<'{"apiVersion":"kosmos.io/v1alpha1","kind":"VirtualCluster","metadata":{"name":"t2"}}'; }
eventually "another cluster is ordered upstream" 60 order
eventually "and comes up" 120 phase_is t2 Initialized
ordered=$(cluster_id t2)
require "a third cluster" ctl cluster create t3 --node kwok-2 --dns none
eventually "has something upstream" 90 condition_is t3 Synced "True Synced"
leaving=$(cluster_id t3)

# What zood's own credential stands on, so that it is good in the other store, too: the worst case.
etcd() { curl -sf --max-time 10 "http://127.0.0.1:$(($(<"$up/port") + 10))/v3/kv/$1" -d "$2"; }
kept=$(for key in /registry/namespaces/zoo-system /registry/serviceaccounts/zoo-system/zood; do
  etcd range "{\"key\": \"$(printf %s "$key" | base64 -w0)\"}" | jq -ce '.kvs[0] | {key, value}'
done)
require "zood's account is known" test "$(wc -l <<<"$kept")" = 2
version=$(upstream version -o json | jq -r '.serverVersion.gitVersion | ltrimstr("v")')
require "a cluster that is to go" ctl cluster create t4 --node kwok-1 --dns none
eventually "has something upstream" 90 condition_is t4 Synced "True Synced"
going=$(cluster_id t4)
check "a pod of it" in_cluster t4 run x --image=registry.example/x
pod_there() { upstream get pod -n "$going-default" x; }
eventually "too" 60 pod_there
check "the upstream goes away" "$ZOO_UPSTREAM" stop --dir "$up"
check_status "then it cannot go" 7 ctl cluster delete t4 --timeout 5s
says_why() { [[ $(field t4 .status.message) == "what it has upstream to go: cannot connect to "* ]]; }
eventually "which it says, and why" 60 says_why
expect "it is on its way" Deleting "$(field t4 .status.phase)"
require "the upstream is back" "$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 300 --kubernetes "$version" --nodes 2
fourth_gone() { ! ctl cluster get t4 2>/dev/null; }
eventually "and it goes by itself" 120 fourth_gone
expect "with all that it had upstream" "" "$(upstream get namespaces -o name | grep -F "$going-")"
expect "and its processes" "" "$(processes_in "$zood_dir/clusters/$going")"
eventually "the other cluster is in step again" 150 condition_is t1 Synced "True Synced"
expect "with all that it had" "$before" "$(state)"

# failures NODE: how many times it was looked for there in vain.
failures() { grep -cE "$id: n/$1: " "$zood_dir.log"; }
eventually "all is done" 120 is_at_rest "$id"
failed_before=$(failures kwok-1)
objects_before=$(objects_here "$id") objects_before_there=$(objects_there "$id") nodes_before=$(nodes_here "$id")
begun=$SECONDS
check "the upstream goes away" "$ZOO_UPSTREAM" stop --dir "$up"
eventually "which the cluster says" 60 condition_is t1 Synced "False NotReached"
in_vain() { (($(failures kwok-1) > failed_before)); }
eventually "its nodes are looked for in vain" 150 in_vain
# Both sides are compared after five minutes and a quarter of that at most (reconcile::jittered), and kubelets that are silent so long lose their pods.
while ((SECONDS - begun < 380)); do sleep 1; done
expect "nothing of the cluster's goes for that" "$before" "$(state)"
expect "nor is it changed" "$objects_before" "$(objects_here "$id")"
expect "its nodes are ready all the time" "$nodes_before" "$(nodes_here "$id")"
require "the upstream comes back with what it had" "$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 300 --kubernetes "$version" --nodes 2
eventually "the cluster is in step again" 150 condition_is t1 Synced "True Synced"
eventually "with nothing left to be done" 120 is_at_rest "$id"
expect "in the cluster all is as it was" "$objects_before" "$(objects_here "$id")"
expect "with its nodes" "$nodes_before" "$(nodes_here "$id")"
expect "and upstream, too" "$objects_before_there" "$(objects_there "$id")"
check "the upstream goes away once more" "$ZOO_UPSTREAM" stop --dir "$up"
eventually "which the cluster says" 60 condition_is t1 Synced "False NotReached"

# swap DIRECTORY [ARGUMENTS of start]: upstream goes on with that for its store; "" is an empty one. The one that it had is in etcd.aside.
swap() {
  "$ZOO_UPSTREAM" stop --dir "$up" && mv "$up/etcd" "$up/etcd.before" || return 1
  [[ -z $1 ]] || mv "$up/$1" "$up/etcd" || return 1
  mv "$up/etcd.before" "$up/etcd.aside"
  "$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 300 --kubernetes "$version" "${@:2}"
}
require "it comes back with another, empty store" swap ""
check "in which everybody may do anything" upstream create clusterrolebinding all --clusterrole=cluster-admin --group=system:authenticated
while read -r each; do check "and zood is known" etcd put "$each"; done <<<"$kept"
eventually "which is not what it was" 120 condition_is t1 Synced "False StoreReplaced"
begun=$SECONDS
check "a ConfigMap changes meanwhile" in_cluster t1 patch configmap settings --type=merge -p '{"data":{"color":"green"}}'
check "a Service changes" in_cluster t1 annotate service web note=mine
check "another one comes" in_cluster t1 create service clusterip late --tcp=80
late=$(state | grep 'Service default/late ')
kept_order() { grep -q "upstream's order default/t2: .*the virtual cluster stays" "$zood_dir.log"; }
eventually "an order that is not there is not taken for gone" 330 kept_order
expect "the cluster stays" "$ordered Initialized" "$(cluster_id t2) $(field t2 .status.phase)"
# Nodes and classes are looked for once a minute, and a quarter of that later at most.
while ((SECONDS - begun < 90)); do sleep 1; done
expect "everything of the cluster's is there" "$before" "$(state | grep -vxF -- "$late")"
expect "its nodes are ready" "True True" "$(in_cluster t1 get nodes -o json | jq -r '[.items[].status.conditions[] | select(.type == "Ready") | .status] | join(" ")')"
expect "its pods, too" "True True" "$(in_cluster t1 get pods -o json | jq -r '[.items[].status.conditions[] | select(.type == "Ready") | .status] | join(" ")')"
expect "nothing of it is in the other store" "" "$(upstream get namespaces -o name | grep -F "$id-")"

# As another zood would have it there, which has the same ID by chance.
upstream apply -f - >/dev/null <<<"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"$leaving-default\",\"labels\":{\"tenant.kubezoo.io/id\":\"$leaving\"}}}"
check "a cluster is to go meanwhile" ctl cluster delete t3 --no-wait
waits_for_store() { [[ $(field t3 .status.message) == *"what it has upstream to go: the upstream that it was in"* ]]; }
eventually "which waits for the store that it was in" 120 waits_for_store
stays() { upstream get namespace "$leaving-default" -o json | jq -r '.metadata | select(.deletionTimestamp == null) | .name'; }
expect "nothing goes in the other one" "$leaving-default" "$(stays)"
lost=$(field t3 .status.message | sed -n 's/.*leave-upstream=\([0-9a-f-]*\).*/\1/p')
check "what is in the first one is left there by wish" "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" annotate virtualcluster t3 -n default "clusters.zoo.kubezoo.io/leave-upstream=$lost"
third_gone() { ! ctl cluster get t3 2>/dev/null; }
eventually "and the cluster ends" 120 third_gone
expect "nothing has gone for that, either" "$leaving-default" "$(stays)"

require "the first store is back" swap etcd.aside --nodes 2
eventually "all is well again" 150 condition_is t1 Synced "True Synced"
expect "the pods upstream are those that were there" "$before_there" "$(uids)"
expect "and all of the cluster's" "$before" "$(state | grep -vxF -- "$late")"
follows() { [[ $(upstream get configmap -n "$id-default" settings -o 'jsonpath={.data.color}') == green && -n $(upstream get service -n "$id-default" late -o name) ]]; }
eventually "what changed meanwhile is upstream" 60 follows
check "its order goes, where it is" upstream delete virtualcluster t2 --timeout=120s
gone_here() { ! ctl cluster get t2 2>/dev/null; }
eventually "and with it the cluster" 60 gone_here
check "the other one goes" ctl cluster delete t1 --timeout 120s
