# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to learn how much others have: remainingItemCount, sizes of pages, resourceVersions given, positions in tokens, quotas, metrics.
# Without the fence: remainingItemCount of a page counts the rest of the cluster.
# Rule: it is left out; tokens are sealed; numbers about the whole cluster are not shown.
for n in 1 2 3; do made "an object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-'$n'"}}'; done
for path in /api/v1/configmaps /api/v1/secrets /api/v1/namespaces /apis/rbac.authorization.k8s.io/v1/clusterroles /apis/storage.k8s.io/v1/storageclasses /apis/apiextensions.k8s.io/v1/customresourcedefinitions /api/v1/serviceaccounts; do
  for query in limit=1 'limit=1&resourceVersion=0' 'limit=2&labelSelector=!x'; do
    for accept in application/json 'application/json;as=Table;g=meta.k8s.io;v=v1' 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'; do
      curl_more=(-H "Accept: $accept")
      try GET "$path?$query"
      expect_no_match "$path?$query tells no rest" 'remainingItemCount' "$answer"
      token=$(jq -r '.metadata.continue // empty' <<<"$answer")
      [[ -z $token ]] || expect_no_match "its token no key" '"rv"|start|meta.k8s.io|'"$evil-" "$(printf %s "$token" | tr '_-' '/+' | base64 -d 2>/dev/null | tr -d '\0')"
    done
  done
done
# Every object's page: the whole is the attacker's own, and no page is empty for the sake of others' objects.
token='' pages=0 seen=0
while :; do
  try GET "/api/v1/configmaps?limit=2${token:+&continue=$token}"
  pages=$((pages + 1)) seen=$((seen + $(jq '.items | length' <<<"$answer")))
  token=$(jq -r '.metadata.continue // empty' <<<"$answer")
  [[ -n $token && $pages -lt 50 ]] || break
done
try GET /api/v1/configmaps
expect "pages together are the list" "$(jq '.items | length' <<<"$answer")" "$seen"
expect_match "in as many pages as it takes" "^$(((seen + 1) / 2))\$|^$(((seen + 3) / 2))\$" "$pages"
for path in /api/v1/nodes /api/v1/componentstatuses; do
  try GET "$path"
  expect_no_match "$path names nobody's images and volumes" "$canary|$victim" "$answer"
done
direct GET '/api/v1/configmaps?limit=1'
expect_match "upstream would tell its administrator" remainingItemCount "$answer"
