#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 300
# tests/node/up itself: a second cluster beside the first, and nothing of one is left on the machine, however it ends.
. "$(dirname "$0")/lib.sh"

nodes=$zoo_root/tests/node/up
at_end() { "$nodes" stop --dir "$TMPDIR/c"; }
# left: what there is of the cluster in $TMPDIR/c with that $number. It fails when there is something.
left() {
  {
    pgrep -af -- "$TMPDIR/c[ /]" | grep -v pgrep
    ip -o link show "zoo-$number"
    ip route | grep -w "zoo-$number"
    find /sys/fs/cgroup -maxdepth 2 -name "zoo-$number-*"
    grep -F "$TMPDIR/c/" /proc/self/mounts
  } 2>/dev/null
}
nothing_left() { [[ -z $(left) ]] || { left; return 1; }; }
kubeconfig=$TMPDIR/c/upstream/admin.kubeconfig
of() { "$KUBECTL" --kubeconfig "$kubeconfig" "$@"; }
run_one() {
  of run one --image="$busybox" --restart=Never -- echo it runs &&
    of wait --for='jsonpath={.status.phase}'=Succeeded pod/one --timeout=90s
}

# ---- beside the other cluster, and stopped
require "a cluster starts beside that of the other scripts" "$nodes" start --dir "$TMPDIR/c" --nodes 1
number=$(<"$TMPDIR/c/run/number")
check "it runs pods" run_one
expect "to their end" "it runs" "$(of logs one)"
check_status "it is not started twice" 73 "$nodes" start --dir "$TMPDIR/c" --nodes 1
expect "and has its own nodes" node-1 "$(of get nodes -o 'jsonpath={.items[*].metadata.name}')"
expect "which a command can enter" node-1 "$("$nodes" enter --dir "$TMPDIR/c" hostname)"
check_fails "there is something to be removed" . nothing_left
check "it stops" "$nodes" stop --dir "$TMPDIR/c"
check "nothing is left" nothing_left
check "stopping once more does no harm" "$nodes" stop --dir "$TMPDIR/c"

# ---- the process that it hangs on is killed
require "it starts again" "$nodes" start --dir "$TMPDIR/c" --nodes 1
number=$(<"$TMPDIR/c/run/number")
kill -KILL "$(head -n 1 "$TMPDIR/c/run/keeper.pid")"
interface_gone() { ! ip link show "zoo-$number"; }
eventually "when its keeper is killed, the kernel ends the nodes" 30 interface_gone
check "stop removes the rest" "$nodes" stop --dir "$TMPDIR/c"
check "then nothing is left" nothing_left

# ---- the start is killed before it is done
rm -f "$TMPDIR/c/run/number"
"$nodes" start --dir "$TMPDIR/c" --nodes 1 >"$TMPDIR/start.log" 2>&1 &
starting=$!
node_runs() { [[ -s $TMPDIR/c/run/node-1.pid ]]; }
eventually "a node comes" 60 node_runs
number=$(<"$TMPDIR/c/run/number")
check "the start is killed" kill -KILL "$starting"
wait "$starting" 2>/dev/null
eventually "then all that it had started goes" 60 nothing_left
