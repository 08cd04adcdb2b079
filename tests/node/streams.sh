#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 180
# A tenant's streams to containers that really run: exec, attach, logs, port-forward and cp.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes
new_tenant id
wait_for_file='until [ -e /tmp/go ]; do sleep 0.1; done'
check "a pod that waits" create "$id" "$(pod app "$busybox" -- sh -c "echo begun; $wait_for_file; echo went on; sleep 3600")"
check "one that reads its input" create "$id" "$(pod reader "$busybox" '{"restartPolicy": "Never"}' '{"stdin": true, "stdinOnce": true}' -- \
  sh -c 'while read -r line; do echo "got $line"; done; echo end')"
check "one that serves" create "$id" "$(pod web "$agnhost" -- /agnhost netexec --http-port=8080)"
require "they run" ready "$id" pod/app pod/reader pod/web

# ---- exec
expect "exec prints what the command prints" "app" "$(inside "$id" app hostname)"
check_status "and ends as it ends" 7 inside "$id" app sh -c 'exit 7'
expect "its error output is kept apart" "out" "$(inside "$id" app sh -c 'echo out; echo err >&2' 2>/dev/null)"
head -c 4000000 /dev/urandom >"$TMPDIR/bytes"
sum=$(sha256sum <"$TMPDIR/bytes")
expect "megabytes of input arrive" "$sum" "$(as "$id" exec -i app -- sha256sum <"$TMPDIR/bytes")"
expect "and come back" "$sum" "$(as "$id" exec -i app -- cat <"$TMPDIR/bytes" | sha256sum)"
check_fails "a command that is not there" 'nothing-like-it' inside "$id" app nothing-like-it

# ---- attach
printf 'one\ntwo\n' | timeout 60 "$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" attach -i reader >"$TMPDIR/attached" 2>"$TMPDIR/attached.err"
eventually "attach gives the container its input" 30 says $'got one\ngot two\nend' as "$id" logs reader
expect_match "and shows its output" '^got one$' "$(cat "$TMPDIR/attached")"
eventually "the end of input ends the container" 30 says Succeeded as "$id" get pod reader -o 'jsonpath={.status.phase}'

# ---- logs
as "$id" logs -f app >"$TMPDIR/followed" 2>&1 &
following=$!
eventually "logs show what was printed" 30 grep -qx begun "$TMPDIR/followed"
expect "and no more so far" "begun" "$(cat "$TMPDIR/followed")"
check "the container goes on" inside "$id" app touch /tmp/go
eventually "who follows sees it" 30 grep -qx 'went on' "$TMPDIR/followed"
expect "the last line alone" "went on" "$(as "$id" logs app --tail=1)"

# ---- port-forward
as "$id" port-forward pod/web :8080 >"$TMPDIR/forward" 2>&1 &
forwarding=$!
eventually "port-forward listens" 30 grep -q '127.0.0.1:' "$TMPDIR/forward"
port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$TMPDIR/forward" | head -n 1)
expect "and leads to the pod" "web" "$(curl -s --max-time 20 "http://127.0.0.1:$port/hostname")"
expect "again and again" "web web" "$(curl -s --max-time 20 "http://127.0.0.1:$port/hostname" && echo -n ' ' && curl -s --max-time 20 "http://127.0.0.1:$port/hostname")"
kill "$forwarding"
wait "$forwarding" 2>/dev/null

# ---- cp
check "cp into the container" as "$id" cp "$TMPDIR/bytes" app:/tmp/bytes
expect "is whole there" "$sum" "$(inside "$id" app sh -c 'sha256sum </tmp/bytes')"
check "and out of it" as "$id" cp app:/tmp/bytes "$TMPDIR/back"
expect "whole, too" "$sum" "$(sha256sum <"$TMPDIR/back")"

# ---- the end
check "the pod goes" as "$id" delete pod app web
wait "$following" # not by check, whose shell within the shell cannot wait for what is still running
expect "and with it the logs that are followed" 0 $?
