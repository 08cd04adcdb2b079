#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources authz
# timeout: 1500
# client-go's informers and reflectors on namespaces and spaces have exactly what a list says, after rights to some of them and to all
# came and went, namespaces were made, labelled and deleted, and zood was ended and started, for forty seconds; for ten minutes in
# `tests/run all` (clients/account_informers_test.go).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clients/lib.sh"

seconds=40
[[ ${ZOO_STEP:-} == all ]] && seconds=600
seconds=${ZOO_SECONDS:-$seconds}
clients=$(go_test_binary "$zoo_root/tests/e2e/clients") || { failed "build the clients" <<<"see above"; exit 1; }

config=$'drain_timeout: 2s\naccounts:\n  enabled: true\n  listen: 127.0.0.1:0'
start_with_door() {
  start_zood_with "$config"
  door=$(account_door)
  echo "$door" >"$TMPDIR/door.new" && mv "$TMPDIR/door.new" "$TMPDIR/door"
}
own_upstream # the kinds of accounts are installed in it
start_with_door
require "the account door listens" test -n "$door"
new_tenant t
unpack "$t" # the account door's certificate is by the same authority as the tenants' door's

run=inf-$(random_id)
john=john-$run
at_end() {
  [[ -n ${following:-} ]] && kill "$following"
} >/dev/null 2>&1

new_user "$john" "devs-$run"
kubeconfig=$TMPDIR/john.kubeconfig
kubeconfig_of_door "$kubeconfig" "$john" "$door" "$TMPDIR/$t.ca"
require "an account of his" upstream apply -f - <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: $run}
spec: {subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: $john}]}
YAML

ZOO_ADMIN=$ZOO_E2E_KUBECONFIG ZOO_JOHN=$kubeconfig ZOO_JOHN_NAME=$john ZOO_DOOR_FILE=$TMPDIR/door ZOO_ACCOUNT=$run ZOO_PREFIX=$run \
  ZOO_SECONDS=$seconds "$clients" -test.v -test.timeout 20m -test.run '^TestAccountInformers$' >"$TMPDIR/clients.log" 2>&1 &
following=$!
begun() { grep -q ': seed ' "$TMPDIR/clients.log"; }
over() { ! kill -0 "$following" 2>/dev/null; }
begun_or_over() { begun || over; }
eventually "all of them have synced" 180 begun_or_over
end=$((SECONDS + seconds)) restarts=0
# Between two ends is a while, of a length that nobody knows before.
while ((SECONDS + 12 < end)) && ! over; do
  sleep $((5 + RANDOM % 10))
  if ((restarts++ % 2)); then stop_zood; else stop_zood KILL; fi
  start_with_door
done
wait "$following"
status=$?
following=
cat "$TMPDIR/clients.log"
expect "all clients have what is listed after $restarts restarts" 0 "$status"
check "and there were some" test "$restarts" -gt 2
