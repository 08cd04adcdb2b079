#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts quota app upstream
# timeout: 600
# What an account may use in all its spaces together: each has a slice of it, what lies idle moves to where it is wanted, and the sum of the
# slices is never above the limit, which a watch beside all of it records.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream --nodes 1
config=$'accounts:\n  enabled: true\n  listen: 127.0.0.1:0\n  self_service: true'
start_zood_with "$config"
require "the account door listens" test -n "$(account_door)"
new_tenant t # its kubeconfig has the authority of the account door's certificate
unpack "$t"
new_user john
john() {
  "$KUBECTL" --server "https://$(account_door)" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$TMPDIR/john.crt" --client-key "$TMPDIR/john.key" "$@"
}
space() { printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Space","metadata":{"name":"%s"},"spec":{"account":"team"}}' "$1"; }
quota() { # NAME HARD
  printf '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"AccountQuota","metadata":{"name":"%s"},"spec":{"account":"team","quota":{"hard":%s}}}' "$1" "$2"
}
pod() { printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"registry.test/c"}]}}' "$1"; }
hard() { upstream get resourcequota -n "$1" zoo-quota -o "jsonpath={.status.hard.$2}"; }
sum() { # RESOURCE: over all slices
  local total=0 one
  for one in $(upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o "jsonpath={.items[*].status.hard.$1}"); do
    total=$((total + one))
  done
  echo "$total"
}
sums_to() { [[ $(sum "$1") == "$2" ]]; }
no_slices() { [[ -z $(upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o name) ]]; }

require "an account" upstream apply -f - <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: team}
spec:
  subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: john}]
YAML
sees_account() { [[ $(john get accounts.tenancy.kiosk.sh -o name) == account.tenancy.kiosk.sh/team ]]; }
eventually "its member sees it" 30 sees_account
require "a space from before there was a quota" john create -f - <<<"$(space a)"
require "a quota of ten pods" upstream apply -f - <<<"$(quota all '{"pods":"10","configmaps":100}')"

# ---- slices -------------------------------------------------------------------------------------------------------

eventually "the space has all of it" 30 sums_to pods 10
require "a second space" john create -f - <<<"$(space b)"
expect_match "has its slice when it is there" '^[0-9]+$' "$(hard b pods)"
require "a third space" john create -f - <<<"$(space c)"
eventually "all of the limit is handed out" 30 sums_to pods 10
upstream get resourcequota -A -l zoo.kubezoo.io/managed=true --watch -o json >"$TMPDIR/watch.json" &
recorder=$!
has_room() { (($(hard "$1" pods) > 0)); }
for one in a b c; do check "space $one has room" has_room $one; done
check_fails "a member does not change his slice" "Forbidden|forbidden" john -n a patch resourcequota zoo-quota --type merge -p '{"spec":{"hard":{"pods":"99"}}}'
check_fails "nor takes it away" "Forbidden|forbidden" john -n a delete resourcequota zoo-quota
check "he sees it" john -n a get resourcequota zoo-quota
require "an administrator of the space" upstream create rolebinding all --clusterrole cluster-admin --user jane -n a
for act in "patch resourcequota zoo-quota --type merge -p {\"spec\":{\"hard\":{\"pods\":\"99\"}}}" "delete resourcequota zoo-quota" "label resourcequota zoo-quota kiosk.sh/account=other --overwrite"; do
  # shellcheck disable=SC2086 # words
  check_fails "nor does one with every right in the space: ${act%% *}" "is kept by zood" upstream --as jane -n a $act
done

# ---- what is idle moves -------------------------------------------------------------------------------------------

require "a Deployment of eight" john -n a create deployment web --image registry.test/c --replicas 8
whole() { [[ $(upstream get deployment -n "$1" web -o 'jsonpath={.status.replicas}') == "$2" ]]; }
eventually "is whole, though its space had a third" 60 whole a 8
require "a Deployment of two in another space" john -n b create deployment web --image registry.test/c --replicas 2
eventually "is whole, too" 60 whole b 2
check_fails "an eleventh pod has none" "exceeded quota: zoo-quota" john -n c create -f - <<<"$(pod p)"
check_fails "nor in the space of the Deployment" "exceeded quota: zoo-quota" john -n a create -f - <<<"$(pod p)"
require "the Deployment shrinks" john -n a scale deployment web --replicas 2
again() { john -n c create -f - <<<"$(pod "late$RANDOM")"; }
eventually "and there is room where there was none" 60 again
total() { upstream get accountquota all -o 'jsonpath={.status.total.used.pods} {.status.total.hard.pods}'; }
shows() { [[ $(total) == "5 10" ]]; }
eventually "the quota's status says what is used" 60 shows

# ---- without zood -------------------------------------------------------------------------------------------------

stop_zood
made=0
for ((i = 0; i < 12; ++i)); do
  for one in a b c; do
    upstream -n $one create -f - <<<"$(pod "down$i")" >/dev/null 2>"$TMPDIR/down.out" && made=$((made + 1))
  done
done
expect_match "the slices hold while zood is away" 'exceeded quota' "$(cat "$TMPDIR/down.out")"
live() { upstream get pods -A -o json | jq '[.items[] | select(.metadata.namespace | IN("a", "b", "c"))] | length'; }
expect "to the last pod" 10 "$(live)"
start_zood_with "$config"
eventually "and after it is back" 30 sums_to pods 10
kill "$recorder"
wait "$recorder" 2>/dev/null
recorded=$("$zoo_root/tests/functional/quota/largest_sum.py" pods <"$TMPDIR/watch.json")
note "$recorded"
expect_match "at no moment were the slices above the limit" '^[1-9][0-9]* changes, at most 10$' "$recorded"

# ---- other limits -------------------------------------------------------------------------------------------------

require "a second quota, of twelve pods and three Secrets" upstream apply -f - <<<"$(quota more '{"pods":"12","secrets":"30"}')"
eventually "its own name is handed out" 30 sums_to secrets 30
expect "of the other the lower limit holds" 10 "$(sum pods)"
require "the limit is lowered below what is used" upstream apply -f - <<<"$(quota all '{"pods":"4","configmaps":100}')"
cut() { (($(sum pods) <= 4)); }
eventually "the slices are cut" 30 cut
expect "nothing is evicted" 10 "$(live)"
for one in a b c; do
  check_fails "nothing grows in $one" "exceeded quota" upstream -n $one create -f - <<<"$(pod more)"
done
require "a space goes to nobody" upstream label namespace c kiosk.sh/account-
gone() { ! upstream get resourcequota -n "$1" zoo-quota; }
eventually "and has no slice any more" 30 gone c
require "the quotas go" upstream delete accountquota all more
eventually "and all slices with them" 30 no_slices
