#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources app
# step: verify
# timeout: 900
# Spaces through the account door, with plain kubectl: a member makes them within the limit of his account, changes what he may,
# and has access in all of them and nowhere else; zood killed in between; what administrators change upstream.
. "$(dirname "$0")/lib.sh"

own_upstream # every zood with accounts keeps those of its whole upstream
config=$'accounts:\n  enabled: true\n  listen: 127.0.0.1:0\n  self_service: true'
start_zood_with "$config"
find_door() { door=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1); }
find_door
require "the account door listens" test -n "$door"
new_tenant t
unpack "$t"

run=$(random_id)
john=john-$run bob=bob-$run team=team-$run

new_user "$john"
new_user "$bob"
at_door() { # NAME ARGUMENTS...: kubectl as that person
  local file=$TMPDIR/$1
  shift
  "$KUBECTL" --server "https://$door" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$file.crt" --client-key "$file.key" "$@"
}
john() { at_door "$john" "$@"; }
bob() { at_door "$bob" "$@"; }
space() { printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Space","metadata":{"name":"%s"},"spec":{"account":"%s"}}' "$1" "$2"; }

require "an account of three" upstream apply -f - <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: $team}
spec:
  space: {limit: 3, spaceTemplate: {metadata: {labels: {tier: gold}}}}
  subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: $john}]
YAML
sees_account() { [[ $(john get accounts.tenancy.kiosk.sh -o name) == "account.tenancy.kiosk.sh/$team" ]]; }
eventually "he sees his account" 30 sees_account

# ---- made ---------------------------------------------------------------------------------------------------------
check "a member makes a space" john create -f - <<<"$(space "$run-a" "$team")"
check "and works in it" john -n "$run-a" create configmap here --from-literal=a=b
expect "which upstream lets him, without zood" yes "$(upstream auth can-i create pods -n "$run-a" --as "$john")"
expect "he sees his spaces" "$run-a" "$(john get spaces -o 'jsonpath={.items[*].metadata.name}')"
expect "the template's label is there" gold "$(john get space "$run-a" -o 'jsonpath={.metadata.labels.tier}')"
expect_match "kubectl create namespace is the same" "namespace/$run-b created" "$(john create namespace "$run-b" 2>&1)"
expect "it is his account's" "$team" "$(john get space "$run-b" -o 'jsonpath={.spec.account}')"
check_fails "the name is taken" 'already exists' john create namespace "$run-b"
check_fails "a name of the system is none" 'is reserved' john create namespace "kube-$run"
check_fails "nor one under a tenant's prefix" "the prefix \"$t-\" belongs to a tenant" john create namespace "$t-$run"
check_fails "N10: a reserved label is not his to set" 'pod-security.kubernetes.io/enforce' \
  john create -f - <<<"$(space "$run-x" "$team" | sed 's/"name"/"labels":{"pod-security.kubernetes.io\/enforce":"privileged"},"name"/')"
check_fails "nobody makes a space of another's account" "user \"$bob\" is no member of account \"$team\"" bob create -f - <<<"$(space "$run-x" "$team")"
check_fails "who is no member makes none" 'is a member of no account' bob create namespace "$run-x"
check_fails "an account that is not there" 'accounts.config.kiosk.sh "nowhere" not found' john create -f - <<<"$(space "$run-x" nowhere)"
check "a dry run" john create namespace "$run-x" --dry-run=server
makers=()
for ((i = 0; i < 10; ++i)); do
  john create namespace "$run-n$i" >"$TMPDIR/n$i.out" 2>&1 &
  makers+=($!)
done
wait "${makers[@]}"
expect "N1: of ten at once one is made" 1 "$(grep -l ' created' "$TMPDIR"/n?.out | wc -l)"
expect "N1: the others are told of the limit" 9 "$(grep -l "space limit of 3 reached for account $team" "$TMPDIR"/n?.out | wc -l)"
expect "three are there" 3 "$(upstream get ns -l "kiosk.sh/account=$team" -o name | wc -l)"

# ---- changed ------------------------------------------------------------------------------------------------------
check "a member labels his space" john label space "$run-a" mine=yes
expect "which is the namespace" yes "$(upstream get ns "$run-a" -o 'jsonpath={.metadata.labels.mine}')"
check "and applies it" john apply -f - <<<"$(space "$run-a" "$team")"
check_fails "not a reserved label" 'is reserved' john label space "$run-a" kiosk.sh/x=y
check_fails "N7: he moves it nowhere" 'update both accounts' john patch space "$run-a" --type merge -p '{"spec":{"account":"other"}}'
hidden() { sed "s/$1/NAME/g" <<<"$(bob delete space "$1" 2>&1)"; }
expect_match "who has no right is refused" Forbidden "$(hidden "$run-a")"
expect "and learns nothing" "$(hidden "$run-nowhere")" "$(hidden "$run-a")"
check_fails "a member who may not delete is told who may" '"kiosk-space-admin" may' john delete space "$run-a"
check "an administrator gives more" upstream patch account.config.kiosk.sh "$team" --type merge -p '{"spec":{"space":{"clusterRole":"kiosk-space-admin"}}}'
may_delete() { [[ $(upstream auth can-i delete "namespaces/$run-a" -n "$run-a" --as "$john") == yes ]]; }
eventually "it reaches spaces that exist" 30 may_delete
check "so he deletes one" john delete space "$run-b" --timeout 60s
eventually "and makes another" 60 john create namespace "$run-c"

# ---- kept ---------------------------------------------------------------------------------------------------------
require "somebody deletes a binding" upstream delete rolebinding -n "$run-a" zoo:account
let_in() { [[ $(upstream auth can-i get pods -n "$1" --as "$2") == "$3" ]]; }
eventually "it is put back" 30 let_in "$run-a" "$john" yes
require "another member" upstream patch account.config.kiosk.sh "$team" --type json \
  -p '[{"op":"add","path":"/spec/subjects/-","value":{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"'"$bob"'"}}]'
eventually "N6: has access" 30 let_in "$run-a" "$bob" yes
sees() { [[ $("$1" get spaces -o name | wc -l) == "$2" ]]; }
eventually "and sees the spaces" 30 sees bob 3
require "he leaves" upstream patch account.config.kiosk.sh "$team" --type json -p '[{"op":"remove","path":"/spec/subjects/1"}]'
eventually "N6: and sees none" 30 sees bob 0
expect "nor has he access" no "$(upstream auth can-i get pods -n "$run-a" --as "$bob")"

# ---- zood killed while spaces are made --------------------------------------------------------------------------------
require "more room" upstream patch account.config.kiosk.sh "$team" --type merge -p '{"spec":{"space":{"limit":23}}}'
makers=()
for ((i = 0; i < 20; ++i)); do
  john create namespace "$run-k$i" >/dev/null 2>&1 &
  makers+=($!)
done
some_made() { upstream get ns -o name | says_line "/$run-k"; }
eventually "some are being made" 30 some_made
stop_zood KILL
wait "${makers[@]}"
start_zood_with "$config"
find_door
all_ready() {
  local ns
  for ns in $(upstream get ns -l "kiosk.sh/account=$team" -o 'jsonpath={.items[*].metadata.name}'); do
    [[ -z $(upstream get ns "$ns" -o json | jq -r '.metadata.annotations["kiosk.sh/initializing"] // empty') ]] || return 1
    upstream get rolebinding -n "$ns" zoo:account >/dev/null || return 1
  done
}
eventually "N4: what was half made is made" 60 all_ready
told() { [[ $(upstream get account.config.kiosk.sh "$team" -o json | jq '.status.namespaces | length') == "$(upstream get ns -l "kiosk.sh/account=$team" -o name | wc -l)" ]]; }
eventually "and the account says so" 30 told

# ---- the end ------------------------------------------------------------------------------------------------------
require "the account goes" upstream delete account.config.kiosk.sh "$team" --timeout 60s
expect "its spaces stay, as nobody's" 0 "$(upstream get ns -l "kiosk.sh/account=$team" -o name | wc -l)"
expect "and say whose they were" "$team" "$(upstream get ns "$run-a" -o 'jsonpath={.metadata.annotations.zoo\.kubezoo\.io/orphaned-from}')"
expect "without its members" no "$(upstream auth can-i get pods -n "$run-a" --as "$john")"
