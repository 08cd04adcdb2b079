#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 900
# Clients that nobody wrote for virtual clusters, in two of them at once, on fake nodes: Helm 4 with a chart that has a definition, a
# namespace and webhooks; a controller-runtime operator with definitions, finalizers and a Lease, as an administrator and as a
# ServiceAccount; informers of every make while their connections are cut. The kinds and names are the same in both.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"
. "$(dirname "$0")/clients/lib.sh"

own_upstream --nodes 2
at_end() { end_keeper; }
start_clusters
for name in t1 t2; do
  require "virtual cluster $name" ctl cluster create "$name" --node kwok-1 --node kwok-2 --dns none
  check "its kubeconfig" ctl cluster connect "$name" --kubeconfig-file "$TMPDIR/$name.kubeconfig"
done
for name in t1 t2; do eventually "$name is in step" 90 condition_is "$name" Synced "True Synced"; done

# ---- Helm -----------------------------------------------------------------------------------------------------------------

helm=$(go_program "$zoo_root/packaging/helm") || { failed "build helm" <<<"see above"; exit 1; }
chart=$zoo_root/tests/e2e/chart
# Without its hook: that is a Job, and fake nodes end only pods that have a Job for their owner, which copies upstream have not. On real
# ones hooks run (tests/node/virtual_operators.sh).
options=(--no-hooks --wait --timeout 90s)
h() { # CLUSTER ARGUMENTS...
  local state=$TMPDIR/helm-$1
  KUBECONFIG=$TMPDIR/$1.kubeconfig HELM_CACHE_HOME=$state HELM_CONFIG_HOME=$state HELM_DATA_HOME=$state "$helm" "${@:2}"
}
pods_there() { upstream get pods -n "$(cluster_id "$1")-default" -l app=web -o json | jq '[.items[] | select(.metadata.deletionTimestamp == null and .status.phase == "Running")] | length'; }
for name in t1 t2; do
  check "helm install in $name" h "$name" install web "$chart" --set admission=true "${options[@]}"
  expect "its object" 1 "$(as "$name" get widget web -o 'jsonpath={.spec.size}')"
  expect "its pod runs upstream" 1 "$(pods_there "$name")"
done
check "helm upgrade" h t1 upgrade web "$chart" --set admission=true,greeting=bye,level=restricted,replicas=2 "${options[@]}"
expect "changes the object" 2 "$(as t1 get widget web -o 'jsonpath={.spec.size}')"
expect "and the pods" 2 "$(pods_there t1)"
expect "the level of its namespace is the cluster's" restricted "$(as t1 get namespace web-space -o json | jq -r '.metadata.labels["pod-security.kubernetes.io/enforce"]')"
check "once more changes nothing" h t1 upgrade web "$chart" --set admission=true,greeting=bye,level=restricted,replicas=2 "${options[@]}"
check "helm rollback" h t1 rollback web 1 "${options[@]}"
expect "brings back the first" hello "$(as t1 get configmap web -o 'jsonpath={.data.greeting}')"
check "helm uninstall" h t1 uninstall web "${options[@]}"
check_fails "takes its role away" 'not found' as t1 get role web
none_there() { [[ $(pods_there t1) == 0 ]]; }
eventually "and its pods upstream" 60 none_there
expect "the other cluster's release is as it was" "deployed 1" "$(h t2 status web -o json | jq -r .info.status) $(pods_there t2)"
check "and goes" h t2 uninstall web "${options[@]}"

# ---- client-go ---------------------------------------------------------------------------------------------------------------

zoo_in_clusters=1
run_clients_as "the operator" TestOperator t1 t2
require "two more, for what the operator has defined" ctl cluster delete t1 t2 --timeout 120s
for name in t1 t2; do
  require "virtual cluster $name" ctl cluster create "$name" --dns none
  check "its kubeconfig" ctl cluster connect "$name" --kubeconfig-file "$TMPDIR/$name.kubeconfig"
done
run_clients_as "informers" TestInformers t1 t2
check "the clusters go" ctl cluster delete t1 t2 --timeout 120s
