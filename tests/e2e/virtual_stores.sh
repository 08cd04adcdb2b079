#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 1800
# A virtual cluster's own API server cannot be believed, on fake nodes: its etcd is emptied while zood runs and knows all that was in it, and
# other objects get the names of those that are upstream; in a second cluster etcd and kube-apiserver stand still. Longer than it takes until
# all is compared nothing upstream changes, and when both stores are back nothing is made anew on either side.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 2
stopped=()
at_end() {
  kill -CONT "$(keeper_pid)" "${stopped[@]}" 2>/dev/null
  end_keeper
}
start_clusters 'shared: {storage_classes: ["fast"]}'

# A patrol comes after five minutes and a quarter of that at most (reconcile::jittered).
longest_patrol=380

# ---- two clusters with something of each kind ----------------------------------------------------------------------------

# fill CLUSTER
fill() {
  in_cluster "$1" apply -f - <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: side, labels: {team: blue}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {word: s3cret}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: own}
spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: registry.example/nginx:1, envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: password}}]}]
YAML
  in_cluster "$1" label namespace default color=blue && in_cluster "$1" create deployment aside -n side --image=registry.example/x &&
    in_cluster "$1" expose deployment web --type=NodePort --port=80 && in_cluster "$1" create service clusterip other --tcp=80 &&
    disk_and_writer | in_cluster "$1" apply -f - && service_to byhand 192.0.2.7 8080 | in_cluster "$1" apply -f -
}
chosen() { [[ -n $(upstream get pvc -n "$1-default" disk -o json --ignore-not-found | jq -r '.metadata.annotations["volume.kubernetes.io/selected-node"] // ""') ]]; }
runs() { [[ $(in_cluster "$1" get pod "$2" -o 'jsonpath={.status.phase}') == Running ]]; }
label_there() { upstream get namespace "$1" -o json --ignore-not-found | jq -r ".metadata.labels[\"$2\"]"; }
label_is() { [[ $(label_there "$1" "$2") == "$3" ]]; }
declare -A id=() before_here=() before_there=() nodes_before=()
for each in emptied still; do
  require "cluster $each with two nodes" ctl cluster create "$each" --node kwok-1 --node kwok-2
  eventually "both of its sides were read" 90 condition_is "$each" Synced "True Synced"
  id[$each]=$(cluster_id "$each")
  share_class "$each"
  require "it has something of each kind" fill "$each"
  eventually "its claim is upstream" 60 chosen "${id[$each]}"
  check "and gets its volume" provision "${id[$each]}" disk
  eventually "the pod with it runs" 90 runs "$each" writer
  for name in web aside; do
    check "Deployment $name runs" in_cluster "$each" wait -n "$([[ $name == web ]] && echo default || echo side)" --for=condition=Available "deployment/$name" --timeout=90s
  done
  eventually "the labels of its namespaces are upstream" 60 label_is "${id[$each]}-default" color blue
  eventually "of both" 60 label_is "${id[$each]}-side" team blue
done
for each in emptied still; do
  eventually "all of $each is done" 120 is_at_rest "${id[$each]}"
  before_there[$each]=$(objects_there "${id[$each]}") before_here[$each]=$(objects_here "${id[$each]}") nodes_before[$each]=$(nodes_here "${id[$each]}")
  expect "upstream has something of each kind" "ConfigMap EndpointSlice Namespace NetworkPolicy PersistentVolume PersistentVolumeClaim Pod Secret Service" \
    "$(cut -d' ' -f1 <<<"${before_there[$each]}" | sort -u | paste -sd' ')"
done

# ---- both stores go ------------------------------------------------------------------------------------------------------

has_ended() { [[ ! -e /proc/$1 || $(awk '$1 == "State:" { print $2 }' "/proc/$1/status") == Z ]]; }
# without COMPONENT... -- COMMAND...: runs it while these of cluster `emptied` are dead, of which the keeper hears afterwards.
without() {
  local keeper pids=() pid
  keeper=$(keeper_pid)
  while [[ $1 != -- ]]; do
    pid=$(component_pid emptied "$1")
    [[ -n $pid ]] || return 1
    pids+=("$pid")
    shift
  done
  kill -STOP "$keeper" && kill -KILL "${pids[@]}" || return 1
  for pid in "${pids[@]}"; do until has_ended "$pid"; do sleep 0.1; done; done
  "${@:2}"
  local status=$?
  kill -CONT "$keeper"
  return $status
}
data=$zood_dir/clusters/${id[emptied]}/etcd
put_away() { mv "$data/member" "$TMPDIR/member" && mkdir -m 700 "$data/member"; }
put_back() { rm -rf "$data/member" && mv "$TMPDIR/member" "$data/member"; }
require "the etcd of the one is emptied" without kube-apiserver etcd -- put_away
mapfile -t frozen < <(component_pids still | awk '$1 == "etcd" || $1 == "kube-apiserver" { print $2 }')
require "etcd and kube-apiserver of the other are known" test "${#frozen[@]}" = 2
stopped=("${frozen[@]}")
require "and stand still" kill -STOP "${frozen[@]}"
begun=$SECONDS
eventually "the one has another store" 120 condition_is emptied Synced "False StoreReplaced"
expect "at once upstream is as it was" "${before_there[emptied]}" "$(objects_there "${id[emptied]}")"

# What comes into the empty store has the names of what is upstream.
empty=${id[emptied]}
eventually "its API server answers" 90 at_plane "$empty" get namespace default
eventually "pods can be made" 90 at_plane "$empty" get serviceaccount default
check "another label of the namespace" at_plane "$empty" label namespace default --overwrite color=red
check "another ConfigMap" at_plane "$empty" create configmap settings --from-literal=color=red
check "another Secret" at_plane "$empty" create secret generic password --from-literal=word=other
check "another Service" at_plane "$empty" create service clusterip other --tcp=81
imposter() {
  at_plane "$empty" create -f - <<'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: own}
spec: {podSelector: {}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec: {nodeName: kwok-1, containers: [{name: c, image: registry.example/other, envFrom: [{configMapRef: {name: settings}}]}]}
YAML
}
eventually "another claim, policy and pod" 60 imposter
expect "upstream nothing changes for them" "${before_there[emptied]}" "$(objects_there "$empty")"
eventually "the other one does not answer" 150 condition_is still ControlPlaneReady "False Starting"
eventually "and nothing of it is copied" 30 condition_is still Synced "False NotReached"
while ((SECONDS - begun < longest_patrol)); do sleep 1; done
expect "after a patrol all of the one is upstream as it was" "${before_there[emptied]}" "$(objects_there "$empty")"
expect "and of the other" "${before_there[still]}" "$(objects_there "${id[still]}")"
expect "the one is told apart from what it was" "False StoreReplaced" "$(condition emptied Synced)"
expect "the other does not answer" "False Starting" "$(condition still ControlPlaneReady)"

# ---- and come back ---------------------------------------------------------------------------------------------------------

require "the one has what it had" without kube-scheduler kube-controller-manager kube-apiserver etcd -- put_back
require "the other goes on" kill -CONT "${frozen[@]}"
stopped=()
declare -A patrols=()
for each in emptied still; do patrols[$each]=$(grep -c "${id[$each]}: patrol: .* pods" "$zood_dir.log"); done
patrolled() { (($(grep -c "${id[$1]}: patrol: .* pods" "$zood_dir.log") > patrols[$1])); }
for each in emptied still; do
  eventually "$each answers again" 180 condition_is "$each" ControlPlaneReady "True Ready"
  eventually "all of it is compared" 180 patrolled "$each"
  eventually "it is in step" 60 condition_is "$each" Synced "True Synced"
  eventually "nothing is left to be done in $each" 120 is_at_rest "${id[$each]}"
  expect "upstream it is as it was" "${before_there[$each]}" "$(objects_there "${id[$each]}")"
  expect "so is what it has itself" "${before_here[$each]}" "$(objects_here "${id[$each]}")"
  expect "and its nodes were ready all the time" "${nodes_before[$each]}" "$(nodes_here "${id[$each]}")"
  check "it takes a change" in_cluster "$each" label namespace default --overwrite color=green
  eventually "which comes upstream" 60 label_is "${id[$each]}-default" color green
  check "and goes" ctl cluster delete "$each" --timeout 120s
done
expect "upstream has nothing of either" "" "$(upstream get ns -o name | grep -E "${id[emptied]}|${id[still]}")"
expect_no_match "zood took nothing for an error of its own" ' (error|critical) ' "$(grep -v 'cannot be told' "$zood_dir.log")"
