#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts quota tenants gateway app upstream
# timeout: 600
# What a tenant may use in all its namespaces together: spec.quota.hard of its Tenant. Each namespace has a slice of it, which the tenant sees and
# cannot change; what lies idle moves to where it is wanted; the sum of the slices is never above the limit, which a watch beside all of it
# records; and refusals speak of the tenant's own namespaces.
. "$(dirname "$0")/lib.sh"

own_upstream --nodes 1
config=$'accounts:\n  enabled: true\n  listen: 127.0.0.1:0'
start_zood_with "$config"
new_tenant t
new_tenant other
kube() { "$KUBECTL" --kubeconfig "$TMPDIR/$t.kubeconfig" "$@"; }
pod() { printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"registry.test/c"}]}}' "$1"; }
hard() { upstream get resourcequota -n "$t-$1" zoo-quota-tenant -o 'jsonpath={.status.hard.pods}'; }
slices() { upstream get resourcequota -A -l zoo.kubezoo.io/managed=true "$@"; } # nobody else has any
sum() {
  local total=0 one
  for one in $(slices -o 'jsonpath={.items[*].status.hard.pods}'); do total=$((total + one)); done
  echo "$total"
}
sums_to() { [[ $(sum) == "$1" ]]; }
no_slices() { [[ -z $(slices -o name) ]]; }
set_quota() {
  curl -sS --fail-with-body --unix-socket "$zood_dir/zood.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' \
    -d "{\"spec\":{\"quota\":{\"hard\":$1}}}" "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$t"
}

check_fails "what no ResourceQuota counts is refused, with what was meant" "did you mean 'pods'" set_quota '{"pod":"3"}'
check_fails "a quantity that is none, too" "quantity" set_quota '{"pods":"many"}'

require "a namespace from before there was a quota" kube create namespace web
require "a quota of ten pods" ctl quota set "tenant/$t" pods=10
eventually "all of it is handed out" 60 sums_to 10
check "with another limit" ctl quota set "tenant/$t" services=5
expect "the first one stays" '{"pods":"10","services":"5"}' "$(ctl tenant get "$t" -o json | jq -c .spec.quota.hard)"
use() { ctl tenant get "$t" -o json | jq -e '.status.usage.hard | .pods == {used: "0", limit: "10"} and .services.limit == "5"'; }
eventually "the Tenant says what it uses of them" 60 use
check "the other one is taken away" ctl quota set "tenant/$t" services-
expect "by its name alone" '{"pods":"10"}' "$(ctl tenant get "$t" -o json | jq -c .spec.quota.hard)"
check_status "there is none of it any more" 4 ctl quota set "tenant/$t" services-
require "a namespace is made" kube create namespace test
expect_match "has its slice when it is there" '^[0-9]+$' "$(hard test)"
slices --watch -o json >"$TMPDIR/watch.json" &
recorder=$!

# ---- what the tenant sees -----------------------------------------------------------------------------------------

expect "the tenant sees its part" zoo-quota-tenant "$(kube -n test get resourcequota -o 'jsonpath={.items[*].metadata.name}')"
seen=$(kube -n test get resourcequota zoo-quota-tenant -o json)
expect_no_match "in its own words" "$t" "$seen"
expect "nothing of it leads out" '{"zoo.kubezoo.io/managed":"true"}' "$(jq -c '.metadata.ownerReferences // .metadata.annotations // .metadata.labels' <<<"$seen")"
for act in "patch resourcequota zoo-quota-tenant --type merge -p {\"spec\":{\"hard\":{\"pods\":\"99\"}}}" "delete resourcequota zoo-quota-tenant" "annotate resourcequota zoo-quota-tenant a=b"; do
  # shellcheck disable=SC2086 # words
  check_fails "it does not change it: ${act%% *}" "reserved-names" kube -n test $act
done
check_fails "nor makes one called so" "reserved" kube -n test create quota zoo-quota-x --hard pods=99
require "it makes one of its own" kube -n test create quota own --hard configmaps=20
require "and deletes all at once" kube delete --raw /api/v1/namespaces/test/resourcequotas
expect "its slice stays" zoo-quota-tenant "$(kube -n test get resourcequota -o 'jsonpath={.items[*].metadata.name}')"
check_fails "upstream refuses the tenant's user by itself" "kept|keeps" upstream --as "zoo:$t" --as-group zoo:tenants -n "$t-test" delete resourcequota zoo-quota-tenant

# ---- what is idle moves -------------------------------------------------------------------------------------------

require "a Deployment of seven" kube -n test create deployment web --image registry.test/c --replicas 7
whole() { [[ $(kube -n "$1" get deployment web -o 'jsonpath={.status.replicas}') == "$2" ]]; }
eventually "is whole, though its namespace had a part" 60 whole test 7
for i in 1 2 3; do
  require "the room moves to whoever creates: pod $i" kube -n web create -f - <<<"$(pod "p$i")"
done
check_fails "an eleventh pod has none, in the tenant's words" 'exceeded quota: tenant, requested: pods=1, used: pods=10, limited: pods=10 \(all namespaces: test pods=7, web pods=3\)' \
  kube -n web create -f - <<<"$(pod p4)"
refusal=$(kube -n default create -f - <<<"$(pod p4)" 2>&1)
expect_match "another namespace is refused, too" 'exceeded quota: tenant' "$refusal"
expect_no_match "the refusal names no prefix, nor a webhook" "$t-|webhook" "$refusal"
require "a Deployment that has no room" kube -n web create deployment late --image registry.test/c
told() { kube -n web get events -o 'jsonpath={.items[*].message}' | grep -F 'exceeded quota'; }
eventually "is told of in an event" 60 told
expect_no_match "which names no prefix" "$t-" "$(told)"
require "one shrinks" kube -n test scale deployment web --replicas 5
late() { [[ $(kube -n web get deployment late -o 'jsonpath={.status.replicas}') == 1 ]]; }
eventually "and the other has its pod" 60 late
"$KUBECTL" --kubeconfig "$TMPDIR/$other.kubeconfig" -n default create -f - <<<"$(pod mine)" >"$TMPDIR/other.out" 2>&1
expect_match "another tenant is not held" created "$(cat "$TMPDIR/other.out")"

# ---- zooctl -------------------------------------------------------------------------------------------------------

shown=$(ctl quota show "tenant/$t")
expect_match "ctl quota show has it" 'pods +10 ' "$shown"
pod p5 >"$TMPDIR/pod.json"
ctl quota explain "tenant/$t" --for "$TMPDIR/pod.json" >"$TMPDIR/explain.out" 2>&1
expect_match "and ctl quota explain says what fits" 'fits' "$(cat "$TMPDIR/explain.out")"

# ---- without zood, and other limits -------------------------------------------------------------------------------

stop_zood
made=0
for ((i = 0; i < 12; ++i)); do
  for one in web test default; do
    upstream -n "$t-$one" create -f - <<<"$(pod "down$i")" >/dev/null 2>"$TMPDIR/down.out" && made=$((made + 1))
  done
done
live() { upstream get pods -A -o json | jq --arg p "$t-" '[.items[] | select(.metadata.namespace | startswith($p))] | length'; }
expect "the slices hold while zood is away" 10 "$(live)"
start_zood_with "$config"
export_kubeconfig "$t" # zood listens at another port
eventually "and after it is back" 60 sums_to 10
kill "$recorder"
wait "$recorder" 2>/dev/null
recorded=$("$zoo_root/tests/functional/quota/largest_sum.py" pods <"$TMPDIR/watch.json")
note "$recorded"
expect_match "at no moment were the slices above the limit" '^[1-9][0-9]* changes, at most 10$' "$recorded"
require "the limit is lowered below what is used" set_quota '{"pods":"4"}'
cut() { (($(sum) <= 4)); }
eventually "the slices are cut" 60 cut
expect "nothing is evicted" 10 "$(live)"
check_fails "nothing grows" "exceeded quota" kube -n web create -f - <<<"$(pod more)"
require "the quota is taken away" set_quota null
eventually "and the slices go" 60 no_slices
check "there is room" kube -n web create -f - <<<"$(pod more)"
require "the tenant goes" ctl tenant delete "$t"
