#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway virtuals app
# nodes.visibility: a tenant sees all nodes, those that carry its pods, or none.
. "$(dirname "$0")/../e2e/lib.sh"

nodes() { as "$a" get "$1" -o 'jsonpath={.items[*].metadata.name}'; }
with() { # VISIBILITY: a zood that is told so
  stop_zood
  start_zood_with "nodes: {visibility: $1}"
  [[ -z ${a:-} ]] || export_kubeconfig "$a"
}
with all
new_tenant a
every=$(upstream get nodes -o 'jsonpath={.items[*].metadata.name}')
expect "all" "$every" "$(nodes nodes)"
check "a pod of its own" as "$a" create deployment one --image=none
eventually "runs somewhere" 60 bash -c "'$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' get pods -o 'jsonpath={.items[0].spec.nodeName}' | grep ."
home=$(as "$a" get pods -o 'jsonpath={.items[0].spec.nodeName}')
with own
expect "own: the one that carries its pod" "$home" "$(nodes nodes)"
expect_match "as a table" "^$home " "$(as "$a" get nodes --no-headers)"
check "get it" as "$a" get node "$home"
for other in $every; do
  [[ $other == "$home" ]] || check_fails "$other is not found" 'not found' as "$a" get node "$other"
done
expect_no_match "nor its CSINode" "kwok" "$(as "$a" get csinodes -o name | grep -v "/$home\$")"
# A watch tells what becomes of them.
other=$(xargs -n 1 <<<"$every" | grep -vx "$home" | head -n 1)
version=$(as "$a" get --raw /api/v1/nodes | jq -r .metadata.resourceVersion)
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get --raw "/api/v1/nodes?watch=1&resourceVersion=$version&timeoutSeconds=300" >"$TMPDIR/watched" 2>&1 &
watching=$!
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get nodes -w --output-watch-events --no-headers >"$TMPDIR/table" 2>&1 &
tables=$!
told() { jq -r '.type + " " + .object.metadata.name' "$TMPDIR/watched" | says_line -x "$1 $2"; }
pod() { printf '{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {nodeName: %s, containers: [{name: c, image: none}]}}' "$1" "$2"; }
eventually "a Table watch begins" 30 grep -q "^ADDED *$home" "$TMPDIR/table"
check "a pod comes to another node" upstream -n "$a-default" create -f - <<<"$(pod two "$other")"
eventually "who watches hears of that node" 30 told ADDED "$other"
eventually "as a Table" 30 grep -q "^ADDED *$other" "$TMPDIR/table"
expect "the whole of it" "$other" "$(jq -r 'select(.type == "ADDED") | .object.metadata.labels["kubernetes.io/hostname"] // .object.metadata.name' "$TMPDIR/watched" | xargs)"
check "the node changes" upstream annotate node "$other" "seen-by-$a=yes"
eventually "which is told too" 30 told MODIFIED "$other"
check "and the pod goes" upstream -n "$a-default" delete pod two --force --grace-period=0
eventually "and with it the node" 30 told DELETED "$other"
eventually "as a Table too" 30 grep -q "^DELETED *$other" "$TMPDIR/table"
check "the node is as it was" upstream annotate node "$other" "seen-by-$a-"
check "the others are still told of" upstream annotate node "$home" "seen-by-$a=yes"
eventually "in order" 30 told MODIFIED "$home"
check "and as they were" upstream annotate node "$home" "seen-by-$a-"
kill "$watching" "$tables"
wait "$watching" "$tables" 2>/dev/null
expect "nothing is told of a node that carries none" "" "$(jq -r 'select(.type == "DELETED" or .type == "MODIFIED") | .type + " " + .object.metadata.name' "$TMPDIR/watched" | sed -n "/^DELETED $other\$/,\$p" | tail -n +2 | grep "$other")"
with none
expect "none" "" "$(nodes nodes)"
check_fails "not even that one" 'not found' as "$a" get node "$home"
check "the tenant goes" ctl tenant delete "$a" --wait
