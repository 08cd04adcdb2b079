#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: access tenants gateway app
# timeout: 600
# What is open for a tenant ends when the tenant is suspended or deleted, and settings change while zood runs.
. "$(dirname "$0")/../e2e/lib.sh"

cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
admin: {listen: "127.0.0.1:0"}
tenants: {reserved_ids: [system]}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
new_tenant b
unpack a "$TMPDIR/$a.kubeconfig"

# open NAME PATH: a stream of tenant a that runs until it is cut; its curl's process is left in the variable NAME.
open() {
  local -n opened=$1
  curl -sSN --cacert "$TMPDIR/a.ca" --cert "$TMPDIR/a.crt" --key "$TMPDIR/a.key" "https://$zood_address$2" \
    >"$TMPDIR/$1.out" 2>"$TMPDIR/$1.err" &
  opened=$!
  eventually "$1 has begun" 30 grep -q '"ADDED"' "$TMPDIR/$1.out"
}
ended() { ! kill -0 "$1" 2>/dev/null; }

open wide '/api/v1/configmaps?watch=1'
open narrow '/api/v1/namespaces/default/services?watch=1'
"$KUBECTL" --kubeconfig "$TMPDIR/$b.kubeconfig" get configmaps -A -w >"$TMPDIR/b.out" 2>&1 &
neighbour=$!
check "suspend the tenant" "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" patch tenant "$a" --type merge -p '{"spec":{"suspended":true}}'
eventually "a watch across namespaces is cut" 30 ended "$wide"
eventually "a watch of one namespace is cut" 30 ended "$narrow"
check_fails "and no request is taken" 'Unauthorized|logged in' as "$a" get pods
check "its neighbour's goes on" kill -0 "$neighbour"
check "resume the tenant" "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" patch tenant "$a" --type merge -p '{"spec":{"suspended":false}}'
eventually "it works again" 30 as "$a" get pods

open last '/api/v1/configmaps?watch=1'
check "delete the tenant" ctl tenant delete "$a" --wait
eventually "deletion cuts its streams" 30 ended "$last"
kill "$neighbour" && wait "$neighbour" 2>/dev/null

# ---- SIGHUP -------------------------------------------------------------------------------------------------------

expect_match "an ID that is not reserved yet" "created" "$(ctl tenant create later1 --dry-run 2>&1)"
sed -i 's/\[system\]/[system, later1]/' "$TMPDIR/zood.yaml"
kill -HUP "${zood_pids[$zood_dir]}"
eventually "is refused after SIGHUP" 30 bash -c "! '$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' tenant create later1 --dry-run"
printf 'limits: {requests_inflight: 1}\n' >>"$TMPDIR/zood.yaml"
kill -HUP "${zood_pids[$zood_dir]}"
unpack b "$TMPDIR/$b.kubeconfig"
as_b=(curl -sS --http1.1 --max-time 60 --cacert "$TMPDIR/a.ca" --cert "$TMPDIR/b.crt" --key "$TMPDIR/b.key")
mkfifo "$TMPDIR/body"
"${as_b[@]}" -X POST -H 'Content-Type: application/json' -T - "https://$zood_address/api/v1/namespaces/default/configmaps" \
  <"$TMPDIR/body" >"$TMPDIR/slow.out" 2>&1 &
slow=$!
exec 9>"$TMPDIR/body" # a request whose body does not end holds the tenant's one place
held() { [[ $(ctl top "$b" -o json | jq '.items[0].usage.flow.requestsInflight.used') == 1 ]]; }
eventually "a request is in flight" 30 held # another one at that moment would have the place
full() { "${as_b[@]}" "https://$zood_address/api/v1/pods" | says_line '1 requests in flight, its limit'; }
eventually "a limit that was lowered holds" 30 full
exec 9>&-
wait "$slow"
check "and the place is given back" as "$b" get pods
