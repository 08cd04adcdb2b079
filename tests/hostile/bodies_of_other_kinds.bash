# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bodies that are another kind than the path's: Lists, Status, DeleteOptions, another group, RBAC under a harmless name.
# Without the fence: the rules of the path's kind prove a body that upstream reads as another.
# Rule: the kind of the path decides; a body that says another is refused by zood or by upstream.
namespaced='"metadata":{"name":"evil-other"}'
binding='{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding",'"$namespaced"',"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"Group","name":"system:authenticated","apiGroup":"rbac.authorization.k8s.io"}]}'
item='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil-item","namespace":"'"$victim-team"'"}}'
for body in '{"apiVersion":"v1","kind":"List","items":['"$item"']}' \
  '{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"evil-item","namespace":"'"$victim-team"'"}}]}' '{"apiVersion":"v1","kind":"Status","status":"Success"}' '{"apiVersion":"v1","kind":"DeleteOptions"}' \
  "$binding" \
  '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",'"$namespaced"'}' '{"apiVersion":"v1","kind":"configmap",'"$namespaced"'}' '{"apiVersion":"V1","kind":"ConfigMap",'"$namespaced"'}' \
  '{"apiVersion":"'"$evil"'-example.com/v1","kind":"ConfigMap",'"$namespaced"'}' '{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",'"$namespaced"'}' '{"apiVersion":"__internal","kind":"ConfigMap",'"$namespaced"'}'; do
  for path in /api/v1/namespaces/team/configmaps /api/v1/namespaces/team/secrets /apis/apps/v1/namespaces/team/deployments; do
    try POST $path json "$body"
    refused "${body:0:70} at ${path##*/}"
    try PUT "$path/evil-other" json "$body"
    refused "nor put"
  done
done
made "an object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-own"}}'
for body in '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding"}' '{"kind":"Secret"}' '{"apiVersion":"apps/v1"}'; do
  for type in merge strategic; do
    try PATCH /api/v1/namespaces/team/configmaps/evil-own $type "$body"
    expect_match "$code: $body does not change it" '^ConfigMap v1$' "$(stored "/api/v1/namespaces/$evil-team/configmaps/evil-own" '.kind + " " + .apiVersion')"
  done
done
expect "no binding came of it" 0 "$(stored "/apis/rbac.authorization.k8s.io/v1/rolebindings" '[.items[] | select(.metadata.name | startswith("evil-other"))] | length')"
# At the path of their own kind the same bytes are what they say, and a patch that says another kind is taken.
would "bind everybody by that body" POST "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings" json "$binding"
would "make that item at the victim's" POST "/api/v1/namespaces/$victim-team/configmaps" json "$item"
would "take a patch of another kind" PATCH "/api/v1/namespaces/$evil-team/configmaps/evil-own" strategic '{"kind":"Secret","data":{"evil":"x"}}'
expect "for what the path says" 'ConfigMap x' "$(jq -r '.kind + " " + .data.evil' <<<"$answer")"
