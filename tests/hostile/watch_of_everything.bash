# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: watches over the whole cluster: of each kind, with initial events, old positions, as tables and metadata alone.
# Without the fence: one stream carries every tenant's objects.
# Rule: each event's key must be the tenant's, in every representation.
turn=0
types=(application/json 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' 'application/json;as=Table;g=meta.k8s.io;v=v1' 'application/vnd.kubernetes.protobuf')
for kind in /api/v1/{namespaces,secrets,configmaps,pods,events,nodes,persistentvolumes,serviceaccounts} /apis/apiextensions.k8s.io/v1/customresourcedefinitions \
  /apis/rbac.authorization.k8s.io/v1/{clusterroles,rolebindings,clusterrolebindings} /apis/scheduling.k8s.io/v1/priorityclasses /apis/storage.k8s.io/v1/{storageclasses,volumeattachments} \
  /apis/networking.k8s.io/v1/ipaddresses /apis/discovery.k8s.io/v1/endpointslices; do
  few=("${types[@]}")
  [[ $kind == */secrets || $kind == */namespaces ]] || few=("${types[(turn += 1) % 4]}")
  for type in "${few[@]}"; do
    curl_more=(-H "Accept: $type" --max-time 3)
    try GET "$kind?watch=true&resourceVersion=0&timeoutSeconds=1&labelSelector=kept"
    expect_no_match "$kind as ${type#*/}: $code" "$vault|$canary" "$answer"
    curl_more=(-H "Accept: $type" --max-time 3)
    try GET "$kind?limit=1000"
    expect_no_match "listed: $code" "$vault|$canary" "$answer"
  done
done
try GET "/api/v1/secrets?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
expect_no_match "initial events" "$canary" "$answer"
try GET "/api/v1/secrets?watch=true&resourceVersion=1&timeoutSeconds=1"
expect_no_match "from the beginning" "$canary" "$answer"
try GET "/api/v1/secrets?watch=true&watch=false&timeoutSeconds=1"
expect_no_match "twice" "$canary" "$answer"
would "tell of everybody" GET "/api/v1/secrets?watch=true&timeoutSeconds=1"
expect_match "the victim's too" "$vault" "$answer"
