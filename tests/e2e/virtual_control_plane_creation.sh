#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters keeper app packaging
# timeout: 300
# Virtual Control Plane Creation: the first test case of the Kosmos proposal, through the CustomResourceDefinition of the
# upstream. A VirtualCluster is applied there with kubectl; its phase goes to Initialized, and spec.kubeconfig works.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream
at_end() { end_keeper; }
zoo_clusters_crd=true
start_clusters
served() { upstream get virtualclusters; }
eventually "zood installs the definition" 60 served

order=$TMPDIR/order.yaml
cat >"$order" <<'YAML'
apiVersion: kosmos.io/v1alpha1
kind: VirtualCluster
metadata:
  name: tenant1-cluster
spec:
  kubeconfig: XXXXXX
  promoteResources:
    nodes:
      - node1
      - node2
    resources:
      cpu: 10
      memory: 100Gi
YAML
require "step 1: the object is applied" upstream apply -f "$order"
require "step 2: its phase goes to Initialized" upstream wait virtualcluster/tenant1-cluster --for=jsonpath='{.status.phase}'=Initialized --timeout=120s
of() { upstream get virtualcluster tenant1-cluster -o json | jq -r "$1"; }
of .spec.kubeconfig | base64 -d >"$TMPDIR/tenant1.kubeconfig"
tenant() { "$KUBECTL" --kubeconfig "$TMPDIR/tenant1.kubeconfig" "$@"; }
require "step 3: spec.kubeconfig works at once" tenant get --raw /readyz
check "its user may all" tenant create namespace mine
expect "etcd, kube-apiserver, kube-controller-manager and kube-scheduler run" 4 "$(of '[.status.components[] | select(.phase == "running")] | length')"
lacks_nodes() { [[ $(of '.status.conditions[] | select(.type == "NodesReady") | "\(.status) \(.reason)"') == "False NodeNotFound" ]]; }
eventually "that the upstream has no such nodes is said" 60 lacks_nodes
expect "the upstream itself has no such namespace" "" "$(upstream get namespace mine -o name --ignore-not-found)"

before=$(of .spec.kubeconfig)
check "the same object applied again" upstream apply -f "$order"
check "with kubectl replace, which writes XXXXXX over it" upstream patch virtualcluster tenant1-cluster --type merge -p '{"spec":{"kubeconfig":"XXXXXX"}}'
back() { [[ $(of .spec.kubeconfig) == "$before" ]]; }
eventually "the kubeconfig comes back" 30 back
expect "the phase has stayed" Initialized "$(of .status.phase)"
expect_match "zooctl shows it" '^tenant1-cluster +[a-z0-9]{6} +Initialized ' "$(ctl cluster list)"
check_fails "and says where it is changed" 'ordered by an object of the upstream' ctl cluster pause tenant1-cluster --no-wait
check "kubectl pauses it" upstream patch virtualcluster tenant1-cluster --type merge -p '{"spec":{"paused":true}}'
check "upstream is told" upstream wait virtualcluster/tenant1-cluster --for=jsonpath='{.status.phase}'=Paused --timeout=60s
check "and starts it" upstream patch virtualcluster tenant1-cluster --type merge -p '{"spec":{"paused":false}}'
check "again" upstream wait virtualcluster/tenant1-cluster --for=jsonpath='{.status.phase}'=Initialized --timeout=60s
check "with what was in it" tenant get namespace mine

upstream apply -f - >/dev/null <<'YAML'
apiVersion: kosmos.io/v1alpha1
kind: VirtualCluster
metadata: {name: wrong}
spec: {version: latest}
YAML
check "an order that makes no sense is told so" upstream wait virtualcluster/wrong --for=jsonpath='{.status.reason}'=Invalid --timeout=30s
check "and goes" upstream delete virtualcluster wrong --timeout=30s
require "a name of the admin API's" ctl cluster create taken --no-wait
upstream apply -f - >/dev/null <<'YAML'
apiVersion: kosmos.io/v1alpha1
kind: VirtualCluster
metadata: {name: taken}
spec: {}
YAML
check "is not given away" upstream wait virtualcluster/taken --for=jsonpath='{.status.reason}'=NameTaken --timeout=30s
check "until it is free" ctl cluster delete taken
check "then it is" upstream wait virtualcluster/taken --for=jsonpath='{.status.phase}'=Initialized --timeout=120s
check "deleted with zooctl it goes on both sides" ctl cluster delete taken
gone() { [[ -z $(upstream get virtualcluster taken -o name --ignore-not-found) ]]; }
eventually "upstream, too" 30 gone
id=$(cluster_id tenant1-cluster)
check "deleted upstream, too" upstream delete virtualcluster tenant1-cluster --timeout=60s
expect "nothing is left of it" "" "$(processes_in "$zood_dir/clusters/$id")$(find "$zood_dir/clusters" -mindepth 1 -maxdepth 1 -type d)"
expect "not even in zood's list" "" "$(ctl cluster list -o name)"
