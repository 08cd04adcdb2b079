# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the thirteen patches that remove or widen a fence, on selectors and on subjects (webhooks, affinity, flags and definitions
# have attacks of their own, with the patches that their fields take): JSON patch's remove, replace, copy, move
# and a whole document; merge patch's null and {}; strategic $patch replace and delete, $retainKeys; apply by another manager,
# by force, and by the owner of the injected field.
# Without the fence: a patch that zood translates field by field undoes what zood had added to the stored object.
# Rule: the result of a patch is proven by a dry run, and the real one has its resourceVersion as precondition.
label='tenant.kubezoo.io/id'
selector='{"podSelector":{},"namespaceSelector":{"matchLabels":{"a":"b"}}}'
made "a policy" POST /apis/networking.k8s.io/v1/namespaces/team/networkpolicies json '{"metadata":{"name":"evil","annotations":{"a":"b"}},"spec":{"podSelector":{},"egress":[{"to":['"$selector"']}]}}'
fence() {
  stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil" '[.spec.egress[]?.to[]?.namespaceSelector // empty
    | select(.matchLabels["'$label'"] != "'"$evil"'" and all(.matchExpressions[]?; .key != "'$label'" or .values != ["'"$evil"'"]))] | length'
}
expect "the fence stands" 0 "$(fence)"
at=/spec/egress/0/to/0/namespaceSelector
after_each /apis/networking.k8s.io/v1/namespaces/team/networkpolicies/evil 0 <<P
patch [{"op":"remove","path":"$at/matchLabels"}]
patch [{"op":"replace","path":"$at","value":{}}]
patch [{"op":"add","path":"$at","value":{"matchLabels":{}}}]
patch [{"op":"copy","from":"/spec/podSelector","path":"$at"}]
patch [{"op":"move","from":"/spec/podSelector","path":"$at"}]
patch [{"op":"add","path":"/spec/egress/-","value":{"to":[{"namespaceSelector":{}}]}}]
patch [{"op":"replace","path":"/spec","value":{"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}]
patch [{"op":"replace","path":"","value":{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil"},"spec":{"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}}]
patch [{"op":"remove","path":"$at/matchLabels/tenant.kubezoo.io~1id"}]
patch [{"op":"remove","path":"$at/matchExpressions"}]
patch [{"op":"remove","path":"$at/matchExpressions/0"}]
merge {"spec":{"egress":[{"to":[{"namespaceSelector":{}}]}]}}
merge {"spec":{"egress":[{"to":[{"namespaceSelector":{"matchLabels":null,"matchExpressions":null}}]}]}}
strategic {"spec":{"egress":[{"to":[{"namespaceSelector":{"\$patch":"replace"}}]}]}}
strategic {"spec":{"\$patch":"replace","podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}
strategic {"spec":{"\$retainKeys":["podSelector","egress"],"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}
strategic {"\$patch":"delete"}
apply {"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil"},"spec":{"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}
apply {"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil"},"spec":{"podSelector":{}}}
P
# Each of these widens it where nobody looks at what comes of a patch.
while read -r type body; do
  would "widen it by $type ${body:0:60}" PATCH "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil?fieldManager=direct$([[ $type == apply ]] && echo '&force=true')" "$type" "$body"
  expect "to all namespaces" 1 "$(jq '[.spec.egress[].to[].namespaceSelector // empty | select(.matchLabels["'$label'"] == null and all(.matchExpressions[]?; .key != "'$label'"))] | length' <<<"$answer")"
done <<P
patch [{"op":"replace","path":"$at","value":{}}]
patch [{"op":"copy","from":"/spec/podSelector","path":"$at"}]
patch [{"op":"move","from":"/spec/podSelector","path":"$at"},{"op":"add","path":"/spec/podSelector","value":{}}]
patch [{"op":"replace","path":"/spec","value":{"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}]
merge {"spec":{"egress":[{"to":[{"namespaceSelector":{}}]}]}}
strategic {"spec":{"egress":[{"to":[{"namespaceSelector":{}}]}]}}
strategic {"spec":{"\$patch":"replace","podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}
strategic {"spec":{"\$retainKeys":["podSelector","egress"],"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}
apply {"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil"},"spec":{"podSelector":{},"egress":[{"to":[{"namespaceSelector":{}}]}]}}
P
bindings=/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings
made "a binding" POST $bindings json '{"metadata":{"name":"evil","annotations":{"g":"system:authenticated","n":"'"$victim-team"'"}},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"a"},{"kind":"ServiceAccount","name":"x","namespace":"team"}]}'
fence() {
  stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil" '[.subjects[]? | if .kind == "ServiceAccount" then .namespace else .name end | select(startswith("zoo:inert:'"$evil"':") | not)] | length'
}
expect "its subjects are inert" 0 "$(fence)"
after_each $bindings/evil 0 <<P
patch [{"op":"copy","from":"/metadata/annotations/g","path":"/subjects/0/name"}]
patch [{"op":"move","from":"/metadata/annotations/g","path":"/subjects/0/name"}]
patch [{"op":"copy","from":"/metadata/annotations/n","path":"/subjects/1/namespace"}]
patch [{"op":"copy","from":"/subjects/1","path":"/subjects/0"},{"op":"replace","path":"/subjects/0/kind","value":"Group"}]
patch [{"op":"replace","path":"/subjects/1/kind","value":"User"},{"op":"add","path":"/subjects/1/apiGroup","value":"rbac.authorization.k8s.io"},{"op":"remove","path":"/subjects/1/namespace"}]
patch [{"op":"replace","path":"/subjects/0/kind","value":"ServiceAccount"},{"op":"add","path":"/subjects/0/namespace","value":"$victim-team"},{"op":"remove","path":"/subjects/0/apiGroup"}]
patch [{"op":"replace","path":"/subjects","value":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}]
merge {"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}
merge {"subjects":null}
strategic {"subjects":[{"\$patch":"replace"},{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:masters"}]}
strategic {"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:unauthenticated"}],"\$patch":"replace"}
strategic {"\$retainKeys":["apiVersion","kind","metadata","roleRef","subjects"],"subjects":[{"kind":"ServiceAccount","namespace":"$victim-team","name":"$vault"}]}
apply {"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"evil"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}
P
direct PATCH "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil?dryRun=All" merge '{"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}'
expect_match "upstream would let its administrator: $code" '^200$' "$code"
