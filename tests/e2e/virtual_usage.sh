#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# timeout: 600
# What pods use of cpu and memory, as a virtual cluster shows it where its upstream has a metrics API: `kubectl top`, and an autoscaler
# that acts by it. On fake nodes; a metrics API of the tests stands for a metrics-server.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 2
meter='' server=''
at_end() {
  local each
  for each in $meter $server; do kill "$each" 2>/dev/null && wait "$each" 2>/dev/null; done
  end_keeper
}

# ---- the upstream's metrics API -------------------------------------------------------------------------------------------

# Each pod with the label app=web uses 150m of cpu in each of its containers, each other one 5m.
measure() {
  upstream get pods -A -o json | jq '[.items[] | (if .metadata.labels.app == "web" then "150m" else "5m" end) as $cpu | {
    metadata: {name: .metadata.name, namespace: .metadata.namespace, labels: (.metadata.labels // {})},
    timestamp: (now | todate), window: "15s",
    containers: [.spec.containers[] | {name, usage: {cpu: $cpu, memory: "20Mi"}}]}]' >"$TMPDIR/usage.new" && mv "$TMPDIR/usage.new" "$TMPDIR/usage.json"
}
echo '[]' >"$TMPDIR/usage.json"
(while sleep 0.5; do measure; done) 2>/dev/null &
meter=$!
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=metrics \
  -keyout "$TMPDIR/metrics.key" -out "$TMPDIR/metrics.crt" 2>/dev/null
python3 -u "$zoo_root/tests/e2e/virtual/metrics.py" "$TMPDIR/metrics.crt" "$TMPDIR/metrics.key" "$TMPDIR/usage.json" >"$TMPDIR/metrics.port" 2>"$TMPDIR/metrics.log" &
server=$!
eventually "the upstream's metrics API listens" 30 test -s "$TMPDIR/metrics.port"
upstream create service externalname metrics -n kube-system --external-name localhost >/dev/null
metrics_api metrics "$(head -n 1 "$TMPDIR/metrics.port")" | upstream apply -f - >/dev/null
require "and is upstream's" upstream wait --for=condition=Available apiservice/v1beta1.metrics.k8s.io --timeout=60s

start_clusters 'shared: {groups: [metrics.k8s.io]}'
require "a cluster with a node by name" ctl cluster create t1 --node kwok-1 --dns none
require "another one, with a share" ctl cluster create t2 --cpu 4 --memory 4Gi --dns none
connect() { for each in t1 t2; do check "the kubeconfig of $each" ctl cluster connect "$each" --kubeconfig-file "$TMPDIR/$each.kubeconfig"; done; }
connect
for each in t1 t2; do
  eventually "$each is in step with the upstream" 90 condition_is "$each" Synced "True Synced"
done
id=$(cluster_id t1)

# ---- kubectl top ----------------------------------------------------------------------------------------------------------

check "each has the API" as t1 wait --for=create apiservice/v1beta1.metrics.k8s.io --timeout=60s
for each in t1 t2; do check "which is available in $each" as "$each" wait --for=condition=Available apiservice/v1beta1.metrics.k8s.io --timeout=90s; done
check "a namespace" as t1 create namespace side
check "a Deployment" as t1 apply -f - <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: registry.example/web, resources: {requests: {cpu: 100m}}}]}
YAML
check "a pod beside it" as t1 run db -n side --image=registry.example/db
check "one in the other cluster" as t2 run other --image=registry.example/other
check "one of the platform's on the same node" upstream run greedy --image=registry.example/x --overrides '{"spec":{"nodeName":"kwok-1"}}'
top() { as "$1" top "${@:2}" --no-headers 2>&1 | awk '{ $1 = $1; print }' | sed 's/web-[a-z0-9-]*/web-/' | sort; }
top_is() { [[ $(top "${@:2}") == "$1" ]]; }
eventually "top shows all of its pods" 60 top_is $'default web- 150m 20Mi\nside db 5m 20Mi' t1 pods -A
expect "those of a namespace" "web- 150m 20Mi" "$(top t1 pods)"
expect "those with a label" "web- 150m 20Mi" "$(top t1 pods -A -l app=web | cut -d' ' -f2-)"
expect "one by its name, with its containers" "db db 5m 20Mi" "$(top t1 pod db -n side --containers)"
expect_match "what is not there is not found" 'NotFound.*"default/none" not found' "$(top t1 pod none)"
eventually "the other cluster has its own" 30 top_is "default other 5m 20Mi" t2 pods -A
expect "a node shows what the cluster's own pods use" "kwok-1 155m" "$(top t1 nodes | cut -d' ' -f1,2)"
expect "and so does a share" "t2 5m" "$(top t2 nodes | cut -d' ' -f1,2)"
expect_match "labels are the pod's own" '^\{"app":"web","pod-template-hash":"[a-z0-9]*"\}$' \
  "$(as t1 get --raw '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb' | jq -c '.items[0].metadata.labels')"
check "somebody who may look at everything" as t1 create clusterrolebinding viewer --clusterrole=view --user=viewer
may_read() { [[ $(as t1 auth can-i list pods.metrics.k8s.io --as "$1" 2>/dev/null) == "$2" ]]; }
eventually "may look at this" 30 may_read viewer yes
check "and nobody else" may_read nobody no
check_fails "usage is not written" 'MethodNotAllowed|405|not allow' as t1 delete --raw /apis/metrics.k8s.io/v1beta1/namespaces/default/pods/x
check_fails "the Service behind it is not upstream" 'not found' upstream get service -n "$id-kube-system" zoo-metrics

# ---- an autoscaler -----------------------------------------------------------------------------------------------------------

check "an autoscaler" as t1 autoscale deployment web --min 1 --max 3 --cpu=50%
scaled() { [[ $(as t1 get deployment web -o 'jsonpath={.spec.replicas}') == 3 ]]; }
eventually "scales by what the pods use" 120 scaled
expect_match "and shows it" '^[0-9]+$' "$(as t1 get hpa web -o json | jq -r '.status.currentMetrics[0].resource.current.averageUtilization')"

# ---- tenants, to whom the platform shares the group -----------------------------------------------------------------------------

new_tenant tenant
check "a pod of a tenant" as "$tenant" run web --image=registry.example/web
eventually "is shown to it by top" 60 top_is "default web 5m 20Mi" "$tenant" pods -A

# ---- it goes, and comes back ---------------------------------------------------------------------------------------------------

# A metrics-server of the cluster's own stays where it is; what zood has made is made anew.
check "t1 has a metrics-server of its own" as t1 patch apiservice v1beta1.metrics.k8s.io --type merge -p '{"spec":{"service":{"name":"metrics-server"}}}'
check "t2 loses its API" as t2 delete apiservice v1beta1.metrics.k8s.io
stop_zood
start_clusters 'shared: {groups: [metrics.k8s.io]}'
connect
check "that of t2 comes back" as t2 wait --for=create apiservice/v1beta1.metrics.k8s.io --timeout=60s
has_nothing_to_do() { [[ $(backlog "$id") == 0 ]] && condition_is t1 Synced "True Synced"; }
eventually "nothing is left to be done for t1" 60 has_nothing_to_do
expect "whose own stays" metrics-server "$(as t1 get apiservice v1beta1.metrics.k8s.io -o 'jsonpath={.spec.service.name}')"
if [[ ${ZOO_STEP:-} == all ]]; then
  check "the upstream's goes" upstream delete apiservice v1beta1.metrics.k8s.io
  check "and with it that of t2" as t2 wait --for=delete apiservice/v1beta1.metrics.k8s.io --timeout=120s
  check_fails "and the Service behind it" 'not found' as t2 get service -n kube-system zoo-metrics
  expect "that of t1 is its own" metrics-server "$(as t1 get apiservice v1beta1.metrics.k8s.io -o 'jsonpath={.spec.service.name}')"
fi
