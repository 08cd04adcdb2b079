#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts reconcile authz upstream common
# step: verify
# timeout: 900
# Spaces against a real upstream, made by processes that are zoods without doors: the limit under creations at once, an end at each
# step, and the controller that keeps bindings, owners, labels and deletions.
. "$(dirname "$0")/../e2e/lib.sh"

program=$ZOO_BUILD/tests/functional/spaces
[[ -x $program ]] || skip "$program is not built"
own_upstream
export ZOO_E2E_KUBECONFIG ZOO_DEADLINE=25
kinds=$zoo_root/daemon/upstream/accounts
require "the kind Account" upstream apply -f "$kinds/account.yaml" -f "$kinds/roles.yaml"
require "is served" upstream wait --for condition=established crd/accounts.config.kiosk.sh --timeout 60s
require "members may make spaces" upstream create clusterrolebinding members --clusterrole kiosk-edit --group system:authenticated

# account NAME USER SPACE POLICY: SPACE are the members of spec.space, as JSON.
account() {
  upstream apply -f - <<JSON
{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"Account","metadata":{"name":"$1"},"spec":{"deletionPolicy":"${4:-Orphan}","space":${3:-{\}},
 "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"$2"}]}}
JSON
}
of() { upstream get namespaces -l "kiosk.sh/account=$1" -o name | sort | sed 's/.*\///' | xargs; }
binding() { upstream get rolebinding -n "$1" zoo:account -o jsonpath='{.roleRef.name} {.subjects[*].name}'; }
binds() { [[ $(binding "$1") == "$2" ]]; }
unbound() { ! upstream get rolebinding -n "$1" zoo:account; }
status() { upstream get account.config.kiosk.sh "$1" -o json | jq -r ".status.$2"; }
says() { [[ $(status "$1" "$2") == "$3" ]]; }
gone() { ! upstream get "$@"; }
marked() { upstream get namespace "$1" -o json | jq -er '.metadata.annotations["kiosk.sh/initializing"]'; }
ready() { ! marked "$1" && binds "$1" "$2"; }

# ---- the limit ----------------------------------------------------------------------------------------------------

require "an account of five" account team john '{"limit":5}'
makers=()
for ((i = 0; i < 40; ++i)); do
  "$program" create john "team$i" team >"$TMPDIR/team$i.out" 2>&1 &
  makers+=($!)
done
wait "${makers[@]}"
expect "N1: of forty creations at once five are done" 5 "$(grep -lx Active "$TMPDIR"/team*.out | wc -l)"
expect "the others are told of the limit" 35 "$(grep -l 'space limit of 5 reached for account team' "$TMPDIR"/team*.out | wc -l)"
expect "which upstream says too" 5 "$(of team | wc -w)"
expect "nothing is reserved any more" null "$(status team pending)"
space=$(of team | cut -d' ' -f1)
expect "a member sees what he made" "namespace/$space" "$(upstream get namespace "$space" -o name --as john)"
check_fails "and nobody else" Forbidden upstream get namespace "$space" --as bob

# ---- an end at each step ------------------------------------------------------------------------------------------

require "an account" account short john '{"limit":10}'
for step in reserve namespace settle furnish binding ready seen; do
  ZOO_DIE_AT=$step "$program" create john "at-$step" short >"$TMPDIR/at-$step.out" 2>&1
  expect "it was killed" "137" "$?"
  case $step in
    reserve | namespace) check "at step $step there is no namespace" gone namespace "at-$step" ;;
    settle | furnish | binding) check "at step $step nobody is let in" unbound "at-$step" ;;
  esac
done
"$program" keep >"$TMPDIR/keep.log" 2>&1 &
keeper=$!
at_end() { kill -9 "$keeper" 2>/dev/null; }
for step in settle furnish binding ready seen; do
  eventually "what ended at step $step is ended" 60 ready "at-$step" 'admin john'
done
eventually "and what was reserved for nothing is free" 120 says short pending null
expect "the account has what was made" 'at-binding at-furnish at-ready at-seen at-settle' "$(of short)"
eventually "I2: and its status names it" 30 says short 'namespaces|map(.name)|join(" ")' 'at-binding at-furnish at-ready at-seen at-settle'

# ---- members, roles, bindings -------------------------------------------------------------------------------------

require "another member" account short jane '{"limit":10}'
for step in settle ready; do eventually "she is let in, and he is out" 30 binds "at-$step" 'admin jane'; done
require "another role" account short jane '{"limit":10,"clusterRole":"edit"}'
for step in settle ready; do eventually "is bound in its place" 30 binds "at-$step" 'edit jane'; done
eventually "by one binding" 30 gone rolebinding -n at-ready zoo:account-next
require "somebody deletes a binding" upstream delete rolebinding -n at-ready zoo:account
eventually "it is put back" 30 binds at-ready 'edit jane'
require "somebody adds himself" upstream patch rolebinding -n at-ready zoo:account --type json -p '[{"op":"add","path":"/subjects/-","value":{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bob"}}]'
eventually "he is taken out" 30 binds at-ready 'edit jane'
require "a template" account short jane '{"limit":10,"clusterRole":"edit","spaceTemplate":{"metadata":{"labels":{"tier":"gold"}}}}'
labelled() { [[ $(upstream get namespace "$1" -o jsonpath='{.metadata.labels.tier}') == "$2" ]]; }
eventually "reaches spaces that exist" 30 labelled at-ready gold
require "a space that is changed" upstream label namespace at-ready --overwrite tier=lead
eventually "is changed back" 30 labelled at-ready gold

# ---- owners -------------------------------------------------------------------------------------------------------

require "another account" account other otto '{"limit":3}'
require "a label is changed by hand" upstream label namespace at-seen --overwrite kiosk.sh/account=other
eventually "N7: access moves" 30 binds at-seen 'admin otto'
eventually "A8: and the status of the new owner" 30 says other 'namespaces|map(.name)|join(" ")' at-seen
eventually "A8: and of the old one" 30 says short 'namespaces|map(.name)|join(" ")' 'at-binding at-furnish at-ready at-settle'
check_fails "a member may not move a space" 'update both accounts' "$program" move otto at-seen short
require "who may update both accounts" upstream create clusterrolebinding moves --clusterrole cluster-admin --user root
check "may" "$program" move root at-seen short
eventually "and access moves back" 30 binds at-seen 'edit jane'
require "a namespace of nobody" upstream create namespace stray
check "is adopted" "$program" move root stray other
eventually "with its members" 30 binds stray 'admin otto'
require "another one" upstream create namespace noted
require "asks for an owner by annotation" upstream annotate namespace noted kiosk.sh/account=other
eventually "and has it" 30 binds noted 'admin otto'
expect "by its label" 'noted stray' "$(of other)"
require "the label goes" upstream label namespace noted kiosk.sh/account-
eventually "I5: and access with it" 30 unbound noted

# ---- deletions ----------------------------------------------------------------------------------------------------

require "an account goes" upstream delete account.config.kiosk.sh other --timeout 60s
check "N8: its space stays" upstream get namespace stray
expect "as nobody's" other "$(upstream get namespace stray -o jsonpath='{.metadata.labels.kiosk\.sh/account}{.metadata.annotations.zoo\.kubezoo\.io/orphaned-from}')"
check "without its members" unbound stray
require "one that takes its spaces along" account along john '{"limit":2}' Delete
for name in along-a along-b; do require "a space of it" "$program" create john $name along; done
require "goes" upstream delete account.config.kiosk.sh along --timeout 90s
check "N8: with them" gone namespace along-a along-b
require "one that refuses" account refuses john '{}' Refuse
require "a space of it" "$program" create john kept refuses
require "is deleted" upstream delete account.config.kiosk.sh refuses --wait=false
eventually "N8: and waits" 30 says refuses waitingFor '1 space (kept)'
check "its member is still let in" binds kept 'admin john'
require "until the space is gone" upstream delete namespace kept
eventually "then it goes" 60 gone account.config.kiosk.sh refuses

# ---- the kind is removed by hand ----------------------------------------------------------------------------------

before=$(of short)
require "the definition goes" upstream delete crd accounts.config.kiosk.sh --timeout 60s
expect "the spaces are still the account's" "$before" "$(of short)"
require "the kind comes back" upstream apply -f "$kinds/account.yaml"
served() { upstream wait --for condition=established crd/accounts.config.kiosk.sh --timeout 10s; } # which fails before it has conditions
eventually "and is served" 60 served
eventually "and the account" 60 account short jane '{"limit":10}'
eventually "its members are let in" 60 binds at-ready 'admin jane'
