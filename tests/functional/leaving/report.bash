# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by leaving.sh and replicas_balanced.sh: what the clients of main.go have seen, in $TMPDIR/report.json.

of() { jq -r "$1" "$TMPDIR/report.json"; }

# clients_end PID: they are told to end, and nothing was cut that they had asked.
clients_end() {
  kill -TERM "$1"
  wait "$1"
  expect "the clients end" 0 $?
  note "$(jq -c . "$TMPDIR/report.json")"
  expect "no request failed" "[]" "$(of '.failed | tojson')"
  expect "no watch ended otherwise than in order" "[]" "$(of '.unclean | tojson')"
  expect "no watch missed a change" "[]" "$(of '.gaps | tojson')"
}
