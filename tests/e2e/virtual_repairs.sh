#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 1200
# Bad days of virtual clusters, on fake nodes: what keeps a cluster going is taken away by its own administrator, and comes back; hosts that
# are silent or gone are not ready in the cluster, either; classes that zood.yaml shares are put back where they were changed, and go when
# they are not shared any more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 3
stopped=''
at_end() {
  [[ -z $stopped ]] || kill -CONT "$stopped"
  end_keeper
}
upstream apply -f - >/dev/null <<'YAML'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: important}
value: 1000
description: of the platform
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: hidden}
value: 2000
YAML
start_clusters 'shared: {storage_classes: ["fast"], priority_classes: ["important"]}'
require "a cluster with two nodes" ctl cluster create t1 --node kwok-1 --node kwok-2 --dns none
eventually "both of its sides were read" 90 condition_is t1 Synced "True Synced"
eventually "its nodes are ready" 60 condition_is t1 NodesReady "True Ready"
id=$(cluster_id t1)
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
require "a Deployment" as t1 create deployment web --image=registry.example/x --replicas=2
check "runs" as t1 wait --for=condition=Available deployment/web --timeout=90s
pods() { as t1 get pods -o json | jq -r '.items[] | "\(.metadata.name) \(.metadata.uid)"' | sort; }

# ---- Leases and Nodes ------------------------------------------------------------------------------------------------------

lease() { as t1 get lease -n kube-node-lease "$1" -o "jsonpath={$2}" --ignore-not-found; }
is_another() { local now; now=$(lease "$1" "$2") && [[ -n $now && $now != "$3" ]]; }
# holds NAME: its Lease is of its Node as it is, and is renewed.
holds() { [[ $(lease "$1" '.metadata.ownerReferences[0].uid') == "$(as t1 get node "$1" -o 'jsonpath={.metadata.uid}')" ]]; }
for node in kwok-1 kwok-2; do
  eventually "$node has a Lease" 60 holds "$node"
  eventually "which is renewed" 60 is_another "$node" .spec.renewTime "$(lease "$node" .spec.renewTime)"
done
uid=$(lease kwok-1 .metadata.uid)
check "a Lease is taken away" as t1 delete lease -n kube-node-lease kwok-1
eventually "and comes back" 60 is_another kwok-1 .metadata.uid "$uid"
node_uid() { as t1 get node "$1" -o 'jsonpath={.metadata.uid}' --ignore-not-found; }
ready() { [[ $(as t1 get node "$1" -o json | jq -r '.status.conditions[] | select(.type == "Ready").status') == "$2" ]]; }
uid=$(node_uid kwok-2)
check "a Node is taken away" as t1 delete node kwok-2
is_new() { local now; now=$(node_uid "$1") && [[ -n $now && $now != "$2" ]]; }
eventually "and comes back" 120 is_new kwok-2 "$uid"
eventually "ready" 60 ready kwok-2 True
eventually "with a Lease of its own" 90 holds kwok-2
same_pods() { local here; here=$(as t1 get pods -o json | jq -r '.items[] | select(.metadata.deletionTimestamp == null and .status.phase == "Running").metadata.name' | sort); [[ $(wc -l <<<"$here") == 2 && $here == "$(upstream get pods -n "$id-default" -o json | jq -r '.items[] | select(.metadata.deletionTimestamp == null and .status.phase == "Running").metadata.name' | sort)" ]]; }
# Its pods may have gone with it: the cluster's own controllers take those whose Node is not there.
eventually "both sides have the same two pods" 120 same_pods

# ---- what zood stands on in the cluster --------------------------------------------------------------------------------------

check "all bindings of roles to administrators go, and the hook" as t1 delete --wait=false mutatingwebhookconfiguration/zoo-services clusterrolebinding/cluster-admin clusterrolebinding/zoo:cluster-admins
binds() { at_plane "$id" get clusterrolebinding zoo:cluster-admins -o name; }
eventually "the administrators' comes back" 120 binds
may() { as t1 auth can-i '*' '*' --all-namespaces; }
eventually "so that they are that again" 30 may
hooked() { as t1 get mutatingwebhookconfiguration zoo-services -o name; }
eventually "and so does the hook" 90 hooked
expect "the syncer has gone on" "True Synced" "$(condition t1 Synced)"
check "it takes a Service" as t1 create service clusterip other --tcp=80
expect "with the same address on both sides" "$(as t1 get service other -o 'jsonpath={.spec.clusterIP}')" "$(upstream get service -n "$id-default" other -o 'jsonpath={.spec.clusterIP}')"

# ---- hosts ---------------------------------------------------------------------------------------------------------------------

before=$(pods)
stopped=$("$ZOO_UPSTREAM" status --dir "$up" | awk '$1 == "kwok" { print $2 }')
require "all kubelets of the upstream are silent" kill -STOP "$stopped"
# Its controller manager waits for 50 seconds.
for node in kwok-1 kwok-2; do eventually "$node is not ready in the cluster" 150 ready "$node" Unknown; done
taints() { as t1 get node "$1" -o json | jq -r '[.spec.taints[]?.key] | unique | join(" ")'; }
is_tainted() { [[ $(taints "$1") == *node.kubernetes.io/unreachable* ]]; }
eventually "nothing new comes to it" 60 is_tainted kwok-1
check "they speak again" kill -CONT "$stopped"
stopped=''
for node in kwok-1 kwok-2; do eventually "$node is ready again" 120 ready "$node" True; done
is_untainted() { [[ -z $(taints "$1") ]]; }
eventually "and takes pods" 60 is_untainted kwok-1
expect "no pod has gone for that" "$before" "$(pods)"
check "a host is taken out of the upstream" upstream delete node kwok-2
eventually "its Node is not ready" 120 ready kwok-2 False
eventually "the cluster tells why" 60 condition_is t1 NodesReady "False NodeNotFound"
on_the_other() { [[ $(as t1 get pods -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null and .status.phase == "Running").spec.nodeName] | join(" ")') == "kwok-1 kwok-1" ]] && same_pods; }
check "the rest is enough" as t1 cordon kwok-2
check "what ran there goes" as t1 delete pods --field-selector spec.nodeName=kwok-2 --wait=false
eventually "and runs on the other one" 180 on_the_other

# ---- classes ---------------------------------------------------------------------------------------------------------------------

share_class t1
class() { as t1 get "$1" "$2" -o json --ignore-not-found | jq -r "$3"; }
class_is() { [[ $(class "$1" "$2" "$3") == "$4" ]]; }
eventually "a PriorityClass that is shared is in the cluster" 60 class_is priorityclass important .value 1000
expect "one that is not is not" "" "$(class priorityclass hidden .value)"
check "a pod of it" as t1 run urgent --image=registry.example/x --overrides='{"spec":{"priorityClassName":"important"}}'
there() { upstream get pod -n "$id-default" "$1" -o json --ignore-not-found | jq -r '"\(.spec.priorityClassName) \(.spec.priority)"'; }
there_is() { [[ $(there "$1") == "$2" ]]; }
eventually "has it upstream, by its name" 60 there_is urgent "important 1000"
check "somebody in the cluster changes it" as t1 patch priorityclass important --type=merge -p '{"description":"mine"}'
eventually "it is put back" 120 class_is priorityclass important .description "of the platform"
check "the platform says more of a StorageClass" upstream patch storageclass fast --type=merge -p '{"allowVolumeExpansion":false}'
eventually "the cluster hears of it" 120 class_is storageclass fast .allowVolumeExpansion false
check "somebody changes that there" as t1 patch storageclass fast --type=merge -p '{"allowVolumeExpansion":true}'
is_put_back() { [[ $(as t1 get storageclass fast -o json | jq .allowVolumeExpansion) == false ]]; }
eventually "it is put back, too" 120 is_put_back
check "one is taken away" as t1 delete storageclass fast
eventually "and comes back" 120 class_is storageclass fast .provisioner example.com/disks
stop_zood || failed "zood ends" <<<"status $?"
start_clusters 'shared: {storage_classes: ["fast"]}'
check "the kubeconfig at its new place" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
eventually "a class that is not shared any more goes" 90 class_is priorityclass important .value ""
expect "the other one stays" example.com/disks "$(class storageclass fast .provisioner)"
check "the cluster goes" ctl cluster delete t1 --timeout 120s
expect "the platform's classes stay" "1000 2000" "$(upstream get priorityclass important hidden -o json | jq -r '[.items[].value] | join(" ")')"
