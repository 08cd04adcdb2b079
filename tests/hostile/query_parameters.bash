# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: parameters given twice, in other cases and to other verbs; those that change who writes and how it is checked.
# Without the fence: zood reads the first and upstream the last, or the other way round.
# Rule: parameters are decoded, read as upstream reads them, and written anew.
secret="/api/v1/namespaces/team/secrets"
for query in "fieldSelector=metadata.namespace%3Dteam&fieldSelector=metadata.namespace%3D$victim-team" "watch=0&watch=1&timeoutSeconds=1" "watch=true&watch=false&timeoutSeconds=1" "WATCH=1&timeoutSeconds=1" "Watch=1&timeoutSeconds=1" "watch&timeoutSeconds=1" "watch=&timeoutSeconds=1" \
  "namespace=$victim-team" "name=$vault" "path=../../../../secrets" "labelSelector=a&labelselector=b" "resourceVersion=0&resourceVersion=1" "limit=1&limit=1000" "allowWatchBookmarks=true&sendInitialEvents=true&watch=1&resourceVersionMatch=NotOlderThan&timeoutSeconds=1" "sendInitialEvents=true" "shardSelector=shardRange(object.metadata.uid,0,f)" "includeUninitialized=true" "export=true&exact=true" "pretty=true" "as=system:masters" "impersonate-user=admin" "timeout=1ns" "timeout=100h" "timeout=-1s"; do
  for path in $secret /api/v1/secrets; do
    curl_more=(--max-time 4)
    try GET "$path?$query"
    expect_no_match "$code: $path?$query" "$vault|$canary" "$answer"
  done
done
n=0
for query in "dryRun=All&dryRun=" "dryRun=None" "dryRun=all" "fieldManager=zood" "fieldManager=%0d%0aX:y" "fieldManager=$(printf 'a%.0s' {1..200})" "fieldValidation=Ignore" "fieldValidation=Strict&fieldValidation=Ignore" "force=true" "namespace=$victim-team&name=$vault" "gracePeriodSeconds=0&orphanDependents=true&propagationPolicy=Orphan"; do
  n=$((n + 1))
  try POST "/api/v1/namespaces/team/configmaps?$query" json '{"metadata":{"name":"evil-'$n'"},"unknown":1}'
  expect_match "$code: a create with $query" '^[24]..$' "$code"
  try DELETE "/api/v1/namespaces/team/configmaps/evil-$n?$query"
  expect_match "$code: a deletion with it" '^[24]..$' "$code"
done
expect "nothing came to the victim" 0 "$(stored "/api/v1/namespaces/$victim-team/configmaps" '[.items[].metadata.name | select(startswith("evil"))] | length')"
try DELETE "/api/v1/namespaces/team/secrets?fieldSelector=metadata.namespace%3D$victim-team"
try DELETE "/api/v1/namespaces/team/secrets?labelSelector=kept&labelSelector=&fieldSelector="
try DELETE "/api/v1/secrets"
refused "all namespaces at once"
try DELETE "/api/v1/pods?gracePeriodSeconds=0"
refused "all pods"
would "select the victim's" GET "/api/v1/secrets?fieldSelector=metadata.namespace%3D$victim-team"
expect_match "and shows it" "$vault" "$answer"
