# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: deletions with bodies: of another kind, with the victim's UID, orphans, finalizers of others, by preconditions of old
# versions, of everything by a selector that matches nothing or all.
# Without the fence: a deletion's body is read by upstream alone.
# Rule: a body of a deletion is translated as any; a deletecollection reaches what is the tenant's, and not what is zood's own.
for n in 1 2 3; do made "an object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-'$n'","finalizers":["evil.example.com/x"],"labels":{"n":"'$n'"}}}'; done
direct GET /version
none='4..' # of a body that is none 1.33 says 500
(($(jq -r .minor <<<"$answer") > 33)) || none='(4..|500)'
for body in '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"'"$victims_uid"'"}}' '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":"1"}}' '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}' '{"kind":"DeleteOptions","apiVersion":"rbac.authorization.k8s.io/v1","propagationPolicy":"Evil"}' '[]' '{' '{"propagationPolicy":"Orphan","orphanDependents":true}' '{"dryRun":["Some"]}'; do
  try DELETE /api/v1/namespaces/team/configmaps/evil-1 json "$body"
  refused "a deletion with ${body:0:70}" "$none"
done
for body in '{"apiVersion":"v1","kind":"DeleteOptions","dryRun":["All"]}' '{"apiVersion":"v1","kind":"DeleteOptions","ignoreStoreReadErrorWithClusterBreakingPotential":true}'; do
  try DELETE "/api/v1/namespaces/team/configmaps/evil-1" json "$body"
  expect "$code: it stands after ${body:30:60}" evil-1 "$(stored "/api/v1/namespaces/$evil-team/configmaps/evil-1" .metadata.name)"
done
binding=$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/zoo-tenant" .metadata.uid)
for path in /api/v1/namespaces/team/configmaps /api/v1/namespaces/team/serviceaccounts /apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings /apis/rbac.authorization.k8s.io/v1/namespaces/team/roles /api/v1/namespaces/kube-system/secrets; do
  for query in '' 'labelSelector=' 'labelSelector=!none' 'fieldSelector=metadata.name!%3Dx' 'labelSelector=tenant.kubezoo.io/id' 'resourceVersion=0' 'limit=1' 'gracePeriodSeconds=0&propagationPolicy=Foreground' 'timeoutSeconds=1'; do
    try DELETE "$path?$query"
    expect_match "DELETE $path?$query: $code" '^[24]..$' "$code"
  done
done
expect "zood's own binding stands" "$binding" "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/zoo-tenant" .metadata.uid)"
for path in /api/v1/configmaps /api/v1/pods /api/v1/secrets /apis/apps/v1/deployments /apis/rbac.authorization.k8s.io/v1/rolebindings; do
  try DELETE "$path"
  refused "DELETE of all namespaces' ${path##*/}" '40[345]'
done
for n in 1 2 3; do try PATCH /api/v1/namespaces/team/configmaps/evil-$n merge '{"metadata":{"finalizers":null}}'; done
would "delete all of the victim's" DELETE "/api/v1/namespaces/$victim-team/secrets"
