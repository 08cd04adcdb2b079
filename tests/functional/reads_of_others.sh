#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app tenants upstream authz
# timeout: 900
# What zood does of its own accord reads few of others' objects.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream # what others read there is not counted
start_zood_with 'guards: {priority: 100}'
new_tenant a
new_tenant b
many=600

# ---- priorities, of which zood has to know the one that pods get
for ((i = 0; i < many; i++)); do
  jq -cn --arg name "$b-$i" '{apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: {name: $name}, value: 1}'
done >"$TMPDIR/classes"
check "classes of a neighbour" upstream create -f "$TMPDIR/classes"
priority() { [[ $(upstream get configmap zoo-pods -n zoo-system -o jsonpath='{.data.priority}') == "$1" ]]; }
class() { jq -cn --arg name "$1" --argjson value "$2" '{apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: {name: $name}, value: $value, globalDefault: true}'; }
# soon COMMAND...: not by eventually, of which list_costs would not hear that it failed.
soon() {
  for _ in {1..600}; do
    "$@" && return
    sleep 0.1
  done
  return 1
}
heeds() { upstream create -f - <<<"$(class usual 700)" && soon priority 700; }
check "pods get at most what zood.yaml says" priority 100
check "with others' classes unread" list_costs "== 0" returned priorityclasses heeds
check "it goes" upstream delete priorityclass usual
eventually "and so does what pods may have by it" 30 priority 100

# ---- a tenant that goes
held=pvc-$(cat /proc/sys/kernel/random/uuid)
for ((i = 0; i < many; i++)); do volume "$b-$i" "$b-default"; done >"$TMPDIR/volumes"
check "volumes of a neighbour" upstream create -f "$TMPDIR/volumes"
check "one whose storage does not let it go" upstream create -f - <<<"$(volume "$held" "$a-default" | jq -c '.metadata.finalizers = ["example.com/storage"]')"
check "and its attachment" upstream create -f - <<<"$(attachment csi-held "$held")"
looks() { upstream get --raw /metrics | awk '/^apiserver_request_total/ && /resource="persistentvolumes"/ && /verb="GET"/ { n += $NF } END { print n + 0 }'; }
passes() { (($(looks) >= before + 3)); }
stays() {
  before=$(looks)
  soon passes
}
waits() { ctl tenant get "$a" -o json | jq -e --arg volume "$held" '.status.waitingFor | contains($volume)'; }
unattached() { ! upstream get volumeattachment csi-held; }
gone() { ! ctl tenant get "$a"; }
check "the tenant goes" ctl tenant delete "$a" --wait=false
eventually "but for that volume" 60 waits
check "for which others' are not read" list_costs "< $many" returned persistentvolumes stays
check "its attachment has gone" unattached
check "the storage lets it go" upstream patch pv "$held" --type merge -p '{"metadata":{"finalizers":null}}'
eventually "and the tenant is gone" 300 gone
expect "the neighbour has its volumes" "$many" "$(upstream get pv -o name | grep -c "/$b-")"
