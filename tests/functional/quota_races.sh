#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts quota app
# timeout: 600
# step: all
# An account's limit holds to the last pod while zood runs: beside deletes, beside somebody else's ResourceQuota, over four spaces and two
# API servers with a limit that changes, and while zood is killed, stopped or has no door that upstream reaches. The same rounds run against a
# plain ResourceQuota, for comparison. tests/functional/quota_races_long.sh runs more of them.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/quota/races.bash"

races_begin
deletes=${ZOO_QUOTA_DELETES:-6} second=${ZOO_QUOTA_SECOND:-4} spread=${ZOO_QUOTA_SPREAD:-4}

# ---- the webhook, and what it says --------------------------------------------------------------------------------

hook() { upstream get validatingwebhookconfiguration zoo-quota -o json; }
expect "it fails open" Ignore "$(hook | jq -r '.webhooks[0].failurePolicy')"
expect "after a second" 1 "$(hook | jq -r '.webhooks[0].timeoutSeconds')"
expect "for what is counted" '[["pods"],["pods/resize"]]' "$(hook | jq -c '[.webhooks[0].rules[].resources]')"
expect "in the spaces of accounts with quotas" '["team"]' "$(hook | jq -c '.webhooks[0].namespaceSelector.matchExpressions[0].values')"

pod() { printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"registry.test/c"}]}}' "$1"; }
for ((i = 0; i < 10; ++i)); do
  check "pod $i of ten in one space of four" upstream -n a create -f - <<<"$(pod "p$i")"
done
check_fails "N12: the eleventh is refused in the account's words" \
  'exceeded quota: all, requested: pods=1, used: pods=10, limited: pods=10 \(account team: a pods=10\)' upstream -n b create -f - <<<"$(pod more)"
check_fails "N12: and so is a dry run" 'exceeded quota: all' upstream -n b create --dry-run=server -f - <<<"$(pod more)"
check "one goes" upstream -n a delete pod p0 --now
check "N12: and there is room elsewhere at once" upstream -n b create -f - <<<"$(pod more)"
check "a pod ends" upstream -n a patch pod p1 --subresource status --type merge -p '{"status":{"phase":"Succeeded"}}'
fits() { upstream -n c create -f - <<<"$(pod again)"; }
eventually "N12: and frees its place" 10 fits
check "a dry run with room" upstream -n a delete pod p2 --now
for ((i = 0; i < 3; ++i)); do
  check "N12: costs nothing" upstream -n d create --dry-run=server -f - <<<"$(pod dry)"
done
check "so that there is still room for one" upstream -n d create -f - <<<"$(pod last)"

for one in a b c d; do check "space $one is emptied" upstream -n $one delete pods --all --now; done

# ---- rounds -------------------------------------------------------------------------------------------------------

plain deletes plain1 "$deletes"
plain_deletes=$(field over)
ours deletes a "$deletes"
expect "N13: creates beside deletes: no round over" 0 "$(field over)"
expect "nor a sum of the slices" yes "$( (($(field largest_sum) <= 10)) && echo yes)"
note "plain ResourceQuota: $plain_deletes of $deletes rounds over"

plain second plain2 "$second"
note "plain ResourceQuota beside another one: $(field over) of $second rounds over, at most $(field most) pods of 3"
quota_of 3
upstream -n a create quota other --hard=services=1000
ours second a "$second" 3
expect "beside somebody else's ResourceQuota: no round over" 0 "$(field over)"
upstream -n a delete quota other
quota_of 10

ours spaces a,b,c,d "$spread" 10 --account all
expect "over four spaces, with a limit that changes: no round over" 0 "$(field over)"
expect "nor a sum of the slices" yes "$( (($(field largest_sum) <= 12)) && echo yes)"
quota_of 10
for one in a b c d; do check "space $one is emptied" upstream -n $one delete pods,replicasets.apps --all --now; done
eventually "the limit is handed out again" 60 sums 10

# ---- zood is killed, and stopped ----------------------------------------------------------------------------------

kill_zood() {
  kill -KILL "${zood_pids[$zood_dir]}" 2>/dev/null
  wait "${zood_pids[$zood_dir]}" 2>/dev/null
  unset "zood_pids[$zood_dir]"
}
killed() { # kills zood again and again while the command runs
  local rounds
  "$@" &
  rounds=$!
  while kill -0 "$rounds" 2>/dev/null; do
    sleep "0.$((RANDOM % 9 + 1))"
    kill_zood
    start_zood_with "$config"
  done
  wait "$rounds"
}
killed ours spaces a,b,c,d "$spread"
expect "zood is killed in the middle of moves: no slice is above the limit" yes "$( (($(field largest_sum) <= 10)) && echo yes)"
note "killed: $(field over) of $spread rounds over"
asked
whole() { [[ $(upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o json | jq '[.items[].status.hard.pods | tonumber] | add') == 10 ]]; }
eventually "nothing of the limit is lost by that" 60 whole

room() { upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o json | jq -r '[.items[] | select((.status.hard.pods | tonumber) > (.status.used.pods | tonumber))][0].metadata.namespace'; }
for one in a b c d; do check "space $one is emptied" upstream -n $one delete pods,replicasets.apps --all --now; done
some_room() { [[ $(room) != null ]]; }
eventually "some slice has room" 60 some_room
# Which one has it is asked when nobody moves it any more: what zood has under way ends with the answer to it.
kill -STOP "${zood_pids[$zood_dir]}"
versions() { upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o 'jsonpath={.items[*].metadata.resourceVersion}'; }
at_rest() { local before; before=$(versions) && [[ $(versions) == "$before" ]] && some_room; }
eventually "some slice has room while zood is stopped" 60 at_rest
somewhere=$(room)
began=$(date +%s%N)
check "a create while zood is stopped goes on" upstream -n "$somewhere" create -f - <<<"$(pod while-stopped)"
note "it took $((($(date +%s%N) - began) / 1000000)) ms"
kill -CONT "${zood_pids[$zood_dir]}"
stop_zood
check_fails "an orderly stop takes the webhook away" "NotFound|not found" upstream get validatingwebhookconfiguration zoo-quota

# ---- the controller-manager is down -------------------------------------------------------------------------------

upstream -n "$somewhere" delete pods --all --now
start_zood_with "$config"
asked
unused() {
  for one in a b c d; do
    [[ $(upstream get resourcequota -n $one -o json | jq '[.items[].status.used.pods // "0" | tonumber] | add') == 0 ]] || return 1
  done
}
# What is still charged for a pod that has gone counts for zood's first five seconds, and nobody else takes it away now.
eventually "nothing is charged any more" 60 unused
kill -STOP "$(head -n 1 "$up/run/controller-manager.pid")"
rounds=$(for ((i = 0; i < 12; ++i)); do upstream -n b create -f - <<<"$(pod "k$i")" 2>&1; done)
kill -CONT "$(head -n 1 "$up/run/controller-manager.pid")"
expect "without kube-controller-manager all of the limit can be used" 10 "$(upstream get pods -A -o json | jq '[.items[] | select(.metadata.namespace | IN("a", "b", "c", "d"))] | length')"
expect_match "and no more" 'exceeded quota: all' "$rounds"

# ---- a door that upstream does not reach --------------------------------------------------------------------------

stop_zood
start_zood_with $'accounts: {enabled: true, listen: "127.0.0.1:0"}\nbroker: {advertise: "127.0.0.1:1"}'
says() { [[ $(ctl doctor 2>&1) == *"the upstream does not ask it"* ]]; }
eventually "a door that upstream does not reach is told of" 60 says
check_fails "and upstream is not let ask" "NotFound|not found" upstream get validatingwebhookconfiguration zoo-quota

# ---- zood's own door asks instead ---------------------------------------------------------------------------------

new_tenant t # its kubeconfig has the authority of the account door's certificate
unpack "$t"
new_user john
john() {
  "$KUBECTL" --server "https://$(account_door)" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$TMPDIR/john.crt" --client-key "$TMPDIR/john.key" "$@"
}
require "john is a member" upstream patch account team --type merge -p '{"spec":{"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"john"}]}}'
member() { [[ $(john auth can-i create pods -n a) == yes ]]; }
eventually "and has his role" 60 member
for one in a b c d; do check "space $one is emptied" upstream -n $one delete pods --all --now; done
eventually "and nothing is used there" 60 unused
made=0
for ((i = 0; i < 10; ++i)); do
  john -n a create -f - <<<"$(pod "own$i")" >/dev/null 2>"$TMPDIR/own.out" && made=$((made + 1))
done
expect "all of the limit goes into one space, by zood's own door" 10 "$made"
check_fails "and no more, in the account's words" 'exceeded quota: all, requested: pods=1, used: pods=10, limited: pods=10 \(account team: a pods=10\)' \
  john -n b create -f - <<<"$(pod more)"
check_fails "who may create nothing there learns nothing of that" 'cannot create resource' john -n plain1 create -f - <<<"$(pod more)"
