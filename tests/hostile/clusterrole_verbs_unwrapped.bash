# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to store a role whose verbs upstream understands.
# Without the fence: a platform role that aggregates it, or a binding of upstream's, would make it a right.
# Rule: stored verbs begin with zoo:; patches of roles are proven by their result, upstream's policy holds Roles too.
roles=/apis/rbac.authorization.k8s.io/v1/clusterroles
made "a role" POST $roles json '{"metadata":{"name":"evil","annotations":{"a":"*"}},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["get"]},{"nonResourceURLs":["*"],"verbs":["get"]}]}'
fence() { stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-evil" '[(.rules // [])[].verbs[] | select(startswith("zoo:") | not)] | length'; }
after_each $roles/evil 0 <<'P'
patch [{"op":"copy","from":"/metadata/annotations/a","path":"/rules/0/verbs/0"}]
patch [{"op":"copy","from":"/rules/0/apiGroups","path":"/rules/0/verbs"}]
patch [{"op":"move","from":"/rules/0/resources","path":"/rules/0/verbs"}]
patch [{"op":"add","path":"/rules/0/verbs/-","value":"*"}]
patch [{"op":"replace","path":"/rules","value":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}]
patch [{"op":"add","path":"/rules/-","value":{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}}]
patch [{"op":"add","path":"","value":{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"evil"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}}]
merge {"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}
strategic {"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"$patch":"replace"}]}
strategic {"$patch":"replace","metadata":{"name":"evil"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}
apply {"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"evil"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}
P
would "store verbs that it understands" POST $roles json '{"metadata":{"name":"'"$evil"'-direct"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}'
