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

by_jane() { upstream --as jane -n a "$@"; }
check_fails "nor through its status" "is kept by zood" by_jane patch resourcequota zoo-quota --subresource status --type merge -p '{"status":{"hard":{"pods":"999"}}}'
check_fails "where labels stand, too" "is kept by zood" by_jane patch resourcequota zoo-quota --subresource status --type merge -p '{"metadata":{"labels":{"zoo.kubezoo.io/managed":null}}}'
check_fails "nor makes one of a name that is zood's" "has a name by which zood keeps its own" by_jane create quota zoo-quota-mine --hard pods=99
check "one of another name he makes" by_jane create quota mine --hard pods=99
require "and takes away" by_jane delete quota mine

# ---- what is idle moves -------------------------------------------------------------------------------------------

require "a Deployment of eight" john -n a create deployment web --image registry.test/c --replicas 8
whole() { [[ $(upstream get deployment -n "$1" web -o 'jsonpath={.status.replicas}') == "$2" ]]; }
eventually "is whole, though its space had a third" 60 whole a 8
require "a Deployment of two in another space" john -n b create deployment web --image registry.test/c --replicas 2
eventually "is whole, too" 60 whole b 2
check_fails "N12: an eleventh pod has none" "exceeded quota: all" john -n c create -f - <<<"$(pod p)"
check_fails "N12: nor in the space of the Deployment" "exceeded quota: all" john -n a create -f - <<<"$(pod p)"
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
expect "N12: of the other the lower limit holds" 10 "$(sum pods)"
require "the limit is lowered below what is used" upstream apply -f - <<<"$(quota all '{"pods":"4","configmaps":100}')"
cut() { (($(sum pods) <= 4)); }
eventually "the slices are cut" 30 cut
expect "nothing is evicted" 10 "$(live)"
for one in a b c; do
  check_fails "nothing grows in $one" "exceeded quota" upstream -n $one create -f - <<<"$(pod more)"
done
require "a quota of what each container must say" upstream apply -f - <<<"$(quota cpu '{"limits.cpu":"4"}')"
has_cpu() { [[ -n $(hard a 'limits\.cpu') ]]; }
eventually "is handed out" 30 has_cpu
require "there is room for pods" upstream apply -f - <<<"$(quota all '{"pods":"14","configmaps":100}')"
unsaid() { [[ $(upstream -n a create -f - <<<"$(pod unsaid)" 2>&1) == *"must specify limits.cpu"* ]]; }
eventually "N12: who does not say it is refused by upstream" 30 unsaid
require "the quota goes" upstream delete accountquota cpu
without_cpu() { [[ -z $(upstream get resourcequota -n a zoo-quota -o 'jsonpath={.status.hard.limits\.cpu}') ]]; }
eventually "and what it asked for" 30 without_cpu

# From before there was a policy that looks at names, or of an upstream that does not know one of them.
require "nobody looks at quotas" upstream delete validatingadmissionpolicybinding zoo-accounts-quotas
bad() { upstream apply -f - <<<"$(quota bad '{"cpus":"4","secrets":"20"}')"; }
eventually "one is made that no ResourceQuota can hold" 30 bad
eventually "what of it can be held is" 30 sums_to secrets 20
enforced() { upstream get accountquota "$1" -o json | jq -r '.status.conditions[] | select(.type == "Enforced") | .status + " " + .reason + ": " + .message'; }
refused() { [[ $(enforced bad) == 'False Refused: "cpus" is nothing that a ResourceQuota counts' ]]; }
eventually "it says what is not" 30 refused
expect_match "the others of the account are enforced" '^True Sliced' "$(enforced all)"
require "it goes" upstream delete accountquota bad
eventually "and what it limited is as before" 30 sums_to secrets 30

# ---- a space goes to another account ------------------------------------------------------------------------------

new_user mary
require "who may do everything" upstream create clusterrolebinding mary --clusterrole cluster-admin --user mary
mary() { "$KUBECTL" --server "https://$(account_door)" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$TMPDIR/mary.crt" --client-key "$TMPDIR/mary.key" "$@"; }
require "an account with room for one pod" upstream apply -f - <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: crew}
---
apiVersion: config.kiosk.sh/v1alpha1
kind: AccountQuota
metadata: {name: of-crew}
spec: {account: crew, quota: {hard: {pods: "1"}}}
YAML
known() { [[ $(upstream get accountquota of-crew -o 'jsonpath={.status.total.hard.pods}') == 1 ]] && mary get space b; }
eventually "is known" 30 known
check_fails "a space with more in it does not go there" 'account "crew" has no room for what is in namespace "b": exceeded quota: of-crew' mary patch space b --type merge -p '{"spec":{"account":"crew"}}'
expect "and stays whose it is" team "$(upstream get ns b -o 'jsonpath={.metadata.labels.kiosk\.sh/account}')"
require "the other account goes" upstream delete accountquota of-crew
require "with its quota" upstream delete account.config.kiosk.sh crew

# ---- who sees it --------------------------------------------------------------------------------------------------

shown() { [[ $(john get accountquotas.tenancy.kiosk.sh all -o 'jsonpath={.status.total.hard.pods}') == 12 ]]; }
require "twelve pods" upstream apply -f - <<<"$(quota all '{"pods":"12","configmaps":100}')"
eventually "a member sees the quota of his account, and what it is" 30 shown
expect_match "and what is used of it, as a table" '^all +team +configmaps [0-9]+/100, pods 10/12' "$(john get accountquotas.tenancy.kiosk.sh)"
new_user jane
jane() { "$KUBECTL" --server "https://$(account_door)" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$TMPDIR/jane.crt" --client-key "$TMPDIR/jane.key" "$@"; }
expect "others see none" "" "$(jane get accountquotas.tenancy.kiosk.sh -o name)"
check_fails "and find none" "NotFound|not found" jane get accountquotas.tenancy.kiosk.sh all
check_fails "nobody writes through the view" "405|MethodNotAllowed|does not allow|Forbidden|forbidden" john delete accountquotas.tenancy.kiosk.sh all

wide() { john get spaces -o wide | says_line -E '^a +team +Active .*pods [0-9]+/[0-9]+'; }
eventually "a space says what it uses, and its part" 30 wide

# ---- zooctl -------------------------------------------------------------------------------------------------------

expect_match "zooctl shows who uses what" '^pods +12 +all +10 +[12] +a +[0-9]+ +[0-9]+' "$(ctl quota show team)"
printf '%s\n' 'apiVersion: apps/v1' 'kind: Deployment' 'metadata: {name: more}' \
  'spec: {replicas: 3, template: {spec: {containers: [{name: c, image: registry.test/c}]}}}' >"$TMPDIR/more.yaml"
said=$(ctl quota explain team --for "$TMPDIR/more.yaml")
expect "what does not fit is an exit status of its own" 77 $?
expect_match "and is explained" '^.*more.yaml \(pods=3\) does not fit:$' "$said"
expect_match "with what is full, and by what" '^pods of quota all is full\..* a: pods/' "$said"
sed -i 's/replicas: 3/replicas: 2/' "$TMPDIR/more.yaml"
two_fit() { ctl quota explain -n a --for "$TMPDIR/more.yaml"; } # what upstream has refused a moment ago counts for five seconds
eventually "two fit" 30 two_fit
check_status "an account without a quota is not found" 4 ctl quota explain nobody
check "a recount" ctl quota recount team
check "zooctl sets a quota" ctl --kubeconfig "$ZOO_E2E_KUBECONFIG" quota set team secrets=40 --name of-zooctl
expect "as it was said" 40 "$(upstream get accountquota of-zooctl -o 'jsonpath={.spec.quota.hard.secrets}')"
check "and another limit" ctl --kubeconfig "$ZOO_E2E_KUBECONFIG" quota set team configmaps=50 --name of-zooctl
expect "the first one stays" '{"configmaps":"50","secrets":"40"}' "$(upstream get accountquota.config.kiosk.sh of-zooctl -o json | jq -c .spec.quota.hard)"
check "and goes by its name" ctl --kubeconfig "$ZOO_E2E_KUBECONFIG" quota set team secrets- --name of-zooctl
expect "alone" '{"configmaps":"50"}' "$(upstream get accountquota.config.kiosk.sh of-zooctl -o json | jq -c .spec.quota.hard)"
check_status "what is no limit does not go" 4 ctl --kubeconfig "$ZOO_E2E_KUBECONFIG" quota set team secrets- --name of-zooctl
check_status "and not what is no amount" 64 ctl --kubeconfig "$ZOO_E2E_KUBECONFIG" quota set team secrets=many
check "which goes" upstream delete accountquota of-zooctl

# ---- sets ---------------------------------------------------------------------------------------------------------

require "a set for accounts of a size" upstream apply -f - <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: AccountQuotaSet
metadata: {name: small}
spec:
  accountLabelSelector: {matchLabels: {size: small}}
  template: {metadata: {labels: {from: set}}, spec: {quota: {hard: {services: "7"}}}}
YAML
require "an account of that size" upstream label account team size=small
of_set() { upstream get accountquota small-team -o "jsonpath={.spec.account} {.spec.quota.hard.services} {.metadata.labels.from}"; }
has_quota_of_set() { [[ $(of_set) == "team $1 set" ]]; }
eventually "has a quota of the set" 30 has_quota_of_set 7
require "the set changes" upstream patch accountquotaset small --type merge -p '{"spec":{"template":{"spec":{"quota":{"hard":{"services":"8"}}}}}}'
eventually "and its quotas with it" 30 has_quota_of_set 8
require "somebody changes one" upstream patch accountquota small-team --type merge -p '{"spec":{"quota":{"hard":{"services":"9"}}}}'
eventually "which is put back" 30 has_quota_of_set 8
require "the account is of that size no more" upstream label account team size-
no_quota_of_set() { ! upstream get accountquota small-team; }
eventually "and its quota goes" 30 no_quota_of_set

require "a space goes to nobody" upstream label namespace c kiosk.sh/account-
gone() { ! upstream get resourcequota -n "$1" zoo-quota; }
eventually "and has no slice any more" 30 gone c
require "the quotas go" upstream delete accountquota all more
eventually "and all slices with them" 30 no_slices
