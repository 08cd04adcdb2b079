# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: labels that add a role's rules to upstream's admin, edit and view, and an aggregationRule that gathers everybody's.
# Without the fence: upstream's controller would copy the attacker's rules into every tenant's and the host's view.
# Rule: aggregate labels are stored under another key, aggregationRule in an annotation; zood aggregates within the tenant.
roles=/apis/rbac.authorization.k8s.io/v1/clusterroles
made "a role with the label" POST $roles json '{"metadata":{"name":"evil-agg","annotations":{"a":"true"},"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true","rbac.authorization.k8s.io/aggregate-to-admin":"true"}},"rules":[{"apiGroups":["evil.example.com"],"resources":["*"],"verbs":["*"]}]}'
fence() {
  stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-evil-agg" \
    '[.metadata.labels // {} | keys[] | select(startswith("rbac.authorization.k8s.io/"))] + [.aggregationRule // empty] | length'
}
expect "upstream has none" 0 "$(fence)"
after_each $roles/evil-agg 0 <<'P'
merge {"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}}
merge {"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-\u0065dit":"true"}}}
strategic {"metadata":{"labels":{"$patch":"replace","rbac.authorization.k8s.io/aggregate-to-edit":"true"}}}
patch [{"op":"add","path":"/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit","value":"true"}]
patch [{"op":"copy","from":"/metadata/annotations/a","path":"/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit"}]
patch [{"op":"add","path":"/metadata/labels","value":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}]
patch [{"op":"add","path":"/metadata/annotations","value":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}},{"op":"copy","from":"/metadata/annotations","path":"/metadata/labels"}]
patch [{"op":"add","path":"/aggregationRule","value":{"clusterRoleSelectors":[{}]}}]
merge {"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"kubernetes.io/bootstrapping":"rbac-defaults"}}]}}
apply {"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"evil-agg","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},"aggregationRule":{"clusterRoleSelectors":[{}]}}
P
made "a role that gathers all" POST $roles json '{"metadata":{"name":"evil-all"},"aggregationRule":{"clusterRoleSelectors":[{}]}}'
try GET $roles/evil-all
expect "upstream's controller filled nothing in" null "$(stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-evil-all" '.aggregationRule')"
# zood keeps a rule that gathers in an annotation of its own: nobody else may, however it is spelled.
for key in zoo.kubezoo.io/aggregation-rule 'zoo.kubezoo.io\/aggregation-rule' 'zoo.kube\u007aoo.io/aggregation-rule'; do
  try PUT $roles/evil-all json '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"evil-all","annotations":{"'"$key"'":"{\"clusterRoleSelectors\":[{}]}"}},"rules":[]}'
  refused "$key by an update" 403
done
would "add rules to everybody's view" POST $roles json '{"metadata":{"name":"'"$evil"'-direct","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}'
