#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream gateway translate authz virtuals
# An object that is larger as JSON than zood hands on (of `<` Kubernetes makes six bytes) is its tenant's matter alone: whoever
# follows the same kind, or has the keys in front of it, goes on; and zood starts.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
id=$(random_id)
# The first page of a list of `near` reads on into what is `large`'s.
near=${id:0:5}a large=${id:0:5}b
for tenant in "$near" "$large"; do
  require "create tenant $tenant" ctl tenant create "$tenant" --wait
  export_kubeconfig "$tenant"
  unpack "$tenant"
  eventually "pods can be made in $tenant" 60 as "$tenant" get serviceaccount default
done
require "a user of $near" ctl kubeconfig export "$near" --user jane -o "$TMPDIR/jane.kubeconfig"
check "who may read pods" as "$near" create role reader --verb=get,list --resource=pods
check "by a binding" as "$near" create rolebinding reader --role=reader --user=jane
jane() { "$KUBECTL" --kubeconfig "$TMPDIR/jane.kubeconfig" "$@"; }
eventually "she may" 30 jane get pods

ask() { # TENANT METHOD PATH [BODY]: the code, the answer in $TMPDIR/answer
  local body=()
  [[ -n ${4:-} ]] && body=(-H 'Content-Type: application/json' --data-binary "@$4")
  curl -s --max-time 60 --cacert "$TMPDIR/$1.ca" --cert "$TMPDIR/$1.crt" --key "$TMPDIR/$1.key" -o "$TMPDIR/answer" -w '%{http_code}' -X "$2" "${body[@]}" "https://$zood_address$3"
}
pod() { printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"example/app:1","env":[{"name":"A","value":"%s"}]}]}}' "$1" "$2"; }
watching() { # NAME QUERY
  curl -sN --max-time 300 --cacert "$TMPDIR/$near.ca" --cert "$TMPDIR/$near.crt" --key "$TMPDIR/$near.key" -o "$TMPDIR/$1" "https://$zood_address/api/v1/pods?watch=1&$2" &
  watches+=($!)
}
watches=()
at_end() {
  ((${#watches[@]})) && kill "${watches[@]}" 2>/dev/null
  stop_zood || failed "zood drains and ends with status 0" <<<"status $?"
  [[ -n ${owned:-} ]] && upstream delete namespace "$owned" --wait=false >/dev/null
}
pod before x >"$TMPDIR/pod"
expect "a pod of $near" 201 "$(ask "$near" POST /api/v1/namespaces/default/pods "$TMPDIR/pod")"
watching early 'resourceVersion=0'
eventually "is watched" 30 grep -q '"name":"before"' "$TMPDIR/early"

# Some 8.7 MB, where limits.object is 8 MiB.
many=$(head -c 1450000 /dev/zero | tr '\0' '<')
pod large "$many" >"$TMPDIR/large"
ask "$large" POST /api/v1/namespaces/default/pods "$TMPDIR/large" >/dev/null # its answer is too large; what counts is that it is stored
check "a pod of megabytes is there" upstream get pod large -n "$large-default" -o name
printf '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"large"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"],"resourceNames":["%s"]}]}' "$many" >"$TMPDIR/large"
ask "$large" POST /apis/rbac.authorization.k8s.io/v1/namespaces/default/roles "$TMPDIR/large" >/dev/null
check "and such a role" upstream get role large -n "$large-default" -o name
# Only the platform may give a namespace owners.
owned=$large-owned
printf '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","uid":"4c0e8a2f-0000-4000-8000-000000000000","name":"%s"}]}}' "$owned" "$many" >"$TMPDIR/large"
unpack upstream "$ZOO_E2E_KUBECONFIG" # kubectl itself would write six bytes for one
check "and such a namespace" curl -sSf --cacert "$TMPDIR/upstream.ca" --cert "$TMPDIR/upstream.crt" --key "$TMPDIR/upstream.key" -o /dev/null \
  -H 'Content-Type: application/json' --data-binary "@$TMPDIR/large" "$(<"$TMPDIR/upstream.server")/api/v1/namespaces"

everything_goes_on() {
  pod "$1" x >"$TMPDIR/pod"
  expect "$1: a pod of the neighbour's" 201 "$(ask "$near" POST /api/v1/namespaces/default/pods "$TMPDIR/pod")"
  expect "$1: all of its pods are listed" 200 "$(ask "$near" GET /api/v1/pods)"
  expect "$1: and whole" true "$(jq --arg name "$1" '[.items[].metadata.name] | contains(["before", $name])' "$TMPDIR/answer")"
  expect "$1: as a Table" 0 "$(as "$near" get pods -A >"$TMPDIR/table" 2>&1; echo $?)"
  expect "$1: its roles, too" 200 "$(ask "$near" GET /apis/rbac.authorization.k8s.io/v1/roles)"
  eventually "$1: its user may what she may" 30 jane get pods
  watching "$1" 'resourceVersion=0'
  eventually "$1: a new watch hears of it" 30 grep -q "\"name\":\"$1\"" "$TMPDIR/$1"
}
everything_goes_on now
# A watch may be told to begin anew, as after a 410; then it is told all the same.
hears_or_ends() { grep -q '"name":"now"' "$TMPDIR/early" || ! kill -0 "${watches[0]}" 2>/dev/null; }
eventually "the watch that was there hears of it, or ends" 30 hears_or_ends

kill "${watches[@]}" 2>/dev/null
watches=()
stop_zood || failed "zood ends" <<<"status $?"
start_zood --listen "$zood_address"
everything_goes_on anew
expect_match "what is too large is told to its tenant" '^(413|500|000)$' "$(ask "$large" GET /api/v1/namespaces/default/pods/large)"
expect "and that it was deleted, of which there is as much to say" 504 "$(ask "$large" DELETE '/api/v1/namespaces/default/pods/large?gracePeriodSeconds=0')"
expect_match "in words" 'the request was done' "$(<"$TMPDIR/answer")"
check_fails "it is gone" NotFound upstream get pod large -n "$large-default"
