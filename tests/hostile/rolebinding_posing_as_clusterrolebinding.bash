# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: a RoleBinding under the name that ClusterRoleBindings are stored by, zoo:crb:<name> in kube-system, and another
# tenant's one by path.
# Without the fence: who may write RoleBindings in kube-system alone would be administrator of the whole tenant.
# Rule: names that begin with zoo: are not a tenant's.
bindings=/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings
body='{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"zoo:crb:evil"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"mole"}]}'
try POST $bindings json "$body"
refused "it is not made"
try PATCH "$bindings/zoo:crb:evil?fieldManager=x" apply "$body"
refused "nor applied"
try PUT $bindings/zoo:crb:evil json "$body"
refused "nor put"
try PUT $bindings/zoo%3Acrb%3Aevil json "$body"
refused "nor with another spelling"
try POST $bindings json "${body/\"name\":\"zoo:crb:evil\"/\"generateName\":\"zoo:crb:evil\"}"
refused "nor by generateName"
try GET "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/..%2f..%2fnamespaces%2f$victim-kube-system%2frolebindings%2fzoo:crb:x"
refused "another's is not reached"
try GET "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
expect_no_match "no such binding" mole "$answer"
expect no no "$(as "$evil" auth can-i list secrets --as mole 2>/dev/null)"
would "store a binding of that name" POST "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-kube-system/rolebindings" json '{"metadata":{"name":"zoo:crb:direct"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]}'
