#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream tenants
# step: all
# timeout: 600
# What it costs that pods are given access to zood: the create of a pod at upstream, with and without; and the time from a pod's
# creation to its first answer of zood. It judges nothing.
. "$(dirname "$0")/lib.sh"

start_zood_for_pods
new_tenant id
new_tenant out --inside none
given_access "$id"

unpack upstream "$ZOO_E2E_KUBECONFIG"
cost() { python3 "$zoo_root/tests/node/cost.py" "$(<"$TMPDIR/upstream.server")" "$TMPDIR"/upstream.{ca,crt,key} "$id-default" "$out-default" "$tools"; }
require "creates of pods are measured" cost
cost | sed 's/^/told: a pod of /'

first() { # NUMBER
  local begun answered
  begun=$(date +%s%3N)
  as "$id" create -f - >/dev/null <<<"$(pod "first-$1" "$tools" '{"restartPolicy": "Never"}' -- probe first)" || return 1
  as "$id" wait --for='jsonpath={.status.phase}'=Succeeded "pod/first-$1" --timeout=60s >/dev/null || return 1
  read -r started answered <<<"$(as "$id" logs "first-$1")"
  echo "$((answered - begun)) $((answered - started))"
}
first 0 >"$TMPDIR/warm" # the image is pulled
require "a pod asks zood" test -s "$TMPDIR/warm"
for ((n = 1; n <= 21; ++n)); do first "$n"; done >"$TMPDIR/first"
median() { cut -d' ' -f"$1" "$TMPDIR/first" | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
expect "twenty-one pods have asked" 21 "$(wc -l <"$TMPDIR/first")"
echo "told: from the call that creates a pod to its first answer of zood: median $(median 1) ms; from the start of its program: $(median 2) ms"
