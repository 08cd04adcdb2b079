# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: roles of a hundred thousand names and aggregations with as many labels, so that to compare them takes a minute: a user who
#   may make roles asks for one as long as what it holds; every change of a role computes all aggregations anew.
# Without the fence: each such request stops an event loop, and everybody whose connection is on it waits.
# Rule: long lists are sorted once and looked up; what a comparison or an aggregation costs is counted in words, and bounded.
rbac=/apis/rbac.authorization.k8s.io/v1
role() { # NAME COUNT PREFIX: a role of so many names
  jq -nc --arg name "$1" --argjson n "$2" --arg p "$3" '{metadata: {name: $name}, rules: [{verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: [range($n) | "\($p)\(.)"]}]}'
}
bind() { printf '{"metadata":{"name":"%s"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"%s"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"evil-half"}]}' "$1" "$1"; }
# meanwhile COMMAND...: every request of the victim is answered, each over a connection of its own.
meanwhile() {
  local pid said wrong=''
  "$@" &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    said=$(curl -s --max-time 30 --cacert "$TMPDIR/$victim.ca" --cert "$TMPDIR/$victim.crt" --key "$TMPDIR/$victim.key" -o /dev/null -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/secrets/$vault")
    [[ $said == 200 ]] || wrong+="$said; "
  done
  wait "$pid"
  expect "the victim is answered meanwhile" '' "$wrong"
}
ask() { # METHOD PATH FILE [HEADER]: long bodies go by file
  curl -s --max-time 60 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" -H 'Content-Type: application/json' ${4:+-H "$4"} -X "$1" --data-binary "@$3" -o "$TMPDIR/asked" -w '%{http_code}' "https://$zood_address$2" >"$TMPDIR/code"
}
role evil-big 99999 a >"$TMPDIR/big"
ask POST $rbac/namespaces/team/roles "$TMPDIR/big"
expect "a role of 99,999 names" 201 "$(<"$TMPDIR/code")"
made "bound" POST $rbac/namespaces/team/rolebindings json "$(bind evil-big)"
made "a role that makes roles" POST $rbac/namespaces/team/roles json '{"metadata":{"name":"evil-maker"},"rules":[{"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}]}'
made "bound as well" POST $rbac/namespaces/team/rolebindings json "$(bind evil-maker)"
role evil-wish 60000 b >"$TMPDIR/wish"
may() {
  ask POST "$rbac/namespaces/team/roles?dryRun=All" <(role evil-none 2 a) 'Impersonate-User: evil-half'
  [[ $(<"$TMPDIR/code") == 201 ]]
}
eventually "it may give what it has" 30 may
meanwhile ask POST $rbac/namespaces/team/roles "$TMPDIR/wish" 'Impersonate-User: evil-half'
expect "what it has not is refused" 403 "$(<"$TMPDIR/code")"
direct POST "$rbac/namespaces/$evil-team/roles?dryRun=All" json "$(role evil-direct 1000 a)"
accepted "upstream takes roles of any length"
# Aggregations, each within what one object may have.
for ((i = 0; i < 8; ++i)); do
  jq -nc --arg name "evil-sum$i" '{metadata: {name: $name, labels: {k: "x"}}, rules: [], aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: "k", operator: "NotIn", values: [range(20000) | "v\(.)"]}]}]}}' >"$TMPDIR/sum"
  ask POST $rbac/clusterroles "$TMPDIR/sum"
  expect "an aggregation of 20,000 labels" 201 "$(<"$TMPDIR/code")"
done
for ((i = 0; i < 150; ++i)); do try POST $rbac/clusterroles json '{"metadata":{"name":"evil-plain'$i'","labels":{"k":"x"}},"rules":[]}'; done
accepted "many roles"
printf '%s' '{"spec":{"user":"evil-half","resourceAttributes":{"verb":"get","resource":"pods"}}}' >"$TMPDIR/review"
reviews() {
  local n
  for n in 1 2 3 4 5 6; do
    ask POST $rbac/clusterroles <(printf '{"metadata":{"name":"evil-more%s","labels":{"k":"x"}},"rules":[]}' "$n")
    ask POST /apis/authorization.k8s.io/v1/subjectaccessreviews "$TMPDIR/review"
  done
}
meanwhile reviews
expect "reviews are answered" 201 "$(<"$TMPDIR/code")"
