#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# step: all
# timeout: 600
# What pods use that really run, measured by Kubernetes' own metrics-server: `kubectl top` in a virtual cluster, and an autoscaler there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

meter=''
at_end() {
  ctl cluster delete t1 --ignore-not-found --timeout 60s >/dev/null 2>&1
  upstream delete apiservice v1beta1.metrics.k8s.io --ignore-not-found >/dev/null
  upstream delete service,endpointslice meter meter-1 -n kube-system --ignore-not-found >/dev/null
  upstream delete pod "other-$$" --ignore-not-found --wait=false >/dev/null
  if [[ -n $meter ]]; then kill "$meter" && wait "$meter" 2>/dev/null; fi
  end_keeper
}

# ---- the upstream's metrics-server ------------------------------------------------------------------------------------------

# Several minutes, once.
program=$(go_program "$zoo_root/tests/node/meter") || { failed "build metrics-server" <<<"see above"; exit 1; }
port=$(python3 -c 'import socket, sys; print(socket.create_server((sys.argv[1], 0)).getsockname()[1])' "$machine")
"$program" --kubeconfig "$ZOO_E2E_KUBECONFIG" --authentication-kubeconfig "$ZOO_E2E_KUBECONFIG" --authorization-kubeconfig "$ZOO_E2E_KUBECONFIG" \
  --bind-address "$machine" --secure-port "$port" --cert-dir "$TMPDIR/meter" --kubelet-insecure-tls --kubelet-preferred-address-types InternalIP \
  --metric-resolution 10s --kubelet-request-timeout 5s >"$TMPDIR/meter.log" 2>&1 &
meter=$!
service_to meter "$machine" "$port" | upstream apply -n kube-system -f - >/dev/null
metrics_api meter 443 | upstream apply -f - >/dev/null
require "metrics-server serves" upstream wait --for=condition=Available apiservice/v1beta1.metrics.k8s.io --timeout=90s

# ---- a cluster whose pods work ------------------------------------------------------------------------------------------------

start_clusters
require "a cluster with both nodes" ctl cluster create t1 --node node-1 --node node-2 --dns none
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
eventually "it is in step" 60 condition_is t1 Synced "True Synced"
check "somebody else's pod" upstream run "other-$$" --image="$busybox" --restart=Never -- sh -c 'while :; do :; done'
check "a Deployment that computes" as t1 apply -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "$busybox", command: [sh, -c, "while :; do :; done"], resources: {requests: {cpu: 50m}, limits: {cpu: 100m}}}]
YAML
check "it runs" as t1 rollout status deployment/web --timeout=90s
# used KIND [ARGUMENTS...]: "NAME MILLICORES MEBIBYTES", a line each.
used() { as t1 top "$@" --no-headers 2>/dev/null | awk '{ print $1, $2 + 0, $(NF == 3 ? 3 : 4) + 0 }'; }
computes() { used pods | awk '$1 ~ /^web-/ && $2 >= 60 && $2 <= 130 { found = 1 } END { exit !found }'; }
eventually "top shows what it uses" 90 computes
expect "and nobody else's pod" 1 "$(used pods -A | wc -l)"
expect "on two nodes" "node-1 node-2" "$(used nodes | cut -d' ' -f1 | sort | xargs)"
its_own() { used nodes | awk '{ sum += $2 } END { exit !(sum >= 60 && sum <= 130) }'; }
eventually "which show what it uses, and not what others do" 30 its_own

check "an autoscaler" as t1 autoscale deployment web --min 1 --max 2 --cpu=50%
scaled() { [[ $(as t1 get deployment web -o 'jsonpath={.status.readyReplicas}') == 2 ]]; }
eventually "makes it two" 120 scaled
