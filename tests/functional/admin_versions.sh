#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: admin
# The admin API before tenants in memory, by every kubectl at hand: $KUBECTL, and those that ZOO_KUBECTLS names
# (several, separated by blanks; older ones speak other dialects of discovery, OpenAPI and apply).
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/admin_checks.bash"

server=$ZOO_BUILD/tests/unit/admin_server
[[ -x $server ]] || { echo "there is no $server: build it first"; exit 1; }
for kubectl in "$KUBECTL" ${ZOO_KUBECTLS:-}; do
  note "kubectl $("$kubectl" version --client -o json 2>/dev/null | jq -r .clientVersion.gitVersion)"
  directory=$(mktemp -d "$TMPDIR/admin.XXXXXX")
  "$server" "$directory" >"$directory/address" 2>"$directory/log" &
  pid=$!
  eventually "the server is up" 30 test -s "$directory/address"
  admin_checks "$kubectl" "$directory/admin.kubeconfig"
  check_fails "without a certificate" 'Unauthorized|logged in|client certificate' \
    "$kubectl" --kubeconfig "$directory/plain.kubeconfig" get tenants
  kill "$pid"
  wait "$pid"
  expect "it ends by SIGTERM" 0 $?
done
