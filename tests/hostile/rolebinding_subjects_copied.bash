# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to bring a name that upstream knows into a binding's subjects, past the translation: JSON copy and move from an
# annotation, strategic lists, apply.
# Without the fence: Group system:authenticated, or the victim's user, would hold upstream what the binding grants.
# Rule: a patch of a RoleBinding is proven by its result; stored subjects begin with zoo:inert:<id>:.
bindings=/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings
made "a binding" POST $bindings json '{"metadata":{"name":"evil","annotations":{"a":"system:authenticated","b":"kube-system","k":"cluster-admin","l":"ClusterRole"}},
  "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
  "subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"x"},{"kind":"ServiceAccount","name":"default","namespace":"team"}]}'
fence() {
  stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil" \
    '[(.subjects // [])[] | (.namespace // .name) | select(startswith("zoo:inert:'"$evil"':") | not)] + [.roleRef.name | select(IN("cluster-admin","admin"))] | length'
}
after_each $bindings/evil 0 <<P
patch [{"op":"copy","from":"/metadata/annotations/a","path":"/subjects/0/name"}]
patch [{"op":"move","from":"/metadata/annotations/a","path":"/subjects/0/name"}]
patch [{"op":"copy","from":"/metadata/annotations/b","path":"/subjects/1/namespace"}]
patch [{"op":"copy","from":"/metadata/annotations/k","path":"/roleRef/name"}]
patch [{"op":"add","path":"/subjects/-","value":{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}}]
patch [{"op":"add","path":"/subjects/-","value":{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"zoo:$victim"}}]
patch [{"op":"add","path":"/subjects/-","value":{"kind":"ServiceAccount","name":"default","namespace":"$victim-team"}}]
patch [{"op":"replace","path":"/subjects/1/kind","value":"User"},{"op":"add","path":"/subjects/1/apiGroup","value":"rbac.authorization.k8s.io"},{"op":"remove","path":"/subjects/1/namespace"}]
patch [{"op":"replace","path":"/subjects/0/kind","value":"ServiceAccount"},{"op":"add","path":"/subjects/0/namespace","value":"kube-system"},{"op":"replace","path":"/subjects/0/apiGroup","value":""}]
patch [{"op":"move","from":"/subjects/1/name","path":"/subjects/0/name"}]
patch [{"op":"add","path":"/subj\\u0065cts/0/name","value":"system:authenticated"}]
patch [{"op":"add","path":"/subjects/00/name","value":"system:authenticated"}]
patch [{"op":"replace","path":"/subjects","value":[{"kind":"Group","name":"system:masters","apiGroup":"rbac.authorization.k8s.io"}]}]
merge {"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:unauthenticated"}]}
merge {"subjects":null,"roleRef":null}
strategic {"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:serviceaccounts"},{"\$patch":"replace"}]}
strategic {"\$setElementOrder/subjects":[],"subjects":[{"\$patch":"delete","name":"x"}]}
apply {"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"evil"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}
P
expect "the group may do nothing upstream" no "$(upstream auth can-i list pods -n "$evil-team" --as x --as-group system:authenticated 2>/dev/null)"
direct PATCH "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil?dryRun=All" merge \
  '{"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}'
accepted "upstream would let its administrator"
