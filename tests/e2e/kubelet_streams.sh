#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway upstream http net
# alone
# timeout: 1200
# Streams through zood by real clients: exec, attach, port-forward, logs and cp, over WebSocket and SPDY, to a stand-in for
# a kubelet (streams/) with the streaming server of the container runtimes' own library; readers that stop, streams that
# are silent, and a thousand at once. With ZOO_IDLE=65m silent ones for so long and nothing else, by zood's own limits.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

streams=$(go_program "$zoo_root/tests/e2e/streams") || { failed "build the stand-in" <<<"see above"; exit 1; }
ulimit -n "$(ulimit -Hn)"
# So short that a stream which is silent for a moment would feel it.
limits="limits: {idle_timeout: 1s, long_running: $((${ZOO_STREAMS:-1000} + 100))}"
[[ -n ${ZOO_IDLE:-} ]] && limits=''
start_zood_with "$limits"
new_tenant id
node=streams-$id
"$streams" kubelet --kubeconfig "$ZOO_E2E_KUBECONFIG" --node "$node" >"$TMPDIR/kubelet.log" 2>&1 &
kubelet_pid=$!
at_end() {
  kill "$kubelet_pid" 2>/dev/null && wait "$kubelet_pid"
  upstream delete node "$node" --ignore-not-found >/dev/null 2>&1
}
zood_rss() { awk '/^VmRSS/ { print $2 " KiB" }' "/proc/${zood_pids[$zood_dir]}/status"; }
case_of() { # CASE ARGUMENTS...
  local which=$1
  shift
  "$streams" "$which" --kubeconfig "$TMPDIR/$id.kubeconfig" --pod p --pid "${zood_pids[$zood_dir]}" "$@"
}

require "a pod on its node" as "$id" apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector: {kubernetes.io/hostname: $node}
  tolerations: [{operator: Exists}]
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: none.test/c, stdin: true}, {name: large-3000000, image: none.test/c}, {name: busy, image: none.test/c}]
YAML
require "runs" as "$id" wait --for=condition=Ready pod/p --timeout 60s

if [[ -n ${ZOO_IDLE:-} ]]; then
  # Who does not say for how long is told to begin again within the hour, by kube-apiserver too.
  "$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" get --raw '/api/v1/configmaps?watch=1&timeoutSeconds=36000' >"$TMPDIR/watched" 2>&1 &
  watch=$!
  check "streams are silent for $ZOO_IDLE" case_of idle --for "$ZOO_IDLE"
  check "a watch was, too" kill -0 "$watch"
  check "something comes" as "$id" create configmap at-last
  eventually "and is seen" 30 grep -q at-last "$TMPDIR/watched"
  check "delete tenant $id" ctl tenant delete "$id" --wait
  exit
fi

# ---- by kubectl, over what it speaks by default (WebSocket) and over what it spoke before (SPDY)
seq 1 400000 >"$TMPDIR/numbers"
numbers=$(sha256sum <"$TMPDIR/numbers")
upstream_port=$(upstream config view -o 'jsonpath={.clusters[0].cluster.server}' | sed 's/.*://')
forwards() { # by this machine's own upstream, which is in the pod too
  "$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" port-forward pod/p ":$upstream_port" >"$TMPDIR/forward.out" 2>&1 &
  local pid=$! port=''
  for _ in $(seq 100); do
    port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$TMPDIR/forward.out")
    [[ -n $port ]] && break
    sleep 0.1
  done
  curl -ks --max-time 20 "https://127.0.0.1:$port/version" | jq -r .major
  kill "$pid" && wait "$pid"
}
for websockets in true false; do
  export KUBECTL_REMOTE_COMMAND_WEBSOCKETS=$websockets KUBECTL_PORT_FORWARD_WEBSOCKETS=$websockets
  how=$([[ $websockets == true ]] && echo WebSocket || echo SPDY)
  expect "$how: exec" "out" "$(as "$id" exec p -c c -- sh -c 'echo out; echo err >&2' 2>/dev/null)"
  expect "$how: its errors apart" "err" "$(as "$id" exec p -c c -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)"
  check_status "$how: its status" 7 as "$id" exec p -c c -- sh -c 'exit 7'
  expect "$how: input, and its end" 5 "$(printf 12345 | as "$id" exec -i p -c c -- wc -c | xargs)"
  expect "$how: much of it, both ways" "$numbers" "$(as "$id" exec -i p -c c -- cat <"$TMPDIR/numbers" | sha256sum)"
  expect "$how: attach" "attached to c|text" "$(echo text | as "$id" attach -i p -c c 2>/dev/null | paste -sd'|')"
  check "$how: cp there" as "$id" cp -c c "$TMPDIR/numbers" "p:$TMPDIR/copied-$how"
  check "$how: whole" cmp "$TMPDIR/numbers" "$TMPDIR/copied-$how"
  check "$how: and back" as "$id" cp -c c "p:$TMPDIR/copied-$how" "$TMPDIR/back-$how"
  check "$how: whole again" cmp "$TMPDIR/numbers" "$TMPDIR/back-$how"
  expect "$how: port-forward" 1 "$(forwards)"
done
unset KUBECTL_REMOTE_COMMAND_WEBSOCKETS KUBECTL_PORT_FORWARD_WEBSOCKETS
counted() { ctl audit "$id" -o json | jq -e '[.items[] | select(.subresource == "exec" and .requestBytes > 2600000 and .responseBytes > 2600000)] | length >= 2' >/dev/null; }
eventually "what went through tunnels is in the audit log, both ways" 30 counted
check_fails "a pod that is none" 'pods "nobody" not found' as "$id" exec nobody -- true
check_fails "a container that is none" 'container.*not|not valid|not found' as "$id" exec p -c nobody -- true

# Who does not upgrade the connection has words of its own.
unpack "$id"
refused=$(curl -sS --http1.1 --max-time 30 --cacert "$TMPDIR/$id.ca" --cert "$TMPDIR/$id.crt" --key "$TMPDIR/$id.key" -X POST \
  -H 'Connection: Upgrade' -H 'Upgrade: SPDY/3.1' -H 'X-Stream-Protocol-Version: v4.channel.k8s.io' -w ' %{http_code}' \
  "https://$zood_address/api/v1/namespaces/default/pods/p/exec?container=busy&command=true&stdout=true")
expect "an answer without an upgrade comes through" '{"error":"default is busy"} 409' "$refused"

# ---- logs
expect "logs" "line 0 of c|line 1 of c|line 2 of c" "$(as "$id" logs p -c c | paste -sd'|')"
expect "large ones" 3000320 "$(as "$id" logs p -c large-3000000 | wc -c)"
"$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" logs -f p -c c >"$TMPDIR/follow.out" 2>&1 &
follow=$!
eventually "logs -f come as they are written" 30 grep -q 'line 5' "$TMPDIR/follow.out"
kill "$follow" && wait "$follow" 2>/dev/null

# ---- by client-go, over both
check "a terminal, resized" case_of terminal
check "the end of the input is seen, and the output still comes" case_of half-close
check "ports: much data both ways, and half-closed" case_of ports
check "silent streams outlive the limit for idle connections" case_of idle

# ---- who may
new_tenant other
check_fails "nobody else reaches it" 'pods "p" not found' as "$other" exec p -- true
check_fails "nor by its name upstream" 'not found|forbidden' as "$other" -n "$id-default" exec p -c c -- true
check "a user without rights" as "$id" create serviceaccount robot
robot=system:serviceaccount:default:robot
check_fails "cannot execute" 'forbidden' as "$id" exec p -c c --as $robot -- true
check "a role for it" as "$id" create role executor --verb=get,create --resource=pods,pods/exec
check "is bound" as "$id" create rolebinding executor --role=executor --serviceaccount=default:robot
eventually "and counts" 30 as "$id" exec p -c c --as $robot -- true
check_fails "for nothing else" 'pods/portforward' as "$id" port-forward pod/p ":$upstream_port" --as $robot

# ---- readers that stop, and many
stopped() {
  case_of stalled >"$TMPDIR/stalled.out" 2>&1
  local status=$?
  cat "$TMPDIR/stalled.out"
  return $status
}
check "a reader that stops costs nobody else anything" stopped
note "$(paste -sd';' "$TMPDIR/stalled.out"); memory: $(zood_rss)"
crowd() {
  case_of many --count "${ZOO_STREAMS:-1000}" >"$TMPDIR/many.out" 2>&1
  local status=$?
  cat "$TMPDIR/many.out"
  return $status
}
check "a thousand sessions at once, at a bounded price" crowd
note "$(<"$TMPDIR/many.out")"
expect "and zood goes on" "out" "$(as "$id" exec p -c c -- echo out)"
check "delete the pod" as "$id" delete pod p --timeout 120s
for each in "$id" "$other"; do check "delete tenant $each" ctl tenant delete "$each" --wait; done
