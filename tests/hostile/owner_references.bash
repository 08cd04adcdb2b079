# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: owner references to the victim's objects and the platform's, by UID, and deletions with the victim's UID as precondition.
# Without the fence: the garbage collector follows UIDs wherever they are; a dependent tells when an owner goes.
# Rule: cluster-scoped owners get the prefix; an owner in another namespace is none, and only the dependent itself is collected.
owner() { printf '{"metadata":{"name":"evil-%s","ownerReferences":[{"apiVersion":"%s","kind":"%s","name":"%s","uid":"%s","controller":true,"blockOwnerDeletion":true}]}}' "$@"; }
node_uid=$(stored /api/v1/nodes/kwok-1 .metadata.uid)
role_uid=$(stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$victim-$vault" .metadata.uid)
namespace_uid=$(stored "/api/v1/namespaces/$victim-team" .metadata.uid)
for what in "a v1 Secret $vault $victims_uid" "b rbac.authorization.k8s.io/v1 ClusterRole $vault $role_uid" "c rbac.authorization.k8s.io/v1 ClusterRole $victim-$vault $role_uid" "d v1 Namespace $victim-team $namespace_uid" \
  "e v1 Node kwok-1 $node_uid" "f rbac.authorization.k8s.io/v1 ClusterRoleBinding $vault $role_uid"; do
  # shellcheck disable=SC2086
  try POST /api/v1/namespaces/team/configmaps json "$(owner $what)"
  expect_match "$code: $what" '^(201|4..)$' "$code"
done
for uid in "$victims_uid" "$role_uid" "$namespace_uid"; do
  for path in /api/v1/namespaces/team/configmaps/evil-e /api/v1/namespaces/team/configmaps/evil-a "/api/v1/namespaces/team/secrets/$vault" "/apis/rbac.authorization.k8s.io/v1/clusterroles/$vault"; do
    try DELETE "$path" json '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"'"$uid"'"},"propagationPolicy":"Background"}'
    refused "DELETE $path of the victim's UID"
  done
  try PUT /api/v1/namespaces/team/configmaps/evil-uid json '{"metadata":{"name":"evil-uid","uid":"'"$uid"'"}}'
  refused "an object of the victim's UID"
  try POST /api/v1/namespaces/team/secrets json '{"metadata":{"name":"evil-uid-'"${uid:0:4}"'","uid":"'"$uid"'","resourceVersion":"","creationTimestamp":"2000-01-01T00:00:00Z"}}'
  expect_no_match "nor a new one" "\"uid\": ?\"$uid\"" "$answer"
done
try DELETE "/api/v1/namespaces/team/configmaps?propagationPolicy=Foreground"
accepted "all of it goes"
collected() { [[ $(stored "/api/v1/namespaces/$evil-team/configmaps" '[.items[].metadata.name | select(startswith("evil-"))] | length') == 0 ]]; }
eventually "and has gone, by the garbage collector's hand too" 180 collected
# What would be so in the victim's namespace, were it possible to write there. Its name is none of an attacker's, for other scripts
# look for those outside of attackers' prefixes.
direct POST "/api/v1/namespaces/$victim-team/configmaps" json '{"metadata":{"name":"orphan","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"00000000-0000-0000-0000-000000000000"}]}}'
accepted "upstream itself would: take an object whose owner is not there"
orphaned() {
  direct GET "/api/v1/namespaces/$victim-team/configmaps/orphan"
  [[ $code == 404 ]]
}
eventually "and its garbage collector deletes it" 180 orphaned
