#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
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
with none
expect "none" "" "$(nodes nodes)"
check_fails "not even that one" 'not found' as "$a" get node "$home"
check "the tenant goes" ctl tenant delete "$a" --wait
