#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway translate
# step: verify
# Lists where upstream takes no position of zood's making: the same answers, read another way.
. "$(dirname "$0")/../e2e/lib.sh"

cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG, range_reads: "off"}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
new_tenant b
# Key order is not the order of namespaces: "team-b/..." comes before "team/...".
for space in team team-b; do check "namespace $space" as "$a" create namespace "$space"; done
for space in default team team-b; do
  for name in one three two; do check "$name in $space" as "$a" -n "$space" create configmap "$name"; done
done
check "the neighbour's" as "$b" -n default create configmap foreign

mine() { as "$a" get configmaps -A -l '!x' -o json "$@" | jq -r '.items[] | select(.metadata.namespace != "kube-system" and .metadata.name != "kube-root-ca.crt") | .metadata.namespace + "/" + .metadata.name' | xargs; }
nine="default/one default/three default/two team-b/one team-b/three team-b/two team/one team/three team/two"
whole=$(mine)
expect "all of its own, in key order" "$nine" "$whole"
for size in 1 2 4 100; do expect "the same in pages of $size" "$whole" "$(mine --chunk-size="$size")"; done
expect "one name in pages" "default/two team-b/two team/two" "$(mine --chunk-size=1 --field-selector metadata.name=two)"
# Events, whose versions may be of another etcd: all that upstream has of it, and at a version to go on from.
event() {
  as "$a" create -f - >/dev/null <<JSON
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "$2", "namespace": "$1"}, "type": "Normal",
 "reason": "Told", "message": "told", "involvedObject": {"kind": "Pod", "name": "none", "namespace": "$1"}}
JSON
}
events_of() { jq -r --arg prefix "$1" '.items[].metadata | select(.namespace | startswith($prefix)) | (.namespace | ltrimstr($prefix)) + "/" + .name + "@" + .resourceVersion' | xargs; }
for space in team-b team default; do check "an event in $space" event "$space" told; done
listed=$(as "$a" get --raw /api/v1/events)
version=$(jq -r .metadata.resourceVersion <<<"$listed")
events=$(upstream get --raw "/api/v1/events?resourceVersion=$version&resourceVersionMatch=Exact" | events_of "$a-")
expect "events are those that upstream has at that version" "$events" "$(events_of '' <<<"$listed")"
expect_match "an event of a moment ago is there" 'default/told@.* team-b/told@.* team/told@' "$events"
expect "the same list again at that version" "$events" "$(as "$a" get --raw "/api/v1/events?resourceVersion=$version&resourceVersionMatch=Exact" | events_of '')"
expect "a selector" team/two "$(mine --field-selector metadata.namespace=team,metadata.name=two)"
expect_match "a table" '^team +two ' "$(as "$a" get configmaps -A --no-headers)"
expect "nothing of nothing" "" "$(as "$a" get cronjobs -A -o name)"
expect_match "an empty table" 'No resources found' "$(as "$a" get cronjobs -A 2>&1)"
check "a cluster-scoped object" as "$a" create priorityclass high --value=10
check "and the neighbour's" as "$b" create priorityclass high --value=20
expect "each has its own" 10 "$(as "$a" get priorityclasses -o 'jsonpath={.items[*].value}')"
expect "in pages" 20 "$(as "$b" get priorityclasses --chunk-size=1 -o 'jsonpath={.items[*].value}')"
expect "namespaces" "default kube-node-lease kube-public kube-system team team-b" "$(as "$a" get namespaces -o 'jsonpath={.items[*].metadata.name}')"
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get configmaps -A -w -o name >"$TMPDIR/watch" 2>&1 &
watcher=$!
eventually "a watch begins with the list" 30 grep -q configmap/three "$TMPDIR/watch"
check "something new" as "$a" create configmap later
eventually "and goes on from it" 30 grep -q configmap/later "$TMPDIR/watch"
kill "$watcher" && wait "$watcher" 2>/dev/null
check "deletecollection" as "$a" delete priorityclasses --all
expect "reaches its own alone" 20 "$(as "$b" get priorityclasses -o 'jsonpath={.items[*].value}')"
expect_match "doctor tries what the upstream takes" "they begin at a tenant's first key" "$(ctl doctor 2>&1)"
check "the tenant goes" ctl tenant delete "$a" --wait
