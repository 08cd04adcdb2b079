#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: replicas store tenants app
# step: all
# timeout: 2400
# The zood before this one and this one, with one etcd: both serve the same tenants, what is revoked at either is so at the other, either
# follows the other as the leader, a ceiling is exact over both, and neither repairs what the other keeps upstream again and again.
. "$(dirname "$0")/../e2e/lib.sh"
etcd=$zoo_root/tests/upstream/etcd
at_end() { "$etcd" stop --dir "$TMPDIR/etcd"; }

before=$("$zoo_root/tests/before/build") || { (($? == 125)) && skip "the commit before is not there"; zoo_die "the build before could not be made"; }
endpoint=$("$etcd" start --dir "$TMPDIR/etcd" --tls) || zoo_die "etcd did not start"
declare -A addresses=() builds=([old]=$before [new]=$ZOO_BUILD)
on() { zood_dir=$TMPDIR/$1; } # whom ctl asks
run_zood() { # old or new
  on "$1"
  ZOO_BUILD=${builds[$1]} start_zood --config "$TMPDIR/$1.yaml" ${addresses[$1]:+--listen "${addresses[$1]}"}
  addresses[$1]=$zood_address
}
at() { "$KUBECTL" --kubeconfig "$TMPDIR/$2.kubeconfig" --server "https://${addresses[$1]}" "${@:3}"; }
leads() { on "$1"; ctl replica list -o json | jq -e '.leads == true' >/dev/null; }
refused_at() { ! output=$(at "$1" "$2" get pods 2>&1) && grep -Eq "$3" <<<"$output"; }

cat >"$TMPDIR/old.yaml" <<YAML
store: {driver: etcd, etcd: {endpoints: ["$endpoint"], prefix: /zood/versions/, ca: etcd/pki/ca.crt, certificate: etcd/pki/client.crt, key: etcd/pki/client.key}}
replicas: {name: old}
YAML
run_zood old
new_tenant one
eventually "the one before leads" 30 leads old
check "it invites" ctl replica invite -o "$TMPDIR/invitation"
expect_match "this one joins" 'start it with' "$("$ZOO_BUILD/bin/zood" --join "$TMPDIR/invitation" --dir "$TMPDIR/new" 2>&1)"
{ sed "s|etcd/|$TMPDIR/new/etcd/|" "$TMPDIR/new/zood.yaml" && echo 'replicas: {name: new}'; } >"$TMPDIR/new.yaml"
run_zood new

check "this one serves its tenant" at new "$one" create configmap from-new
check "which the one before shows" at old "$one" get configmap from-new
on new
new_tenant two
check "a tenant made at this one has a cluster at the one before" at old "$two" create configmap first
for other in old new; do
  on $([[ $other == old ]] && echo new || echo old)
  check "all credentials are revoked" ctl tenant revoke "$two" --all
  check "and refused at $other when that returns" refused_at "$other" "$two" 'Unauthorized|logged in'
  export_kubeconfig "$two"
  check "a new one is good there" at "$other" "$two" get configmap first
done

on new
check "a ceiling of ten namespaces" ctl tenant apply -f - <<<'{"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","metadata":{"name":"'"$one"'"},"spec":{"quota":{"namespaces":10}}}'
makes() { # at both, thirty at once
  local n pids=()
  for n in {1..30}; do
    at "$( ((n % 2)) && echo old || echo new)" "$one" create namespace "room-$n" &
    pids+=($!)
  done
  wait "${pids[@]}"
}
makes >"$TMPDIR/makes.log" 2>&1
all_rooms() { upstream get namespaces -o name | grep -cE "^namespace/$one-(room|more)-"; }
check "is not passed" test "$(all_rooms)" -le 10
fills() { at new "$one" create namespace "more-$RANDOM" >/dev/null 2>&1; (($(all_rooms) == 10)); }
eventually "and can be filled" 60 fills

# What both keep upstream is written by neither while nothing changes.
versions() { upstream get clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings -o json |
  jq -r '.items[] | select(.metadata.name | startswith("zoo")) | "\(.kind) \(.metadata.name) \(.metadata.resourceVersion)"' | sort; }
versions >"$TMPDIR/versions.before"
looks_of() { on "$1"; curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '/^zood_tenant_looks_total/ { print $2 }'; }
looked=$(looks_of old)
looks_again() { (($(looks_of old) > looked)); }
check "other terms of a tenant have the leader look at what it has" ctl tenant apply -f - <<<'{"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","metadata":{"name":"'"$two"'"},"spec":{"flow":{"weight":20}}}'
eventually "it does" 60 looks_again
expect "and writes nothing" "$(<"$TMPDIR/versions.before")" "$(versions)"

on old
stop_zood
eventually "this one leads when the one before stops" 30 leads new
on new
new_tenant three
run_zood old
check "the one before comes back, and serves" at old "$three" create configmap first
on new
stop_zood
eventually "and leads when this one stops" 30 leads old
check "with all there is" at old "$one" get configmap from-new
run_zood new
check "so does this one" at new "$three" get configmap first
