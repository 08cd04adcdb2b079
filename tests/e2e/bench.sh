#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app common
# step: all
# alone
# timeout: 420
# The short measurement beside nginx runs through, and no request of it fails. It prints ratios; none is judged.
. "$(dirname "$0")/lib.sh"

log=$TMPDIR/bench.txt
measure() {
  "$zoo_root/tests/bench/run" --short --rounds 1 --build "$ZOO_BUILD" --out "$TMPDIR/bench" \
    --row get --row get_one --row list --row list_all --row watch >"$log" 2>&1 && return
  tail -n 30 "$log"
  return 1
}
check "the short measurement runs through" measure
tail -n 20 "$log"
sed -n 's,^ *\(.*: zood / nginx: .*\),told: \1,p' "$log"
expect "it tells ratios" 5 "$(grep -c ': zood / nginx: \|list_all: .*one namespace' "$log")"
