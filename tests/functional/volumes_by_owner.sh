#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway
# step: all
# timeout: 900
# A tenant's PersistentVolumes are read by their names where the cluster has many, and none of them is missed.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream # what others read there is not counted
start_zood_with 'guards: {volume_drivers: "*"}'
new_tenant a
new_tenant b
unpack "$a"
mark=$(random_id)
uuids=$(cut -c 1-13 /proc/sys/kernel/random/uuid)
pvc() { printf 'pvc-%s-4000-8000-%012x' "$uuids" "$1"; }

# volume NAME CLAIM-NAMESPACE CLAIM: as a provisioner makes it
volume() {
  jq -cn --arg name "$1" --arg space "$2" --arg claim "$3" --arg mark "$mark" '{apiVersion: "v1", kind: "PersistentVolume",
    metadata: {name: $name, labels: {volumes: $mark}}, spec: {capacity: {storage: "1Gi"}, accessModes: ["ReadWriteOnce"], storageClassName: "none",
    persistentVolumeReclaimPolicy: "Retain", csi: {driver: "csi.example.com", volumeHandle: $name}, claimRef: {namespace: $space, name: $claim}}}'
}
attachment() {
  jq -cn --arg name "$1" --arg volume "$2" --arg mark "$mark" '{apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment",
    metadata: {name: $name, labels: {volumes: $mark}}, spec: {attacher: "csi.example.com", nodeName: "none", source: {persistentVolumeName: $volume}}}'
}
claim() {
  jq -cn --arg name "$1" --arg volume "$2" '{apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: {name: $name}, spec: {
    accessModes: ["ReadWriteOnce"], storageClassName: "none", volumeName: $volume, resources: {requests: {storage: "1Gi"}}}}'
}
names() { as "$1" get "$2" -o name "${@:3}" 2>&1 | sed 's|.*/||' | xargs; }
is() { [[ $(names "$a" "$1") == "$2" ]]; }
returns() { list_costs "$1" returned persistentvolumes names "$a" persistentvolumes; }

# ---- a neighbour with many
many=600
for ((i = 0; i < many; i++)); do
  volume "$(pvc "$i")" "$b-default" "claim-$i"
done >"$TMPDIR/many"
check "volumes of a neighbour" upstream create -f "$TMPDIR/many"
expect "the neighbour has them" "$many" "$(names "$b" pv | wc -w)"
check "and one attached" upstream create -f - <<<"$(attachment "csi-$mark-b" "$(pvc 1)")"
expect "the tenant has none" "" "$(names "$a" pv)"
# The first page of a range has 16, if others' follow.
eventually "and reads few" 30 returns "<= 16"

# ---- its own
w=$(pvc 1001) x=$(pvc 1002)
check "a volume of the tenant's own" as "$a" create -f - <<<"$(volume own "" "" | jq -c 'del(.spec.claimRef)')"
expect "is in the list at once" "own" "$(names "$a" pv)"
check "one provisioned for it" upstream create -f - <<<"$(volume "$x" "$a-default" data)"
eventually "comes to the list" 30 is pv "own $x"
check "another one, and its claim" upstream create -f - <<<"$(volume "$w" "$a-default" more)"
check "which names it" as "$a" create -f - <<<"$(claim more "$w")"
expect "is in the list with its claim" "own $w $x" "$(names "$a" pv)"
eventually "few are read for them" 30 returns "<= 32"
expect "as a watch begins" "own $w $x" "$(begins "$a" /api/v1/persistentvolumes | sort | xargs)"
eventually "which reads few, too" 30 list_costs "<= 32" returned persistentvolumes begins "$a" /api/v1/persistentvolumes
expect_match "as a table" "$w +1Gi .* default/more " "$(as "$a" get pv)"
expect "by a label" "own $w $x" "$(names "$a" pv -l "volumes=$mark")"
expect "not by another" "" "$(names "$a" pv -l volumes=no)"
expect "by a name" "$x" "$(names "$a" pv --field-selector "metadata.name=$x")"
expect "not a neighbour's name" "" "$(names "$a" pv --field-selector "metadata.name=$(pvc 1)")"
expect "in pages" "own $w $x" "$(names "$a" pv --chunk-size=1)"
version=$(as "$a" get --raw /api/v1/persistentvolumes | jq -r .metadata.resourceVersion)
expect "at a version" "own $w $x" \
  "$(as "$a" get --raw "/api/v1/persistentvolumes?resourceVersion=$version&resourceVersionMatch=Exact" | jq -r '.items[].metadata.name' | xargs)"
expect "from any" "own $w $x" "$(as "$a" get --raw "/api/v1/persistentvolumes?resourceVersion=0" | jq -r '.items[].metadata.name' | xargs)"
check "an attachment of the claim's volume" upstream create -f - <<<"$(attachment "csi-$mark-w" "$w")"
expect "is in that list" "csi-$mark-w" "$(names "$a" volumeattachments)"
check "one of the tenant's own volume" upstream create -f - <<<"$(attachment "csi-$mark-own" "$a-own")"
expect "as well" "csi-$mark-own csi-$mark-w" "$(names "$a" volumeattachments)"

# ---- names that no tenant can say
check "one that the platform calls otherwise" upstream create -f - <<<"$(volume "disk-$mark" "$a-default" odd)"
check "and its claim" as "$a" create -f - <<<"$(claim odd "")"
check "is bound by the platform" upstream patch pvc odd -n "$a-default" --type merge -p "{\"spec\":{\"volumeName\":\"disk-$mark\"}}"
expect "is not in the list" "own $w $x" "$(names "$a" pv)"
check "nor is its attachment" upstream create -f - <<<"$(attachment "csi-$mark-disk" "disk-$mark")"
expect "in that list" "csi-$mark-own csi-$mark-w" "$(names "$a" volumeattachments)"

# ---- what goes
check "the claim goes" as "$a" delete pvc more --wait=false
expect "its volume stays, released" "own $w $x" "$(names "$a" pv)"
version=$(as "$a" get --raw /api/v1/persistentvolumes | jq -r .metadata.resourceVersion)
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get --raw "/api/v1/persistentvolumes?watch=1&resourceVersion=$version&timeoutSeconds=120" >"$TMPDIR/watched" 2>&1 &
watching=$!
check "the platform gives one to the neighbour" upstream patch pv "$x" --type merge -p "{\"spec\":{\"claimRef\":{\"namespace\":\"$b-default\"}}}"
expect "which the tenant sees no more" "own $w" "$(names "$a" pv)"
eventually "who watches hears that it is gone" 30 grep -q DELETED "$TMPDIR/watched"
check "the neighbour's changes" upstream label pv "$x" of=neighbour
check "and one of the tenant's" as "$a" label pv own of=tenant
eventually "are told apart" 30 grep -q '"of":"tenant"' "$TMPDIR/watched"
kill "$watching" && wait "$watching" 2>/dev/null
expect "once, and nothing of what it has become" "DELETED $x false MODIFIED own true" \
  "$(jq -r --arg x "$x" 'select(.object.metadata.name | . == $x or . == "own") | .type, .object.metadata.name, (.object | has("spec"))' "$TMPDIR/watched" | xargs)"
check "and removes another, which nothing protects any more" upstream delete pv "$w" --timeout=120s
expect "which is gone at once" "own" "$(names "$a" pv)"
check "the tenant removes its own" as "$a" delete pv own --wait=false
eventually "it has none again" 120 is pv ""
