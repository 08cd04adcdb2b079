#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tenants with their administrators' credentials attack another one and the platform: every file of tests/hostile is an
# attack, and has a new tenant. After each, the victim's objects are as they were, nothing of the attacker's lies outside
# its prefix, and no answer held a byte of the victim's names, UIDs or data.
#   run.sh [NAME...]      those attacks alone, in that order; without a name all of them
#   run.sh --part N/M     every M-th (tests/e2e/hostile_N.sh)
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
hostile=$zoo_root/tests/hostile
# shellcheck source=tests/hostile/tools/stage.bash
. "$hostile/tools/stage.bash"

shopt -s extglob
part=1/1
if [[ ${1:-} == --part ]]; then
  part=$2
  shift 2
fi
attacks=("$@")
if ((${#attacks[@]} == 0)); then
  n=0
  for file in "$hostile"/*.bash; do
    # tests/e2e/hostile_discovery.sh, hostile_floods.sh and hostile_long.sh have these for themselves.
    [[ $part != 1/1 && $file == */@(everything_in_discovery|flood_*|definitions_that_hide_objects|admission_policies|bodies_of_other_kinds).bash ]] && continue
    if ((n++ % ${part#*/} == ${part%/*} - 1)); then attacks+=("$(basename "${file%.bash}")"); fi
  done
fi
start_zood
set_the_stage
for attack in "${attacks[@]}"; do
  printf -- '---- %s (%ss)\n' "$attack" "$SECONDS"
  begin_attack
  # shellcheck disable=SC1090
  . "$hostile/$attack.bash"
  end_attack "$attack"
done
expect "a zood that was attacked still lives" "${zood_pids[$zood_dir]}" "$(jobs -rp | grep -x "${zood_pids[$zood_dir]}")"
leave "$victim"
# Upstream's controller comes back to a namespace after a minute once it has tried some times.
eventually "all tenants are gone" 300 all_gone "$victim" "${attackers[@]}"
note "${#attacks[@]} attacks in ${SECONDS}s"
