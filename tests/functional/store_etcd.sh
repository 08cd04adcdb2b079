#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: store app admin cli common
# timeout: 500
# zood's records in a real etcd of three members: moved there from the file of one host and back again, served by kubectl
# through zood; what goes on while etcd is away; and what every store promises, on the etcd of this Kubernetes.
. "$(dirname "$0")/../e2e/lib.sh"
etcd=$zoo_root/tests/upstream/etcd
at_end() { "$etcd" stop --dir "$TMPDIR/etcd"; }

endpoints=$("$etcd" start --dir "$TMPDIR/etcd" --members 3 --etcd 3.6 --tls) || zoo_die "etcd did not start"
printf 'store: {driver: etcd, etcd: {endpoints: [%s], prefix: /zood/test/, ca: etcd/pki/ca.crt, certificate: etcd/pki/client.crt, key: etcd/pki/client.key}}\n' \
  "$endpoints" >"$TMPDIR/etcd.yaml"
echo 'store: {driver: sqlite}' >"$TMPDIR/sqlite.yaml"
printf 'dir: %s\nstore: {driver: sqlite}\n' "$zood_dir" >"$TMPDIR/back.yaml"
revision() { ctl tenant get "$1" -o json | jq -er '.metadata.resourceVersion | tonumber'; }
rises() { (($2 > $1)) || echo "$2 is not above $1"; (($2 > $1)); }
migrate() { ctl store migrate --to "$TMPDIR/$1.yaml" "${@:2}"; }

# ---- there ------------------------------------------------------------------------------------------------------------

start_zood
address=$zood_address
new_tenant a
check "an object of the tenant's" as "$a" create configmap kept
before=$(revision "$a")
expect_match "what could be moved is weighed" '^[0-9]+ records of [0-9]+ bytes could be moved to etcd' "$(migrate etcd --dry-run 2>&1)"
check_status "a migration to where the records are is refused" 65 migrate back
moved=$(migrate etcd -o json)
expect "the records are moved and compared" 64 "$(jq -r '.sha256 | length' <<<"$moved")"
check "tenants are served meanwhile" as "$a" get configmap kept
check_status "nothing is written any more" 69 ctl tenant suspend "$a"
check_status "nor moved again" 6 migrate etcd
check_status "doctor says why" 1 ctl doctor
stop_zood
check_fails "and no zood starts on the old store" 'records were moved to etcd' timeout 60 "$ZOO_BUILD/bin/zood" --dir "$zood_dir" --upstream "$ZOO_E2E_KUBECONFIG" --listen 127.0.0.1:0

start_zood --config "$TMPDIR/etcd.yaml" --listen "$address"
check "the tenant is served from etcd" as "$a" get configmap kept
check "its version has risen" rises "$before" "$(revision "$a")"
new_tenant b
check "and a new one has a cluster" as "$b" create configmap there
check "which is suspended" ctl tenant suspend "$b"
check_fails "at once" 'suspended|Forbidden|Unauthorized' as "$b" get configmap there
check "and let in again" ctl tenant resume "$b"
eventually "at once" 30 as "$b" get configmap there
check "doctor finds etcd" eval 'ctl doctor -o json | jq -e ".findings[] | select(.subject == \"store\" and .level == \"ok\")"'
check "kubectl watches tenants by the admin door" eval \
  'timeout 60 curl -sN --unix-socket "$zood_dir/zood.sock" "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants?watch=1&resourceVersion=$(revision "$b")" >"$TMPDIR/watched" & watcher=$!
   ctl tenant suspend "$b" && ctl tenant resume "$b" && for try in {1..300}; do grep -q MODIFIED "$TMPDIR/watched" && break; sleep 0.1; done; kill $watcher; grep -q MODIFIED "$TMPDIR/watched"'

# ---- a member is away, then all but one -------------------------------------------------------------------------------

check "a member ends" "$etcd" kill --dir "$TMPDIR/etcd" 1
check "and it is not noticed" ctl tenant suspend "$b"
says_of_members() { { ctl doctor -o json || :; } | jq -e '.findings[] | select(.subject == "store" and .level == "warning") | .message | test("^1 of 3 members of etcd do not answer: ")'; }
check "but doctor names it" says_of_members
check "by tenants neither" as "$a" get configmap kept
check "another is stopped" "$etcd" kill --dir "$TMPDIR/etcd" 2 STOP
check "tenants are served by what is known" as "$a" get configmap kept
check "and write upstream" as "$a" create configmap meanwhile
check_status "what zood keeps itself is not written" 69 ctl tenant resume "$b"
doctor_tells() { [[ $(ctl doctor -o json) == *'has told nothing for'* ]]; }
eventually "doctor tells of it" 60 doctor_tells
expect_match "and the metric" '^zood_store_stale_seconds [0-9.]+' "$(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics)"
check "both come back" eval '"$etcd" kill --dir "$TMPDIR/etcd" 2 CONT && "$etcd" again --dir "$TMPDIR/etcd" --etcd 3.6 1'
eventually "and what was not written is" 60 ctl tenant resume "$b"
eventually "and in force" 30 as "$b" get configmap there

# ---- and back ---------------------------------------------------------------------------------------------------------

before=$(revision "$a")
check_status "the file holds what was moved away" 6 migrate back
check "until it is put aside" migrate back --clear-target
stop_zood
check_fails "no zood starts on etcd" 'records were moved to' timeout 60 "$ZOO_BUILD/bin/zood" --dir "$zood_dir" --upstream "$ZOO_E2E_KUBECONFIG" --listen 127.0.0.1:0 --config "$TMPDIR/etcd.yaml"
start_zood --listen "$address"
check "the tenants are served from the file" as "$a" get configmap kept
check "both" as "$b" get configmap there
check "and no version falls" rises $((before - 1)) "$(revision "$a")"
for id in "$a" "$b"; do check "$id goes" ctl tenant delete "$id" --wait; done
stop_zood

for how in --check-config --listen=127.0.0.1:0; do
  check_fails "virtual clusters want a zood of their own ($how)" 'clusters.enabled needs store.driver: sqlite' timeout 100 "$ZOO_BUILD/bin/zood" "$how" --dir "$TMPDIR/other" \
    --upstream "$ZOO_E2E_KUBECONFIG" --config <(echo 'store: {driver: etcd, etcd: {endpoints: ["http://127.0.0.1:1"]}}' && echo 'clusters: {enabled: true}')
done
check_status "without etcd no zood starts, and says so by its status" 69 timeout 100 "$ZOO_BUILD/bin/zood" --dir "$TMPDIR/other" --upstream "$ZOO_E2E_KUBECONFIG" --listen 127.0.0.1:0 \
  --config <(echo 'store: {driver: etcd, etcd: {endpoints: ["http://127.0.0.1:1"]}}')

# ---- what every store promises, on this etcd ----------------------------------------------------------------------------

# The rest of them on this version: tests/functional/store_etcd_long.sh; on Debian's: tests/unit/store.
check "the promises hold on etcd 3.6" env ZOO_ETCD=3.6 "$ZOO_BUILD/tests/unit/unit_store_etcd" \
  -tce='*silent*,*hangs*,*killed*,*by TLS*,*who writes*,*is away*'
