#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters gateway net http
# timeout: 240
# What the API server of a virtual cluster asks of the outside, through its egress door: logs, exec, attach and port-forward of a pod
# whose copy runs upstream, on a stand-in for a kubelet (streams/), and a webhook by URL at a place that is opened.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

streams=$(go_program "$zoo_root/tests/e2e/streams") || { failed "build the stand-in" <<<"see above"; exit 1; }
kubelet_pid='' hook_pid='' id='' node=streams-$(random_id)
at_end() {
  local each
  for each in $kubelet_pid $hook_pid; do kill "$each" 2>/dev/null && wait "$each"; done
  [[ -z $id ]] || upstream delete namespace "$id-default" --ignore-not-found --wait=false >/dev/null 2>&1
  upstream delete node "$node" --ignore-not-found >/dev/null 2>&1
  end_keeper
}
hook_server
start_clusters "  egress_allow: [\"127.0.0.1:$hook_port\"]"
require "a virtual cluster" ctl cluster create t1
id=$(cluster_id t1)
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
expect "its door is its own" 600 "$(stat -c %a "$zood_dir/clusters/$id/egress.sock")"

# ---- a pod, and its copy upstream ----------------------------------------------------------------------------------

"$streams" kubelet --kubeconfig "$ZOO_E2E_KUBECONFIG" --node "$node" >"$TMPDIR/kubelet.log" 2>&1 &
kubelet_pid=$!
as t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Node
metadata: {name: n1}
YAML
check "a Node with an address of nobody's" as t1 patch node n1 --subresource=status --type merge \
  -p '{"status":{"addresses":[{"type":"InternalIP","address":"10.9.8.7"}]}}'
pod_in_cluster() { # NAME
  as t1 apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  nodeName: n1
  containers: [{name: c, image: none.test/c, stdin: true}]
YAML
  as t1 patch pod "$1" --subresource=status --type merge -p '{"status":{"phase":"Running"}}' >/dev/null
}
uid_of() { as t1 get pod "$1" -o 'jsonpath={.metadata.uid}'; }
pod_upstream() { # NAME UID
  upstream apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: $id-default, annotations: {clusters.zoo.kubezoo.io/uid: "$2"}}
spec:
  nodeSelector: {kubernetes.io/hostname: $node}
  tolerations: [{operator: Exists}]
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: none.test/c, stdin: true}]
YAML
}
room() { # as zood makes it for its tenants
  upstream apply -f - <<YAML && upstream wait --for=create serviceaccount/default --namespace "$id-default" --timeout=30s
apiVersion: v1
kind: Namespace
metadata: {name: $id-default, labels: {tenant.kubezoo.io/id: $id}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: zoo-tenant, namespace: $id-default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "zoo:tenant"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "zoo:$id"}]
YAML
}
require "its room upstream" room
require "a pod in it" pod_in_cluster p
require "whose copy is upstream" pod_upstream p "$(uid_of p)"
require "and runs" upstream wait --for=condition=Ready pod/p --namespace "$id-default" --timeout=60s

seq 1 200000 >"$TMPDIR/numbers"
numbers=$(sha256sum <"$TMPDIR/numbers")
upstream_port=$(upstream config view -o 'jsonpath={.clusters[0].cluster.server}' | sed 's/.*://')
forwards() { # by this machine's own upstream, which is in the pod too
  "$KUBECTL" --kubeconfig "$TMPDIR/t1.kubeconfig" port-forward pod/p ":$upstream_port" >"$TMPDIR/forward.out" 2>&1 &
  local pid=$!
  eventually "port-forward listens" 30 grep -q '^Forwarding from 127.0.0.1' "$TMPDIR/forward.out" >&2
  curl -ks --max-time 20 "https://127.0.0.1:$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$TMPDIR/forward.out")/version" | jq -r .major
  kill "$pid" && wait "$pid"
}
expect "logs" "line 0 of c|line 1 of c|line 2 of c" "$(as t1 logs p -c c 2>&1 | paste -sd'|')"
for websockets in true false; do
  export KUBECTL_REMOTE_COMMAND_WEBSOCKETS=$websockets KUBECTL_PORT_FORWARD_WEBSOCKETS=$websockets
  how=$([[ $websockets == true ]] && echo WebSocket || echo SPDY)
  expect "$how: exec" "out" "$(as t1 exec p -c c -- sh -c 'echo out; echo err >&2' 2>/dev/null)"
  expect "$how: its errors apart" "err" "$(as t1 exec p -c c -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)"
  check_status "$how: its status" 7 as t1 exec p -c c -- sh -c 'exit 7'
  expect "$how: input, and its end" 5 "$(printf 12345 | as t1 exec -i p -c c -- wc -c | xargs)"
  expect "$how: much of it, both ways" "$numbers" "$(as t1 exec -i p -c c -- cat <"$TMPDIR/numbers" | sha256sum)"
  expect "$how: attach" "attached to c|text" "$(echo text | as t1 attach -i p -c c 2>/dev/null | paste -sd'|')"
  expect "$how: port-forward" 1 "$(forwards)"
done
unset KUBECTL_REMOTE_COMMAND_WEBSOCKETS KUBECTL_PORT_FORWARD_WEBSOCKETS
"$KUBECTL" --kubeconfig "$TMPDIR/t1.kubeconfig" logs -f p -c c >"$TMPDIR/follow.out" 2>&1 &
follow=$!
eventually "logs -f come as they are written" 30 grep -q 'line 5' "$TMPDIR/follow.out"
kill "$follow" && wait "$follow" 2>/dev/null
expect_match "the audit log has it" 'kube-apiserver' "$(ctl audit "$id" -o json 2>&1 | jq -c '.items[] | select(.subresource == "exec") | .user' | sort -u)"

# ---- what is no pod of the cluster's -------------------------------------------------------------------------------

check "a pod that is not upstream" pod_in_cluster alone
check_fails "says so" 'not there upstream' as t1 logs alone -c c
check_fails "by exec, too" 'not there upstream' as t1 exec alone -c c -- true
check "a pod of a name that somebody has upstream" pod_in_cluster other
check "who is another one" pod_upstream other 00000000-0000-0000-0000-000000000000
check "and runs" upstream wait --for=condition=Ready pod/other --namespace "$id-default" --timeout=60s
check_fails "is not reached" 'is not this pod' as t1 logs other -c c
check_fails "by exec, either" 'is not this pod' as t1 exec other -c c -- true
kubelet() { as t1 get --raw "/api/v1/nodes/n1/proxy$1"; }
expect "a Node's pods are the cluster's own" "alone other p" "$(kubelet /pods | jq -r '.items[].metadata.name' | sort | xargs)"
expect "those that run" "alone other p" "$(kubelet /runningpods/ | jq -r '.items[].metadata.name' | sort | xargs)"
expect "and its logs" "line 0 of c" "$(kubelet /containerLogs/default/p/c | head -n 1)"
expect "it is healthy" ok "$(kubelet /healthz)"
check_fails "another namespace has none" 'could not find' kubelet /containerLogs/kube-system/p/c
check_fails "nor another path" 'could not find' kubelet /configz
check_fails "nor a Node that is none" 'not found' as t1 get --raw /api/v1/nodes/n2/proxy/pods

# ---- the outside ---------------------------------------------------------------------------------------------------

hook() { # NAME URL AUTHORITY
  cat <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $1}
webhooks:
  - name: $1.hook.test
    clientConfig: {url: "$2", caBundle: $(base64 -w0 <"$3")}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: 5
YAML
}
check "a webhook by URL, at a place that is opened" as t1 apply -f <(hook open "https://127.0.0.1:$hook_port/no" "$TMPDIR/hook.crt")
says() { grep -qF -- "$1" <<<"$(as t1 create configmap asked --dry-run=server 2>&1)"; }
eventually "is asked" 30 says 'asked by the cluster'
check "and goes" as t1 delete validatingwebhookconfiguration open
unpack t1
check "one at zood.internal, which the cluster's authority proves" as t1 apply -f <(hook inside https://zood.internal/services "$TMPDIR/t1.ca")
eventually "is answered by zood" 30 says 'nothing of this virtual cluster is kept upstream'
check "and goes, too" as t1 delete validatingwebhookconfiguration inside

# ---- what comes and goes -------------------------------------------------------------------------------------------

check "certificates are made anew" ctl cluster certs rotate t1
has_logs() { as t1 logs p -c c; }
check "its kubeconfig, again" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
eventually "and logs still come" 60 has_logs
stop_zood
start_clusters "  egress_allow: [\"127.0.0.1:$hook_port\"]"
check "its kubeconfig, at another zood" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
eventually "through which logs come, too" 60 has_logs
expect_match "metrics count it" "zood_virtual_cluster_egress_total\{id=\"$id\"\} [1-9]" \
  "$(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics)"
check "a cluster is paused" ctl cluster pause t1
expect "and has no door" no "$([[ -e $zood_dir/clusters/$id/egress.sock ]] && echo yes || echo no)"
check "it goes" ctl cluster delete t1
