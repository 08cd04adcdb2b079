#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts quota app
# step: all
# alone
# timeout: 3600
# The rounds of quota_races.sh in full: 100 of creates that race deletes, 25 beside somebody else's ResourceQuota, 50 over four spaces and two API
# servers with a limit that changes; and as many of the first two against a plain ResourceQuota in the same run. What it prints is in
# docs/performance/accounts.md.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/quota/races.bash"

races_begin
deletes=${ZOO_QUOTA_DELETES:-100} second=${ZOO_QUOTA_SECOND:-25} spread=${ZOO_QUOTA_SPREAD:-50}

plain deletes plain1 "$deletes"
ours deletes a "$deletes"
expect "creates beside deletes: no round over" 0 "$(field over)"
expect "nor the slices together" yes "$( (($(field largest_sum) <= 10)) && echo yes)"
plain second plain2 "$second"
quota_of 3
upstream -n a create quota other --hard=services=1000
ours second a "$second" 3
expect "beside somebody else's ResourceQuota: no round over" 0 "$(field over)"
upstream -n a delete quota other
quota_of 10
eventually "the limit is handed out again" 60 sums 10
ours spaces a,b,c,d "$spread"
expect "over four spaces: no round over" 0 "$(field over)"
expect "nor the slices together" yes "$( (($(field largest_sum) <= 10)) && echo yes)"
ours spaces a,b,c,d "$spread" 10 --account all
expect "with a limit that changes: no round over" 0 "$(field over)"
expect "nor the slices together" yes "$( (($(field largest_sum) <= 12)) && echo yes)"
for one in a b c d; do upstream -n $one delete pods,replicasets.apps --all --now; done
run_rounds decide --namespaces a --rounds 5000 --pid "${zood_pids[$zood_dir]}"
expect "a decision with room waits for nothing" 0 "$(field late)"
require "a limit of memory" upstream patch accountquota.config.kiosk.sh all --type merge -p '{"spec":{"quota":{"hard":{"requests.memory":"100Gi"}}}}'
memory() { [[ $(upstream get resourcequota -n a zoo-quota -o 'jsonpath={.status.hard.requests\.memory}') != '' ]]; }
eventually "which is handed out" 60 memory
run_rounds moves --namespaces a,b --rounds 500 --pid "${zood_pids[$zood_dir]}"
expect "and of 500 with a move five at most come late" yes "$( (($(field late) <= 5)) && echo yes)"
note "$(curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics | grep '^zood_quota')"
