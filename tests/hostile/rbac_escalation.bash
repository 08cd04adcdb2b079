# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: as an account with a little: to bind more than it has, to write roles beyond itself, to impersonate, to approve.
# Without the fence: who may create RoleBindings may bind cluster-admin.
# Rule: zood evaluates escalate, bind and impersonate as upstream does, aggregation and system roles included.
rbac=/apis/rbac.authorization.k8s.io/v1
made "an account" POST /api/v1/namespaces/team/serviceaccounts json '{"metadata":{"name":"evil-small"}}'
made "with a role to write roles" POST $rbac/namespaces/team/roles json '{"metadata":{"name":"evil-small"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings","clusterroles","clusterrolebindings"],"verbs":["create","get","update","patch","list"]},{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]},{"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"],"resourceNames":["evil-small"]}]}'
made "bound" POST $rbac/namespaces/team/rolebindings json '{"metadata":{"name":"evil-small"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"evil-small"},"subjects":[{"kind":"ServiceAccount","name":"evil-small","namespace":"team"}]}'
try POST /api/v1/namespaces/team/serviceaccounts/evil-small/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
token=$(jq -r '.status.token // empty' <<<"$answer")
small() { with_token "$@"; }
eventually "it may what it may" 30 eval 'small GET /api/v1/namespaces/team/configmaps/kube-root-ca.crt; [[ $code == 200 ]]'
for path in /api/v1/namespaces/team/secrets /api/v1/namespaces/team/configmaps /api/v1/namespaces/default/configmaps/kube-root-ca.crt /api/v1/namespaces /api/v1/secrets /api/v1/configmaps "/api/v1/namespaces/$victim-team/secrets" /api/v1/nodes $rbac/clusterroles; do
  small GET "$path"
  refused "it may not GET $path" 403
  small GET "$path?watch=1&timeoutSeconds=1"
  refused "nor watch it" 403
done
for rules in '[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]' '[{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}]' '[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]' '[{"apiGroups":[""],"resources":["configmaps/status"],"verbs":["get"]}]' '[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["escalate"]}]' '[{"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"]}]' '[{"apiGroups":[""],"resources":["users"],"verbs":["impersonate"]}]'; do
  small POST $rbac/namespaces/team/roles json '{"metadata":{"name":"evil-more"},"rules":'"$rules"'}'
  refused "no role beyond itself: $rules" 403
  small PATCH $rbac/namespaces/team/roles/evil-small merge '{"rules":'"$rules"'}'
  refused "nor by a patch" 403
done
for role in 'ClusterRole","name":"cluster-admin' 'ClusterRole","name":"admin' 'ClusterRole","name":"view' 'ClusterRole","name":"system:node' 'Role","name":"absent'; do
  small POST $rbac/namespaces/team/rolebindings json '{"metadata":{"name":"evil-more"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"'"$role"'"},"subjects":[{"kind":"ServiceAccount","name":"evil-small","namespace":"team"}]}'
  refused "it binds no $role" '40[34]'
  small POST $rbac/clusterrolebindings json '{"metadata":{"name":"evil-more"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"'"${role/Role\",/Role\",}"'"},"subjects":[{"kind":"ServiceAccount","name":"evil-small","namespace":"team"}]}'
  refused "nor for the whole" '4..'
done
for header in 'Impersonate-User: admin' 'Impersonate-User: system:serviceaccount:team:default' "Impersonate-User: system:serviceaccount:$victim-team:$vault" 'Impersonate-User: zoo:x'; do
  for group in '' 'Impersonate-Group: system:masters' 'Impersonate-Group: zoo:cluster-admins'; do
    curl_more=(-H "$header")
    [[ -n $group ]] && curl_more+=(-H "$group")
    small GET /api/v1/namespaces/team/secrets
    refused "$header, $group" 403
  done
done
small POST /api/v1/namespaces/team/serviceaccounts/default/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
refused "no token of another account" 403
made "a role for all of a namespace" POST $rbac/namespaces/team/roles json '{"metadata":{"name":"evil-all"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}'
made "bound too" POST $rbac/namespaces/team/rolebindings json '{"metadata":{"name":"evil-all"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"evil-all"},"subjects":[{"kind":"ServiceAccount","name":"evil-small","namespace":"team"}]}'
eventually "it may everything there" 30 eval 'small GET /api/v1/namespaces/team/secrets; [[ $code == 200 ]]'
for path in /api/v1/namespaces/team/{namespaces,namespaces/default,namespaces/default/finalize,nodes,persistentvolumes} $rbac/namespaces/team/{clusterroles,clusterroles/admin,clusterrolebindings} /apis/flowcontrol.apiserver.k8s.io/v1/namespaces/team/flowschemas /apis/storage.k8s.io/v1/namespaces/team/{storageclasses,volumeattachments}; do
  for method in GET POST PUT DELETE; do
    small $method "$path" json '{"metadata":{"name":"default"}}'
    refused "what has no namespace is not in that one: $method $path" '40[45]'
  done
done
made "that goes" DELETE $rbac/namespaces/team/rolebindings/evil-all
eventually "at once" 30 eval 'small GET /api/v1/namespaces/team/secrets; [[ $code == 403 ]]'
made "the role goes" DELETE $rbac/namespaces/team/rolebindings/evil-small
eventually "and with it the right" 30 eval 'small GET /api/v1/namespaces/team/configmaps/kube-root-ca.crt; [[ $code == 403 ]]'
would "bind an account to everything" POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings json '{"metadata":{"name":"'"$evil"'-direct"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"default","namespace":"'"$evil-team"'"}]}'
