#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: store tenants app admin cli
# timeout: 400
# Two zoods with one etcd: the second one joins, both serve the same tenants, one leads; what is revoked is so at both; a leader that
# is killed is followed, and one that slept in the middle of a deletion harms no tenant that came after it.
. "$(dirname "$0")/../e2e/lib.sh"
etcd=$zoo_root/tests/upstream/etcd
at_end() { "$etcd" stop --dir "$TMPDIR/etcd"; }

endpoint=$("$etcd" start --dir "$TMPDIR/etcd" --tls) || zoo_die "etcd did not start"
on() { zood_dir=$TMPDIR/$1; } # whom ctl asks
at() { "$KUBECTL" --kubeconfig "$TMPDIR/$2.kubeconfig" --server "https://${addresses[$1]}" "${@:3}"; }
declare -A addresses=()
# run_zood NAME: a or b, each with a directory of its own.
run_zood() {
  on "$1"
  start_zood --config "$TMPDIR/$1.yaml" ${addresses[$1]:+--listen "${addresses[$1]}"}
  addresses[$1]=$zood_address
}
leads() { on "$1"; ctl replica list -o json | jq -e '.leads == true' >/dev/null; }
process() { echo "${zood_pids[$TMPDIR/$1]}"; }
refused_at() { ! output=$(at "$1" "$2" get pods 2>&1) && grep -Eq "$3" <<<"$output"; }

cat >"$TMPDIR/a.yaml" <<YAML
store: {driver: etcd, etcd: {endpoints: ["$endpoint"], prefix: /zood/two/, ca: etcd/pki/ca.crt, certificate: etcd/pki/client.crt, key: etcd/pki/client.key}}
replicas: {name: first}
admin: {listen: "127.0.0.1:0"}
YAML

# ---- another one joins ------------------------------------------------------------------------------------------------

run_zood a
new_tenant one
eventually "it leads" 30 leads a
check "an invitation" ctl replica invite -o "$TMPDIR/invitation"
expect "is nobody else's" 600 "$(stat -c %a "$TMPDIR/invitation")"
expect_match "another zood joins" 'start it with' "$("$ZOO_BUILD/bin/zood" --join "$TMPDIR/invitation" --dir "$TMPDIR/b" 2>&1)"
check_status "once in a directory" 6 "$ZOO_BUILD/bin/zood" --join "$TMPDIR/invitation" --dir "$TMPDIR/b"
{ cat "$TMPDIR/b/zood.yaml" && echo 'replicas: {name: second}' && echo 'admin: {listen: "127.0.0.1:0"}' && echo 'quota: {loadbalancers: 77}'; } >"$TMPDIR/b/own.yaml"
ln -s b/own.yaml "$TMPDIR/b.yaml"
sed -i "s|etcd/|$TMPDIR/b/etcd/|" "$TMPDIR/b/own.yaml"
run_zood b
expect "with the same authority" "$(sha256sum <"$TMPDIR/a/pki/ca.crt")" "$(sha256sum <"$TMPDIR/b/pki/ca.crt")"
check "it serves the tenant" at b "$one" create configmap made-at-b
check "which the first one shows" at a "$one" get configmap made-at-b
on b
expect_match "both are known" '^first +yes ' "$(ctl replica list)"
expect_match "one leads" '^second +no ' "$(ctl replica list)"
lists() { ctl status | says_line -E "$1"; }
eventually "status lists the one that leads" 30 lists '^Replica first: +[0-9].*, leads, started '
eventually "and the other" 30 lists '^Replica second: +[0-9].*, started '
differ() { { ctl doctor -o json || :; } | jq -e '.findings[] | select(.subject == "replicas" and .level == "warning").message | test("^zood .second. has other values than .first. of quota.loadbalancers: ")'; }
on a
check "doctor names what is to be the same at both, and is not" differ
on b
check_status "no records are moved away from two" 6 ctl store migrate --to <(echo "store: {path: $TMPDIR/other.db}")

# ---- what is written at either is so at both --------------------------------------------------------------------------

on b
new_tenant two # by the one that does not lead
check "its tenant has a cluster at once, at both" at a "$two" create configmap first
check "is suspended at one" ctl tenant suspend "$two"
check "and refused at the other when that returns" refused_at a "$two" 'suspended|Forbidden|Unauthorized'
check "and let in again" ctl tenant resume "$two"
check "there, too" at a "$two" get configmap first
on a
check "all its credentials are revoked" ctl tenant revoke "$two" --all
check "at both" refused_at b "$two" 'Unauthorized|logged in'
export_kubeconfig "$two"
check "a new one is good at both" at b "$two" get configmap first

# ---- one audit log of both -------------------------------------------------------------------------------------------

asked_at() { ctl audit "$one" --all-replicas -o json | jq -r '.items[] | select(.resource == "configmaps").replica' | sort -u | paste -sd ' '; }
check "one zood is asked" at a "$one" get configmap made-at-b
check "and the other" at b "$one" get configmap made-at-b
both() { [[ $(asked_at) == "first second" ]]; }
for name in a b; do
  on "$name"
  eventually "the audit log at $name has what was asked of both" 30 both
done
expect "each line says who wrote it" "first second" "$(jq -r .replica "$TMPDIR"/[ab]/audit/audit.log | sort -u | paste -sd ' ')"
sorted() { ctl audit "$one" -o json | jq -e '[.items[].time] | length > 2 and . == sort'; }
check "by time" sorted
expect_match "a table names them" '^TIME +REPLICA ' "$(ctl audit "$one")"

on a
kill -STOP "$(process b)"
check_status "one that does not answer is missed" 69 ctl audit "$one" --all-replicas --request-timeout 3s
check_fails "by its name" 'second did not answer, and its lines are missing' eval 'ctl audit "$one" --all-replicas --request-timeout 3s'
check "what the others have is shown" ctl audit "$one" --request-timeout 3s
kill -CONT "$(process b)"
eventually "until it answers" 30 both

kill -STOP "$(process b)"
check_status "one that hangs is waited for, and told of" 7 ctl tenant suspend "$two"
check_fails "by its name" 'but second: that one hangs or is cut off' ctl tenant resume "$two"
kill -CONT "$(process b)"
settles() { on a; ctl tenant suspend "$two" && ctl tenant resume "$two"; }
eventually "until it lives again" 60 settles
check "then it knows" at b "$two" get configmap first

# ---- a leader that is killed ------------------------------------------------------------------------------------------

kill -KILL "$(process a)"
wait "$(process a)" 2>/dev/null
unset "zood_pids[$TMPDIR/a]"
check "tenants are served by the other" at b "$one" get configmap made-at-b
eventually "which leads then" 30 leads b
on b
new_tenant three
run_zood a
check "the first one is back, and follows" at a "$three" create configmap here
expect_match "behind the second" '^first +no ' "$(on a; ctl replica list)"
on b
stop_zood
eventually "and leads when that ends" 30 leads a
run_zood b

# ---- a leader that slept ----------------------------------------------------------------------------------------------

for i in {1..40}; do echo "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"room-$i\"}}"; done |
  at a "$three" create -f - >/dev/null
on a
check "the leader begins to delete a tenant" ctl tenant delete "$three" --no-wait
kill -STOP "$(process a)"
eventually "the other one leads" 40 leads b
on b
gone() { on b; ! ctl tenant get "$three" >/dev/null 2>&1; }
eventually "and ends what was begun" 120 gone
check "the tenant comes back" ctl tenant create "$three" --wait
export_kubeconfig "$three"
for i in {1..40}; do echo "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"room-$i\"}}"; done |
  at b "$three" create -f - >/dev/null
before=$(at b "$three" get namespaces -o json | jq -r '.items[].metadata | "\(.name) \(.uid) \(.deletionTimestamp)"' | sort)
kill -CONT "$(process a)"
follows() { on a; ctl replica list -o json | jq -e '.leads == false and (.replicas | length) == 2' >/dev/null; }
eventually "the one that slept wakes, and follows" 60 follows
eventually "what it knows is what there is" 60 at a "$three" get namespace room-40
expect "the new tenant keeps everything" "$before" \
  "$(at b "$three" get namespaces -o json | jq -r '.items[].metadata | "\(.name) \(.uid) \(.deletionTimestamp)"' | sort)"
expect "all of it" 40 "$(grep -c '^room-.* null$' <<<"$before")"

on b
for id in "$one" "$two" "$three"; do check "$id goes" ctl tenant delete "$id" --wait; done
