# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the tokens that upstream itself puts into pods: for its own API, asked for by a projected volume, of other accounts.
# Without the fence: such a token with rights upstream makes the pod upstream's administrator (KubeZoo: one binding away).
# Rule: stored RBAC is inert, so that upstream gives a tenant's accounts what it gives to anybody who is authenticated: nothing
# but discovery; a pod may not ask for what another account has.
for audience in https://kubernetes.default.svc https://kubernetes.default.svc.cluster.local '' api; do
  try POST /api/v1/namespaces/team/pods json '{"metadata":{"generateName":"evil-"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}],"volumes":[{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"t","audience":"'"$audience"'"}}]}}]}}'
  expect_match "a pod that asks for audience '$audience': $code" '^(201|403|422)$' "$code"
done
made "the attacker binds what it can" POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"evil"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"default","namespace":"team"},{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:serviceaccounts"}]}'
# What the kubelet would put into the pod.
token=$(upstream -n "$evil-team" create token default)
for path in /api/v1/secrets "/api/v1/namespaces/$evil-team/secrets" "/api/v1/namespaces/$victim-team/secrets" /api/v1/nodes /api/v1/namespaces "/api/v1/namespaces/$evil-team/pods" /apis/rbac.authorization.k8s.io/v1/clusterroles /metrics /apis/apiextensions.k8s.io/v1/customresourcedefinitions; do
  expect "upstream gives it nothing of $path" 403 "$(curl -sk -H "Authorization: Bearer $token" -o /dev/null -w '%{http_code}' "$upstream_server$path")"
done
for method in POST PUT PATCH DELETE; do
  expect "nor to $method" 403 "$(curl -sk -X $method -H "Authorization: Bearer $token" -H 'Content-Type: application/json' --data-binary '{}' -o /dev/null -w '%{http_code}' "$upstream_server/api/v1/namespaces/$evil-team/configmaps/x")"
done
expect "and zood does not know it" 401 "$(curl -s --cacert "$TMPDIR/$evil.ca" -H "Authorization: Bearer $token" -o /dev/null -w '%{http_code}' "https://$zood_address/api/v1/namespaces")"
for account in "../$victim-team/$vault" "$victim-team/$vault" "system:serviceaccount:$victim-team:$vault" zood; do
  try POST /api/v1/namespaces/team/pods json '{"metadata":{"name":"evil-of-others"},"spec":{"serviceAccountName":"'"$account"'","containers":[{"name":"c","image":"x"}]}}'
  refused "no pod with the account $account"
done
try DELETE '/api/v1/namespaces/team/pods?gracePeriodSeconds=0'
# The same binding, had it gone upstream as it is.
direct POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"'"$evil-one-away"'"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"default","namespace":"'"$evil-team"'"}]}'
accepted "upstream's administrator makes that binding"
opens() { [[ $(curl -sk -H "Authorization: Bearer $token" "$upstream_server/api/v1/namespaces/$victim-team/secrets/$vault") == *"$(printf %s "$canary" | base64)"* ]]; }
eventually "and the pod's token opens the victim's Secret" 30 opens
direct DELETE "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/$evil-one-away"
accepted "it is removed"
