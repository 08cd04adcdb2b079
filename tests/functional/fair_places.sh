#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway
# timeout: 900
# Places of all tenants together: while upstream answers nobody, one tenant's users take them all and queue. Another tenant
# gets a place at once, is served in turn with all of them when upstream goes on, has places by weight, and loses nothing. Has an
# upstream of its own, which it stops.
. "$(dirname "$0")/../e2e/lib.sh"

up=$TMPDIR/up
apiserver=
at_end() {
  [[ -n $apiserver ]] && kill -CONT "$apiserver" 2>/dev/null
  stop_zood || failed "zood drains and ends with status 0" <<<"status $?"
  "$ZOO_UPSTREAM" stop --dir "$up"
}
ZOO_E2E_KUBECONFIG=$("$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 400) || exit 1
apiserver=$("$ZOO_UPSTREAM" status --dir "$up" | awk '$1 == "apiserver" { print $2 }')
cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
admin: {listen: "127.0.0.1:0"}
limits: {total_inflight: 4, queue: 100, queue_wait: 60s}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
new_tenant b
unpack a "$TMPDIR/$a.kubeconfig"
unpack b "$TMPDIR/$b.kubeconfig"
check "all users of one tenant may read" as "$a" create clusterrolebinding readers --clusterrole=view --group=system:authenticated
for who in "$a" "$b"; do check "$who is served" as "$who" get configmaps; done

value() { curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk -v sample="$1" '$1 == sample { print $2 }'; }
stands() { [[ "$(value zood_requests_inflight) $(value zood_requests_queued)" == "$1" ]]; }
# ask_all WHO NAME NUMBER USERS: so many requests at once, of so many users (0: the administrator); their codes into NAME.
ask_all() {
  local who=$1 name=$2 number=$3 users=$4 i
  for ((i = 1; i <= number; ++i)); do
    ((i == 1)) || echo next
    printf 'url = "%s/api/v1/namespaces/default/configmaps/%s-%d"\noutput = "%s/%s-%d"\nwrite-out = "%%{http_code} %%header{retry-after}\\n"\n' "$(<"$TMPDIR/$who.server")" "$name" "$i" "$TMPDIR" "$name" "$i"
    printf 'http1.1\nsilent\ncacert = "%s"\ncert = "%s"\nkey = "%s"\n' "$TMPDIR/$who.ca" "$TMPDIR/$who.crt" "$TMPDIR/$who.key"
    ((users == 0)) || printf 'header = "Impersonate-User: user-%d"\n' $((i % users))
  done >"$TMPDIR/$name.curl"
  curl --parallel --parallel-immediate --parallel-max 200 -K "$TMPDIR/$name.curl" >"$TMPDIR/$name.codes" 2>"$TMPDIR/$name.err" &
}
# answered: whose requests were answered, in that order, of those whose names begin so.
answered() { sed -nE "s/.*\"name\":\"$1-([ab])-[0-9]+\".*/\1/p" "$zood_dir/audit/audit.log"; }

# ---- first requests have a place, the rest their turn -----------------------------------------------------------------

require "upstream answers nobody" kill -STOP "$apiserver"
ask_all a one-a 40 30
eventually "thirty users of one tenant have all places" 30 stands '4 36'
ask_all b one-b 6 0
eventually "another's first request has one all the same, the rest wait" 30 stands '5 41'
require "upstream goes on" kill -CONT "$apiserver"
wait_for() { local one; for one; do [[ $(wc -l <"$TMPDIR/$one.codes") == "$(grep -c '^url' "$TMPDIR/$one.curl")" ]] || return 1; done; }
eventually "all are answered" 60 wait_for one-a one-b
expect "and nobody was sent away" "46 404" "$(cut -d ' ' -f 1 "$TMPDIR"/one-?.codes | sort | uniq -c | sed 's/^ *//')"
told() { [[ $(answered "$1" | wc -l) == "$2" ]]; }
eventually "all are in the log" 30 told one 46
# First come, first served would answer the other tenant's last; in turns its six are among the first twelve or so.
order=$(answered one | tr -d '\n')
expect_match "the other's six come before half of the one's" '^(a*b){6}a{20,}$' "$order"

# ---- by weight --------------------------------------------------------------------------------------------------------

weigh() { "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" patch tenant "$1" --type merge -p '{"spec":{"flow":{"weight":'"$2"'}}}'; }
check "one's weight" weigh "$a" 10
check "three times as much" weigh "$b" 30
heavier() { [[ "$(ctl tenant list -o json | jq -r --arg id "$1" '.items[] | select(.metadata.name == $id) | .spec.flow.weight')" == "$2" ]]; }
eventually "zood knows" 30 heavier "$b" 30
check "by the proxy, too" as "$b" get configmaps
require "upstream answers nobody" kill -STOP "$apiserver"
ask_all a two-a 40 30
eventually "the places are taken" 30 stands '4 36'
ask_all b two-b 40 0
eventually "and wanted" 30 stands '5 75'
# How many of each are answered in some time depends on how long each takes; how many places each has does not. Twenty-four
# places are given out one by one while nobody gives one back: six and eighteen are one to three.
sed -i 's/total_inflight: 4/total_inflight: 24/' "$TMPDIR/zood.yaml"
check "there are more places" kill -HUP "${zood_pids[$zood_dir]}"
eventually "they are taken, too" 30 stands '24 56'
places() { ctl top "$1" -o json | jq '.items[0].usage.flow.requestsInflight.used'; }
expect "three times as many are the heavier tenant's" "6 18" "$(places "$a") $(places "$b")"
require "upstream goes on" kill -CONT "$apiserver"
eventually "all are answered" 60 wait_for two-a two-b
expect "without a refusal" "80 404" "$(cut -d ' ' -f 1 "$TMPDIR"/two-?.codes | sort | uniq -c | sed 's/^ *//')"

# ---- a queue that is full ---------------------------------------------------------------------------------------------

sed -i 's/total_inflight: 24, queue: 100/total_inflight: 4, queue: 10/' "$TMPDIR/zood.yaml"
check "fewer places and a shorter queue" kill -HUP "${zood_pids[$zood_dir]}"
reloaded() { (($(grep -c ' app: reloaded' "$zood_dir.log") == $1)); }
eventually "are read" 30 reloaded 2
require "upstream answers nobody" kill -STOP "$apiserver"
ask_all a three-a 100 30
eventually "one tenant's queue is full" 30 stands '4 10'
ask_all b three-b 6 0
eventually "the other's is its own" 30 stands '5 15'
sent_away() { [[ $(grep -c '"code":429' "$zood_dir/audit/audit.log") == 86 ]]; }
eventually "those beyond it are sent away meanwhile" 30 sent_away
require "upstream goes on" kill -CONT "$apiserver"
eventually "the others are answered" 60 wait_for three-a three-b
expect "the neighbour notices nothing" "6 404" "$(cut -d ' ' -f 1 "$TMPDIR/three-b.codes" | sort | uniq -c | sed 's/^ *//')"
expect "nor do the tenant's own that were in the queue, and the rest are told when to come again" "14 404 86 429 1" "$(sort "$TMPDIR/three-a.codes" | uniq -c | xargs)"
for id in "$a" "$b"; do check "$id goes" ctl tenant delete "$id" --wait; done
