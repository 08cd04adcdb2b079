#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway
# step: all
# timeout: 900
# A tenant's IPAddresses and VolumeAttachments are read by their names where the cluster has many, and none of them is missed.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream # what it has forgotten others may need
apiserver=$("$ZOO_UPSTREAM" status --dir "$up" | awk '$1 == "apiserver" { print $2 }')
etcd=$(tr '\0' '\n' <"/proc/$apiserver/cmdline" | grep -A 1 -x -- --etcd-servers | tail -n 1)
start_zood_with 'guards: {volume_drivers: "*"}'
new_tenant a
new_tenant b
unpack "$a"
mark=$(random_id)
# Of those for benchmarks (RFC 2544).
address() { printf '198.18.%s.%s' "$(($1 / 256))" "$(($1 % 256))"; }

# address_of NUMBER NAMESPACE SERVICE
address_of() {
  jq -cn --arg name "$(address "$1")" --arg space "$2" --arg service "$3" '{apiVersion: "networking.k8s.io/v1", kind: "IPAddress",
    metadata: {name: $name}, spec: {parentRef: {group: "", resource: "services", namespace: $space, name: $service}}}'
}
names() { as "$1" get "$2" -o name "${@:3}" 2>&1 | sed 's|.*/||' | xargs; }
is() { [[ $(names "$a" "$1") == "$2" ]]; }
returns() { list_costs "$1" returned "$2" names "$a" "$2"; }
sorted() { printf '%s\n' "$@" | LC_ALL=C sort | xargs; }
ipaddresses=/apis/networking.k8s.io/v1/ipaddresses

# ---- a neighbour with many
many=600
for ((i = 0; i < many; i++)); do address_of "$i" "$b-default" "web-$i"; done >"$TMPDIR/many"
check "addresses of a neighbour's Services" upstream create -f "$TMPDIR/many"
for ((i = 0; i < many; i++)); do attachment "csi-$mark-$i" "$b-volume-$i"; done >"$TMPDIR/many"
check "and what is attached of its volumes" upstream create -f "$TMPDIR/many"
expect "the neighbour has the addresses, and its API server's" "$((many + 1))" "$(names "$b" ipaddresses | wc -w)"
expect "and the attachments" "$many" "$(names "$b" volumeattachments | wc -w)"
none=$(as "$a" get service kubernetes -o jsonpath='{.spec.clusterIP}')
expect "the tenant has that of its API server" "$none" "$(names "$a" ipaddresses)"
expect "nor an attachment" "" "$(names "$a" volumeattachments)"
eventually "and reads no other" 30 returns "<= 4" ipaddresses
eventually "nor an attachment of others" 30 returns "<= 2" volumeattachments

# ---- its own addresses
check "a Service" as "$a" create service clusterip web --tcp=80
one=$(as "$a" get service web -o jsonpath='{.spec.clusterIP}')
expect "its address is in the list at once" "$(sorted "$none" "$one")" "$(names "$a" ipaddresses)"
check "a second one" as "$a" create service clusterip more --tcp=80
two=$(as "$a" get service more -o jsonpath='{.spec.clusterIP}')
check "and one that has none" as "$a" create service clusterip headless --clusterip=None
all=$(sorted "$none" "$one" "$two")
expect "are in the list" "$all" "$(names "$a" ipaddresses)"
eventually "few are read for them" 60 returns "<= 8" ipaddresses
expect_match "as a table" "$one +services/default/web" "$(as "$a" get ipaddresses)"
expect "by a label" "$all" "$(names "$a" ipaddresses -l ipaddress.kubernetes.io/ip-family=IPv4)"
expect "not by another" "" "$(names "$a" ipaddresses -l ipaddress.kubernetes.io/ip-family=no)"
expect "by a name" "$one" "$(names "$a" ipaddresses --field-selector "metadata.name=$one")"
expect "not a neighbour's name" "" "$(names "$a" ipaddresses --field-selector "metadata.name=$(address 1)")"
expect "in pages" "$all" "$(names "$a" ipaddresses --chunk-size=1)"
version=$(fetch "$a" "$ipaddresses" | jq -r .metadata.resourceVersion)
expect "at a version" "$all" "$(fetch "$a" "$ipaddresses?resourceVersion=$version&resourceVersionMatch=Exact" | jq -r '.items[].metadata.name' | xargs)"
expect "from any" "$all" "$(fetch "$a" "$ipaddresses?resourceVersion=0" | jq -r '.items[].metadata.name' | xargs)"
expect "as a watch begins" "$all" "$(begins "$a" "$ipaddresses" | xargs)"
check "which reads few, too" list_costs "<= 8" returned ipaddresses begins "$a" "$ipaddresses"
check "one that the tenant writes itself" as "$a" create -f - <<<"$(address_of 700 default own)"
more=$(sorted "$none" "$one" "$two" "$(address 700)")
expect "is in the list at once" "$more" "$(names "$a" ipaddresses)"
expect "and as a watch begins" "$more" "$(sorted $(begins "$a" "$ipaddresses"))"
expect "in pages" "$more" "$(names "$a" ipaddresses --chunk-size=1)"
check "without it" as "$a" delete ipaddress "$(address 700)"
expect "it is as before" "$all" "$(names "$a" ipaddresses)"

# ---- what is there before its Service is, as upstream makes it: whoever lists and follows hears of each
missed=()
for ((i = 800; i < 812; i++)); do
  upstream create -f - >/dev/null <<<"$(address_of "$i" "$a-default" late)" &
  making=$!
  fetch "$a" "$ipaddresses" >"$TMPDIR/list"
  curl -sN --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" \
    "https://$zood_address$ipaddresses?watch=1&timeoutSeconds=60&resourceVersion=$(jq -r .metadata.resourceVersion "$TMPDIR/list")" >"$TMPDIR/watch" &
  hearing=$!
  wait "$making"
  end=$((SECONDS + 30))
  until grep -qx "$(address "$i")" <<<"$(jq -r '.items[].metadata.name' "$TMPDIR/list"; jq -r .object.metadata.name "$TMPDIR/watch" 2>/dev/null)"; do
    ((SECONDS < end)) || { missed+=("$i"); break; }
    sleep 0.1
  done
  kill "$hearing"
  wait "$hearing" 2>/dev/null
  upstream delete ipaddress "$(address "$i")" --wait=false >/dev/null
done
expect "nothing is missed between a list and its watch" "" "${missed[*]}"
eventually "few are read for them" 60 returns "<= 8" ipaddresses

# ---- what upstream has forgotten
etcd() { curl -sS "$etcd/v3/kv/$1" -d "$2" | jq -r .header.revision; }
check "something else is written" as "$a" create configmap newer
check "and all before it forgotten" etcd compaction "{\"revision\": $(etcd range '{"key": "YQ=="}')}"
expect "the list is as it was" "$all" "$(names "$a" ipaddresses)"
expect "and in pages" "$all" "$(names "$a" ipaddresses --chunk-size=1)"
expect "and as a watch begins" "$all" "$(begins "$a" "$ipaddresses" | xargs)"
eventually "few are read for it once upstream has said a bookmark" 90 returns "<= 8" ipaddresses

# ---- attachments
w=pvc-$(cat /proc/sys/kernel/random/uuid) v=pvc-$(cat /proc/sys/kernel/random/uuid)
check "a volume provisioned for a claim" upstream create -f - <<<"$(volume "$w" "$a-default")"
check "which is attached" upstream create -f - <<<"$(attachment "csi-$mark-w" "$w")"
eventually "is in the list" 30 is volumeattachments "csi-$mark-w"
check "one of a volume of its own" upstream create -f - <<<"$(attachment "csi-$mark-own" "$a-own")"
eventually "as well" 30 is volumeattachments "csi-$mark-own csi-$mark-w"
check "few are read for them" returns "<= 4" volumeattachments
check "one of a volume that is called as its own is, and more" upstream create -f - <<<"$(attachment "csi-$mark-longer" "$w-longer")"
eventually "upstream has it" 30 upstream get volumeattachment "csi-$mark-longer"
expect "is in no list" "csi-$mark-own csi-$mark-w" "$(names "$a" volumeattachments)"
check "a neighbour's volume" upstream create -f - <<<"$(volume "$v" "$b-default")"
check "is attached" upstream create -f - <<<"$(attachment "csi-$mark-v" "$v")"
sees() { names "$1" volumeattachments | says_line "csi-$mark-v"; }
eventually "the neighbour sees it" 30 sees "$b"
check "a claim names it" as "$a" create -f - <<<'{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"theirs"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"none","volumeName":"'"$v"'","resources":{"requests":{"storage":"1Gi"}}}}'
check_fails "which shows nothing of it" "not found" as "$a" get volumeattachment "csi-$mark-v"
expect "in a list either" "csi-$mark-own csi-$mark-w" "$(names "$a" volumeattachments)"
check "a volume of the tenant's name that the neighbour claims" upstream create -f - <<<"$(volume "$a-bait" "$b-default")"
check "is attached" upstream create -f - <<<"$(attachment "csi-$mark-bait" "$a-bait")"
check_fails "is not the tenant's" "not found" as "$a" get volumeattachment "csi-$mark-bait"
expect "nor in its list" "csi-$mark-own csi-$mark-w" "$(names "$a" volumeattachments)"

path=/apis/storage.k8s.io/v1/volumeattachments
version=$(as "$a" get --raw "$path" | jq -r .metadata.resourceVersion)
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get --raw "$path?watch=1&timeoutSeconds=300&resourceVersion=$version" >"$TMPDIR/attached" &
watching=$!
check "the platform removes a volume" upstream delete pv "$w" --timeout=120s
check "and then what attached it" upstream delete volumeattachment "csi-$mark-w" --wait=false
eventually "which leaves the list" 30 is volumeattachments "csi-$mark-own"
heard() { jq -r '.type + " " + .object.metadata.name' "$TMPDIR/attached" | says_line -x "DELETED csi-$mark-w"; }
eventually "and is told to who watches" 30 heard
# Whose it is, is not known when its event comes.
u=pvc-$(cat /proc/sys/kernel/random/uuid)
check "an attachment comes before its volume" upstream create -f - <<<"$(attachment "csi-$mark-u" "$u")"
check "which is the tenant's" upstream create -f - <<<"$(volume "$u" "$a-default")"
shown() { jq -r '.type + " " + .object.metadata.name' "$TMPDIR/attached" | says_line -x "ADDED csi-$mark-u"; }
eventually "who watches is told of it" 30 shown
kill "$watching"
wait "$watching" 2>/dev/null || :
