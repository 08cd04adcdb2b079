#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: virtuals gateway store
# timeout: 900
# Nodes and other kinds of the platform's: a tenant sees them read-only, and beside them stand its own, which zood keeps.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant first
new_tenant second
random=$RANDOM
mine=mine-$random shared=$(upstream get nodes -o name | head -n 1 | cut -d/ -f2)
[[ -n $shared ]] || skip "the upstream has no nodes"

node() { # NAME
  cat <<YAML
apiVersion: v1
kind: Node
metadata: {name: $1, labels: {of: tenant, node-role.kubernetes.io/edge: ""}}
spec: {unschedulable: true}
status: {conditions: [{type: Ready, status: "True", reason: Test}], addresses: [{type: InternalIP, address: 192.0.2.1}]}
YAML
}
names() { # ID ARGUMENTS...
  local id=$1
  shift
  # Those of kubelet_streams.sh come and go meanwhile.
  as "$id" get nodes -o 'jsonpath={.items[*].metadata.name}' "$@" | xargs -n 1 | grep -v '^streams-' | xargs
}
platforms=$(names "$second")

# ---- the tenant's own
raw_version=$(as "$first" get --raw /api/v1/nodes | jq -r .metadata.resourceVersion)
# From before on, however long it takes to begin.
as "$first" get --raw "/api/v1/nodes?watch=1&resourceVersion=$raw_version" >"$TMPDIR/watch.out" 2>&1 &
watch_pid=$!
check "create" as "$first" create -f - <<<"$(node "$mine")"
check_fails "twice" 'already exists' as "$first" create -f - <<<"$(node "$mine")"
expect "listed beside the platform's, in their order" "$(printf '%s\n' $platforms "$mine" | sort | xargs)" "$(names "$first")"
expect "nobody else's" "$platforms" "$(names "$second")"
expect "nor upstream's" "" "$(upstream get node "$mine" --ignore-not-found -o name)"
expect_match "a row as the others" "^$mine +Ready,SchedulingDisabled +edge +[0-9]+s +192.0.2.1" "$(as "$first" get nodes -o wide --no-headers 2>&1 | awk '{ print $1, $2, $3, $4, $5 }')"
expect "by label" "$mine" "$(names "$first" -l of=tenant)"
expect "by field" "$mine" "$(names "$first" --field-selector spec.unschedulable=true)"
expect "in pages" "$(names "$first")" "$(names "$first" --chunk-size 1)"
expect "as metadata" "$mine" "$(as "$first" get --raw '/api/v1/nodes?labelSelector=of%3Dtenant' | jq -r '.items[0].metadata.name')"
told() { (($(jq -c 'select(.object.metadata.name == "'"$mine"'")' "$TMPDIR/watch.out" | wc -l) >= $1)); }
eventually "a watch tells of it" 30 told 1
check "label" as "$first" label node "$mine" color=red
check "taint" as "$first" taint node "$mine" key=value:NoSchedule
check "cordon" as "$first" uncordon "$mine"
check "apply" as "$first" apply --server-side --force-conflicts -f - <<<"$(node "$mine")"
check "status" as "$first" patch node "$mine" --subresource status -p '{"status":{"conditions":[{"type":"Ready","status":"False"}]}}'
expect_match "is written" '^NotReady' "$(as "$first" get node "$mine" --no-headers | awk '{ print $2 }')"
check_fails "validation is upstream's" 'providerID|Invalid value|invalid|unknown field' as "$first" create --validate=strict -f - <<<"$(node "bad-$random" | sed 's/unschedulable: true/unschedulable: true, nonsense: 1/')"
version_of() { jq -r '.metadata.resourceVersion'; }
now=$(as "$first" get --raw /api/v1/nodes | version_of)
check "revisions are upstream's numbers, and grow" test "$(as "$first" get --raw "/api/v1/nodes/$mine" | version_of)" -le "$now" -a "$now" -gt "$raw_version"
events=$(as "$first" get --raw "/api/v1/nodes?watch=1&resourceVersion=$raw_version&timeoutSeconds=10&fieldSelector=metadata.name%3D$mine" | jq -r .type | xargs)
expect_match "a watch from before it tells all of it" '^ADDED( MODIFIED)+$' "$events"

# ---- the platform's
check_fails "a name that is taken" 'already exists' as "$first" create -f - <<<"$(node "$shared")"
check_fails "labels of the platform's nodes" 'ask the platform|select by a label' as "$first" label node "$shared" color=red
check_fails "taints" 'ask the platform' as "$first" taint node "$shared" key=value:NoSchedule
check_fails "deletion" 'ask the platform' as "$first" delete node "$shared"
check_fails "status" 'ask the platform' as "$first" patch node "$shared" --subresource status -p '{"status":{"phase":"Pending"}}'
check_fails "the kubelet" 'forbidden' as "$first" get --raw "/api/v1/nodes/$shared/proxy/pods"
check "deletecollection" as "$first" delete --raw /api/v1/nodes
expect "takes its own" "$platforms" "$(names "$first")"
expect "and no other" "node/$shared" "$(upstream get node "$shared" -o name)"
eventually "a watch tells" 30 told 3
kill "$watch_pid" && wait "$watch_pid" 2>/dev/null

# ---- the other kinds
own() { # KIND NAME SPEC
  check "create a $1" as "$first" create -f - <<<"$3"
  expect_match "see it" "/$2\$" "$(as "$first" get "$1" -o name)"
  expect_no_match "nobody else does" "/$2\$" "$(as "$second" get "$1" -o name)"
  expect "nor upstream" "" "$(upstream get "$1" "$2" --ignore-not-found -o name)"
  expect_match "its row" "^$2 " "$(as "$first" get "$1" "$2" --no-headers)"
  check "annotate" as "$first" annotate "$1" "$2" note=x
}
own csinodes "c-$random" "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: c-$random}, spec: {drivers: []}}"
own csidrivers "d-$random.example.com" "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d-$random.example.com}, spec: {attachRequired: false}}"
check_fails "what may not change" 'immutable' as "$first" patch csidriver "d-$random.example.com" --type merge -p '{"spec":{"attachRequired":true}}'
own volumeattachments "a-$random" "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a-$random}, spec: {attacher: example.com, nodeName: nowhere, source: {persistentVolumeName: none}}}"
check "its status" as "$first" patch volumeattachment "a-$random" --subresource status --type merge -p '{"status":{"attached":true}}'
own ipaddresses 255.255.255.254 "{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 255.255.255.254}, spec: {parentRef: {group: a.example, resource: things, namespace: foo, name: bar}}}"
check_fails "which is an address" 'must be' as "$first" create -f - <<<"{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: none}, spec: {parentRef: {resource: things, name: bar}}}"
own servicecidrs "s-$random" "{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: s-$random}, spec: {cidrs: [192.0.2.0/24]}}"
check_fails "the platform's own stays" 'ask the platform' as "$first" delete servicecidr kubernetes

# ---- a restart
check "one more" as "$first" create -f - <<<"$(node "$mine")"
everything() { as "$first" get nodes,csinodes,csidrivers,volumeattachments,ipaddresses,servicecidrs -o name | grep -v /streams-; }
before=$(everything)
version=$(as "$first" get --raw /api/v1/nodes | version_of)
stop_zood || failed "zood ends" <<<"status $?"
start_zood --listen "$zood_address"
expect "everything is there" "$before" "$(everything)"
expect "a watch goes on" "" "$(as "$first" get --raw "/api/v1/nodes?watch=1&resourceVersion=$version&timeoutSeconds=1&labelSelector=of" | jq -r .type | grep -v BOOKMARK)"
expect_match "and ends where too much happened" '"code":410' "$(as "$first" get --raw "/api/v1/nodes?watch=1&resourceVersion=$raw_version&timeoutSeconds=1")"
check "delete" as "$first" delete node "$mine" --wait=false
expect "gone" "$platforms" "$(names "$first")"
for id in "$first" "$second"; do check "delete tenant $id" ctl tenant delete "$id" --wait; done
