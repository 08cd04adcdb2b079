#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters keeper packaging
# step: all
# timeout: 1800
# Two versions side by side: a control plane of the oldest Kubernetes that is supported beside one of the newest, in front of the same
# upstream. Each says its version at each of its doors, has nodes, pods, Services and configuration, and outlives zood and the keeper. A
# version that is not built is told with those that are. Most of its time is the build of the older one, once for a machine.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 3
at_end() { end_keeper; }
start_clusters
newest=$zoo_clusters_version
oldest=$("$ZOO_UPSTREAM" versions | tail -n 1)
require "there are two versions" test "$newest" != "$oldest"
check_fails "a version that is not built is told with what there is" "Kubernetes $oldest is not in clusters.binaries, which has $newest: .packaging/control-planes $oldest. builds it" \
  ctl cluster create old --kubernetes "$oldest" --node kwok-1 --timeout 1s
expect "and is waited for" "Pending VersionNotFound" "$(field old '"\(.status.phase) \(.status.reason)"')"
require "the programs of the older one" "$zoo_root/packaging/control-planes" "$oldest" --into "$TMPDIR/kubernetes"
require "a cluster of the newer one" ctl cluster create new --node kwok-2
phase_of_old() { phase_is old Initialized; }
eventually "the one of the older version comes up when it is built" 120 phase_of_old

# ---- each says its version ------------------------------------------------------------------------------------------

says_version() { in_cluster "$1" version -o json | jq -r .serverVersion.gitVersion; }
expect "the older one says its version" "v$oldest" "$(says_version old)"
expect "the newer one its" "v$newest" "$(says_version new)"
check "kubeconfigs for the direct doors" ctl cluster connect old --direct --kubeconfig-file "$TMPDIR/old.kubeconfig"
check "of both" ctl cluster connect new --direct --kubeconfig-file "$TMPDIR/new.kubeconfig"
expect "they lead to the same" "v$oldest v$newest" \
  "$(for name in old new; do "$KUBECTL" --kubeconfig "$TMPDIR/$name.kubeconfig" version -o json | jq -r .serverVersion.gitVersion; done | paste -sd ' ')"
expect "zooctl shows them" "new $newest
old $oldest" "$(ctl cluster list -o json | jq -r '.items[] | "\(.metadata.name) \(.status.version)"' | sort)"
expect_match "in its table, too" "^old +[a-z0-9]{6} +Initialized +$oldest " "$(ctl cluster get old)"
program_of() { dirname "$(readlink -f "/proc/$(component_pid "$1" "$2")/exe")"; }
for component in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  expect "$component is of that version" other "$([[ $(program_of old "$component") != "$(program_of new "$component")" ]] && echo other)"
done

# ---- each has nodes, pods, Services -----------------------------------------------------------------------------------

addresses='[.spec.clusterIP, .spec.clusterIPs, .spec.ipFamilies, .spec.ipFamilyPolicy, (.spec.ports | map([.port, .targetPort, .nodePort]))]'
endpoints() { jq -c '[.items[].endpoints[]? | .addresses[]] | sort'; }
for name in old new; do
  id=$(cluster_id "$name")
  eventually "$name: both sides were read" 90 condition_is "$name" Synced "True Synced"
  eventually "$name: its nodes are there" 60 condition_is "$name" NodesReady "True Ready"
  check "$name: configuration" in_cluster "$name" create configmap settings --from-literal=colour=blue
  in_cluster "$name" apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example/nginx:1
          envFrom: [{configMapRef: {name: settings}}]
          resources: {requests: {cpu: 100m, memory: 64Mi}}
YAML
  check "$name: a Deployment is available" in_cluster "$name" wait --for=condition=Available deployment/web --timeout=90s
  expect "$name: its pods are upstream, Running" "Running Running" \
    "$(upstream get pods -n "$id-default" -l app=web -o json | jq -r '[.items[].status.phase] | join(" ")')"
  expect "$name: and what they name" blue "$(upstream get configmap -n "$id-default" settings -o json | jq -r .data.colour)"
  require "$name: a Service" in_cluster "$name" expose deployment web --type=NodePort --port=80 --target-port=8080
  expect "$name: has the same addresses and ports upstream" "$(in_cluster "$name" get service web -o json | jq -c "$addresses")" \
    "$(upstream get service -n "$id-default" web -o json | jq -c "$addresses")"
  pods() { in_cluster "$name" get pods -l app=web -o json | jq -c '[.items[].status.podIP] | sort'; }
  leads() { [[ $(upstream get endpointslices -n "$id-default" -l kubernetes.io/service-name=web -o json | endpoints) == "$(pods)" ]]; }
  eventually "$name: and leads to its pods" 60 leads
  check "$name: scaled" in_cluster "$name" scale deployment web --replicas=1
  fewer() { [[ $(upstream get pods -n "$id-default" -l app=web -o json | jq '.items | length') == 1 ]]; }
  eventually "$name: what is over goes upstream" 60 fewer
done

# ---- both outlive zood and the keeper ------------------------------------------------------------------------------------

check "another version is wished" "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" patch virtualcluster old --type merge -p "{\"spec\":{\"version\":\"$newest\"}}"
stays() { [[ $(field old .status.message) == "it stays at Kubernetes $oldest: make another cluster for $newest" ]]; }
eventually "that it stays is told" 30 stays
before=$(component_pids old)$(component_pids new)
stop_zood KILL
kill -KILL "$(keeper_pid)"
start_clusters
same_processes() { [[ $(component_pids old)$(component_pids new) == "$before" ]]; }
eventually "after zood and the keeper were killed the same processes run" 60 same_processes
expect "of the same versions" "v$oldest v$newest" "$(says_version old) $(says_version new)"
kill -KILL "$(component_pid old kube-apiserver)"
serves() { [[ $(says_version old) == "v$oldest" ]]; }
eventually "what is started anew is of its version" 60 serves
check "both go" ctl cluster delete old new --timeout 120s
expect "with all processes" "" "$(processes_in "$zood_dir/clusters")"
check "one without --kubernetes" ctl cluster create more --no-wait
chosen() { [[ $(field more .status.version) == "$newest" ]]; }
eventually "is of the newest" 30 chosen
check "which goes, too" ctl cluster delete more --timeout 120s
expect_no_match "zood took nothing for an error of its own" ' (error|critical) ' "$(grep -v 'cannot be told' "$zood_dir.log")"
