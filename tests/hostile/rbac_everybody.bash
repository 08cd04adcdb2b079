# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bindings for everybody: groups of the system, anonymous, accounts of all namespaces, with cluster-admin and its own roles.
# Without the fence: a binding of system:authenticated upstream is a right of every tenant, and of the attacker everywhere.
# Rule: subjects are stored inert, verbs are stored inert, a ClusterRoleBinding is stored as a RoleBinding of the tenant's own namespace.
made "a role for all" POST /apis/rbac.authorization.k8s.io/v1/clusterroles json '{"metadata":{"name":"evil-all"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"nonResourceURLs":["*"],"verbs":["*"]}]}'
n=0
for role in cluster-admin evil-all admin system:kube-controller-manager; do
  for subject in '"kind":"Group","name":"system:authenticated"' '"kind":"Group","name":"system:unauthenticated"' '"kind":"Group","name":"system:serviceaccounts"' '"kind":"User","name":"system:anonymous"' '"kind":"User","name":"zoo:'"$evil"'"' '"kind":"Group","name":"zoo:tenants"' '"kind":"Group","name":"*"' '"kind":"User","name":"*"'; do
    n=$((n + 1))
    try POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"evil-'$n'"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"'$role'"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io",'"$subject"'}]}'
    try POST /apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings json '{"metadata":{"name":"evil-'$n'"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"'$role'"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io",'"$subject"'}]}'
  done
done
for account in default system "$vault"; do
  try POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"evil-sa-'$account'"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"'$account'","namespace":"team"},{"kind":"ServiceAccount","name":"'$vault'","namespace":"'"$victim-team"'"}]}'
done
may() { # USER GROUP NAMESPACE VERB RESOURCE
  direct POST /apis/authorization.k8s.io/v1/subjectaccessreviews json '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"'"$1"'","groups":["'"$2"'","system:authenticated","zoo:tenants"],"resourceAttributes":{"namespace":"'"$3"'","verb":"'"$4"'","resource":"'"$5"'"}}}'
  jq -r .status.allowed <<<"$answer"
}
for where in "" kube-system "$victim-team" "$evil-team" "$evil-kube-system"; do
  expect "upstream gives an account nothing in '$where'" false "$(may "system:serviceaccount:$evil-team:default" "system:serviceaccounts:$evil-team" "$where" get secrets)"
  expect "nor anybody else" false "$(may mallory system:serviceaccounts "$where" list pods)"
  [[ $where == "$evil"-* ]] || expect "nor the attacker" false "$(may "zoo:$evil" system:authenticated "$where" get secrets)"
done
expect "no binding of the cluster came of it" 0 "$(stored /apis/rbac.authorization.k8s.io/v1/clusterrolebindings '[.items[] | select(.metadata.name | contains("evil"))] | length')"
expect "every subject is inert" 0 "$(stored /apis/rbac.authorization.k8s.io/v1/rolebindings '[.items[] | select(.metadata.namespace | startswith("'"$evil"'-")) | select(.metadata.name != "zoo-tenant") | .subjects[]? | if .kind == "ServiceAccount" then .namespace else .name end | select(startswith("zoo:inert:") | not)] | length')"
token=$(jq -r '.status.token // empty' < <(try POST /api/v1/namespaces/team/serviceaccounts/default/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'; echo "$answer"))
expect_match "an account's token" '^ey' "$token"
expect "is none upstream" 401 "$(curl -sk -H "Authorization: Bearer $token" -o /dev/null -w '%{http_code}' "$upstream_server/api/v1/secrets")"
got=$(curl -s --cacert "$TMPDIR/$evil.ca" -H "Authorization: Bearer $token" "https://$zood_address/api/v1/secrets?limit=500")
observe "" "$got"
expect_no_match "bound to cluster-admin it reads its own tenant alone" "$canary" "$got"
would "bind everybody" POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"'"$evil"'-direct"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]}'
