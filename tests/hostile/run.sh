#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tenant with its administrator's credentials attacks another one and the platform: every file of tests/hostile is an
# attack. After each, the victim's objects are as they were, nothing of the attacker's lies outside its prefix, and no
# answer held a byte of the victim's names, UIDs or data.  tests/hostile/run.sh [NAME...] runs those attacks alone.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"
hostile=$zoo_root/tests/hostile
# shellcheck source=tests/hostile/tools/stage.bash
. "$hostile/tools/stage.bash"

start_zood
set_the_stage
attacks=("$@")
if ((${#attacks[@]} == 0)); then
  for file in "$hostile"/*.bash; do attacks+=("$(basename "${file%.bash}")"); done
fi
for attack in "${attacks[@]}"; do
  printf -- '---- %s\n' "$attack"
  begin_attack
  # shellcheck disable=SC1090
  . "$hostile/$attack.bash"
  end_attack "$attack"
done
expect "a zood that was attacked still lives" "${zood_pids[$zood_dir]}" "$(jobs -rp | grep -x "${zood_pids[$zood_dir]}")"
for id in "$evil" "$victim"; do check "delete tenant $id" ctl tenant delete "$id" --wait --timeout 120s; done
note "${#attacks[@]} attacks"
