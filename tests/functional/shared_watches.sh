#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway
# timeout: 900
# All watches of a kind hang on one upstream watch: each hears exactly what a watch of its own would, in upstream's
# order, from where it says; and none notices that upstream was away. Has an upstream of its own, which it restarts.
. "$(dirname "$0")/../e2e/lib.sh"

up=$TMPDIR/up
at_end() {
  [[ -n ${curls[*]:-} ]] && kill "${curls[@]}" 2>/dev/null
  stop_zood || failed "zood drains and ends with status 0" <<<"status $?"
  "$ZOO_UPSTREAM" stop --dir "$up"
}
curls=()
ZOO_E2E_KUBECONFIG=$("$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 400) || exit 1
start_zood
new_tenant a
new_tenant b

unpack a "$TMPDIR/$a.kubeconfig"
unpack b "$TMPDIR/$b.kubeconfig"
unpack upstream "$ZOO_E2E_KUBECONFIG"

# open_all WHO FILE...: reads lines "NAME QUERY" of watches and opens them all in one curl, each into out/NAME.
mkdir "$TMPDIR/out"
open_all() {
  local who=$1 config=$TMPDIR/$1.${#curls[@]}.curl name path
  while read -r name path; do
    printf 'url = "%s%s"\noutput = "%s"\n' "$(<"$TMPDIR/$who.server")" "$path" "$TMPDIR/out/$name"
  done >"$config"
  curl -sSN --globoff --parallel --parallel-immediate --parallel-max 200 --cacert "$TMPDIR/$who.ca" \
    --cert "$TMPDIR/$who.crt" --key "$TMPDIR/$who.key" -K "$config" >"$config.log" 2>&1 &
  curls+=($!)
}
# events NAME: "TYPE namespace/name resourceVersion" of each, without bookmarks.
events() {
  jq -r 'select(.type != "BOOKMARK") | "\(.type) \(.object.metadata.namespace)/\(.object.metadata.name) \(.object.metadata.resourceVersion)"' \
    "$TMPDIR/out/$1"
}
has() { grep -q -- "$2" "$TMPDIR/out/$1" 2>/dev/null; }
watches() { # of configmaps, at upstream
  upstream get --raw /metrics |
    awk '/^apiserver_longrunning_requests\{.*resource="configmaps",scope="cluster".*verb="WATCH"/ { n += $2 } END { print n + 0 }'
}
version() { as "$1" get --raw '/api/v1/configmaps?limit=1' | jq -r .metadata.resourceVersion; }

# ---- fifty watches, one upstream ------------------------------------------------------------------------------------

check "a namespace of a" as "$a" create namespace team
eventually "whose certificates are there" 30 as "$a" -n team get configmap kube-root-ca.crt
eventually "and the default one's" 30 as "$b" get configmap kube-root-ca.crt
steady() { local n; n=$(watches); sleep 5; [[ $(watches) == "$n" ]]; }
eventually "zood's own watches are there" 120 steady
before=$(watches)
start=$(version "$a")
cm=/api/v1/configmaps team=/api/v1/namespaces/team/configmaps
from="watch=1&resourceVersion=$start"
open_all a < <(
  for ((i = 0; i < 20; ++i)); do echo "wide-$i $cm?$from&allowWatchBookmarks=true"; done
  for ((i = 0; i < 10; ++i)); do echo "team-$i $team?$from"; done
  for ((i = 0; i < 10; ++i)); do echo "named-$i $team?$from&fieldSelector=metadata.name%3Dtwo"; done
  for ((i = 0; i < 10; ++i)); do echo "label-$i $cm?$from&labelSelector=app%3Dweb"; done
  for ((i = 0; i < 40; ++i)); do echo "more-$i $cm?$from"; done
)
open_all b < <(for ((i = 0; i < 10; ++i)); do echo "b-$i $cm?$from"; done)
# What upstream itself says to the same questions.
direct=/api/v1/namespaces/$a-team/configmaps
open_all upstream < <(
  echo "direct $cm?$from"
  echo "direct-named $direct?$from&fieldSelector=metadata.name%3Dtwo"
  echo "direct-label $direct?$from&labelSelector=app%3Dweb"
)
eventually "100 watches of two tenants are one upstream" 60 eval '(($(watches) == before + 2))' # and the direct one

change() { # as whom, in which namespace
  local who=(as "$1" -n "$2")
  "${who[@]}" create configmap one --from-literal=k=v
  "${who[@]}" create configmap two --from-literal=k=v
  "${who[@]}" label configmap two app=web
  "${who[@]}" annotate configmap two note=x
  "${who[@]}" label configmap one app=web
  "${who[@]}" label --overwrite configmap one app=db
  "${who[@]}" delete configmap two --wait=false
  "${who[@]}" label --overwrite configmap one app=web
  "${who[@]}" delete configmap one --wait=false
}
change "$a" team >/dev/null &
changing=$!
change "$b" default >/dev/null
wait "$changing"
check "a last change of each" eval "as '$a' -n team create configmap last && as '$b' create configmap last && as '$a' -n team label configmap last app=web"
all_have() { # TEXT NAME...
  local text=$1 name
  shift
  for name; do grep -q -- "$text" "$TMPDIR/out/$name" || return 1; done
}
eventually "all have come to their end" 60 all_have '"app":"web".*"name":"last"\|"name":"last".*"app":"web"' \
  wide-{0..19} team-{0..9} label-{0..9} more-{0..39} direct direct-label
eventually "those by name, too" 60 all_have '"type":"DELETED".*"name":"two"' named-{0..9} direct-named
eventually "and the neighbour's" 60 all_have '"name":"last"' b-{0..9}

own() { events "$1" | sed -n "s, $2-, ,p"; }
wanted=$(own direct "$a")
expect_match "the direct watch has seen them" '^DELETED team/one' "$wanted"
for name in wide-0 wide-7 wide-19 team-0 team-9 more-0 more-39; do
  expect "$name has heard what upstream says, in its order" "$(grep ' team/' <<<"$wanted")" "$(events "$name" | grep ' team/')"
done
expect "and so have all" 1 "$(for ((i = 0; i < 40; ++i)); do events "more-$i" | md5sum; done | sort -u | wc -l)"
expect "a watch by name" "$(own direct-named "$a")" "$(events named-3)"
expect "a watch by label" "$(own direct-label "$a")" "$(events label-3 | grep ' team/')"
expect "the neighbour hears its own" "$(own direct "$b")" "$(events b-3)"

# ---- resume ---------------------------------------------------------------------------------------------------------

middle=$(awk 'NR == 4 { print $3 }' <<<"$wanted")
open_all a < <(
  echo "resumed $cm?watch=1&resourceVersion=$middle&timeoutSeconds=15"
  echo "resumed-label $cm?watch=1&resourceVersion=$middle&timeoutSeconds=15&labelSelector=app%3Dweb"
  echo "initial $team?watch=1&timeoutSeconds=15"
  echo "partial $cm?watch=1&resourceVersion=$middle&timeoutSeconds=15"
)
open_all upstream < <(
  echo "direct-resumed-label $direct?watch=1&resourceVersion=$middle&timeoutSeconds=15&labelSelector=app%3Dweb"
)
wait "${curls[-2]}" "${curls[-1]}"
unset 'curls[-1]' 'curls[-1]'
expect "a client goes on from where it was" "$(awk -v v="$middle" '$3 > v' <<<"$wanted")" "$(events resumed)"
expect "with a selector too" "$(own direct-resumed-label "$a")" "$(events resumed-label | grep ' team/')"
expect "a watch from nowhere begins with what is there" "ADDED team/kube-root-ca.crt ADDED team/last" \
  "$(events initial | awk '{ print $1, $2 }' | sort | xargs)"
eventually "its watches are one upstream still" 60 eval '(($(watches) == before + 2))'

# ---- an event of a megabyte, for seventy who read --------------------------------------------------------------------

# More than a tenant may have waiting for its clients: they get it in turn, and no watch ends.
head -c 900000 /dev/zero | tr '\0' x >"$TMPDIR/large"
check "a large object" as "$a" -n team create configmap large --from-file=word="$TMPDIR/large"
check "and a small change after it" as "$a" -n team create configmap after-large
heard_both() {
  local name
  for name in wide-{0..19} team-{0..9} more-{0..39}; do
    grep -q '"name":"after-large"' "$TMPDIR/out/$name" || return 1
  done
}
eventually "all seventy have heard both" 60 heard_both
expect "each once, the large one whole" "70 ADDED team/large ADDED team/after-large" \
  "$(for name in wide-{0..19} team-{0..9} more-{0..39}; do events "$name" | awk '/large/ { print $1, $2 }' | xargs; done | sort | uniq -c | sed 's/^ *//')"

# The same of a kind that zood keeps itself.
flows=/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas
now=$(as "$a" get --raw "$flows?limit=1" | jq -r .metadata.resourceVersion)
for half in 0 190; do
  open_all a < <(for ((i = half; i < half + 190; ++i)); do echo "flow-$i $flows?watch=1&resourceVersion=$now"; done)
done
opened() { [[ $(curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '$1 == "zood_long_running" { print $2 }') -ge 450 ]]; }
eventually "three hundred and eighty watches" 30 opened
flow() { # NAME WORD
  jq -n --arg name "$1" --rawfile word "$2" '{apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "FlowSchema", metadata: {name: $name, annotations: {word: $word}},
    spec: {matchingPrecedence: 1000, priorityLevelConfiguration: {name: "workload-low"}}}'
}
head -c 250000 "$TMPDIR/large" >"$TMPDIR/less"
check "a large object of them" as "$a" create -f - < <(flow large "$TMPDIR/less")
check "and a small one after it" as "$a" create -f - < <(flow after-large /dev/null)
heard_flows() {
  local i
  for ((i = 0; i < 380; ++i)); do
    grep -q '"name":"after-large"' "$TMPDIR/out/flow-$i" || return 1
  done
}
eventually "all have heard both" 60 heard_flows
kill "${curls[-1]}" "${curls[-2]}"
unset 'curls[-1]' 'curls[-1]'

# Who reads nothing is ended before long, and the audit log says why.
check "a Secret" as "$a" -n team create secret generic first
open_all a < <(echo "sleeper /api/v1/namespaces/team/secrets?watch=1")
eventually "is watched by one more" 30 has sleeper '"name":"first"'
kill -STOP "${curls[-1]}"
for n in {1..12}; do check "a large Secret, $n" as "$a" -n team create secret generic "large-$n" --from-file=word="$TMPDIR/large"; done
told() { ctl audit "$a" --verb watch -o json | jq -e '[.items[] | select(.resource == "secrets" and .reason == "its client, or others of its tenant, do not read: no room for what comes")] | length == 1' >/dev/null; }
eventually "who reads nothing is ended, and the audit log says why" 60 told
kill -CONT "${curls[-1]}"
wait "${curls[-1]}"
unset 'curls[-1]'
check "they go" as "$a" -n team delete secret --all

# ---- upstream goes away ---------------------------------------------------------------------------------------------

as "$a" -n team create configmap goes >/dev/null
as "$a" -n team create configmap stays >/dev/null
eventually "all know it" 30 has more-39 '"name":"stays"'
kill -STOP "${zood_pids[$zood_dir]}" # it does not see what comes
kill -KILL "$("$ZOO_UPSTREAM" status --dir "$up" | awk '$1 == "apiserver" { print $2 }')"
"$ZOO_UPSTREAM" stop --dir "$up"
require "upstream comes back" "$ZOO_UPSTREAM" start --dir "$up" --port 0 --timeout 400
check "what changes meanwhile" upstream -n "$a-team" delete configmap goes
check "... and more" upstream -n "$a-team" label configmap stays app=web
check "... and more" upstream -n "$a-team" create configmap comes
kill -CONT "${zood_pids[$zood_dir]}"
whole=(wide-{0..19} team-{0..9} more-{0..39})
eventually "all seventy hear what has come" 60 all_have '"name":"comes"' "${whole[@]}"
eventually "and the selector's watches their part" 60 all_have '"name":"stays"' label-{0..9}
# What each has heard of these, in words; once and in the same order.
heard_of() { for name; do events "$name" | awk '/team\/(goes|stays|comes) / { print $1, $2 }' | tail -n 3 | sort | xargs; done | sort | uniq -c | xargs; }
expect "what has gone, what is different, what has come" "70 ADDED team/comes DELETED team/goes MODIFIED team/stays" "$(heard_of "${whole[@]}")"
expect "by label it has come" "10 ADDED team/stays" "$(heard_of label-{0..9})"
# A change for each of the hundred: none has ended, or is deaf.
check "after that" as "$a" -n team create configmap after
check "... by label" as "$a" -n team label configmap after app=web
check "... by name" as "$a" -n team create configmap two
check "... of the neighbour" as "$b" create configmap after
eventually "all seventy go on" 60 all_have '"name":"after"' "${whole[@]}"
eventually "those by label" 60 all_have '"name":"after"' label-{0..9}
eventually "those by name" 60 all_have '"type":"ADDED".*"name":"two".*"uid":"'"$(as "$a" -n team get configmap two -o 'jsonpath={.metadata.uid}')" named-{0..9}
eventually "and the neighbour's" 60 all_have '"name":"after"' b-{0..9}
expect "no watch has seen an error" "" "$(grep -l '"ERROR"' "$TMPDIR"/out/{wide,team,named,label,more,b}-*)"
for pid in "${curls[@]:0:2}"; do check "no watch has ended" kill -0 "$pid"; done
expect "nobody has heard anything twice" "" "$(events more-3 | sort | uniq -d)"
eventually "bookmarks come once a minute" 120 has wide-0 '"BOOKMARK"'
expect_no_match "to those who asked" BOOKMARK "$(cat "$TMPDIR"/out/more-*)"
