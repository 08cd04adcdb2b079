#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream app common
# An administrator's kubeconfig of the upstream is needed for the first start alone: then one of zood's own ServiceAccount
# will do (docs/decisions/012), also when its token has ended.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant a
stop_zood
expect "zood ends" 0 $?

umask 077
upstream config view --raw --minify --flatten -o json |
  jq --arg token "$(upstream -n zoo-system create token zood --duration 24h)" '.users[0].user = {token: $token}' >"$TMPDIR/own.kubeconfig"
expect "the kubeconfig is nobody's but the ServiceAccount's" system:serviceaccount:zoo-system:zood \
  "$("$KUBECTL" --kubeconfig "$TMPDIR/own.kubeconfig" auth whoami -o jsonpath='{.status.userInfo.username}')"
start_zood --upstream "$TMPDIR/own.kubeconfig"
export_kubeconfig "$a"
check "zood works with it" as "$a" get namespaces
new_tenant b
stop_zood
expect "zood ends" 0 $?

rm "$zood_dir/upstream.token"
start_zood --upstream "$TMPDIR/own.kubeconfig"
expect_match "with it alone, too: a token of its own is made" '"expires"' "$(cat "$zood_dir/upstream.token")"
stop_zood
expect "zood ends" 0 $?

jq '.users[0].user = {token: "ended"}' "$TMPDIR/own.kubeconfig" >"$TMPDIR/ended.kubeconfig"
start_zood --upstream "$TMPDIR/ended.kubeconfig"
expect_match "a token that has ended is told of" 'the kubeconfig given for the upstream is refused .*zood goes on with the credential it keeps until' "$(cat "$zood_dir.log")"
export_kubeconfig "$a"
check "and zood works with the one it keeps" as "$a" get namespaces
for id in "$a" "$b"; do check "$id goes" ctl tenant delete "$id" --wait; done
