# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: a NetworkPolicy whose namespaceSelector matches other tenants' namespaces, at creation and by patches.
# Without the fence: {} means every namespace of the cluster, so the victim's pods would be let in, or named by label.
# Rule: each namespaceSelector is fenced by the tenant label; a patch is proven by its result.
policies=/apis/networking.k8s.io/v1/namespaces/team/networkpolicies
made "a policy" POST $policies json '{"metadata":{"name":"evil"},"spec":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}],"egress":[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"'"$victim-team"'"}}}]}]}}'
fence() {
  stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil" '[.spec | .. | .namespaceSelector? // empty
    | select(.matchLabels["tenant.kubezoo.io/id"] != "'"$evil"'" and
        all(.matchExpressions[]?; .key != "tenant.kubezoo.io/id" or .values != ["'"$evil"'"]))] | length'
}
expect "upstream has the fence" 0 "$(fence)"
after_each $policies/evil 0 <<P
patch [{"op":"remove","path":"/spec/ingress/0/from/0/namespaceSelector/matchExpressions"}]
patch [{"op":"remove","path":"/spec/ingress/0/from/0/namespaceSelector/matchLabels"}]
patch [{"op":"replace","path":"/spec/ingress/0/from/0/namespaceSelector","value":{}}]
patch [{"op":"copy","from":"/spec/podSelector","path":"/spec/ingress/0/from/0/namespaceSelector"}]
patch [{"op":"add","path":"/spec/ingress/0/from/-","value":{"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"$victim"}}}}]
patch [{"op":"replace","path":"/spec","value":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}]}}]
patch [{"op":"copy","from":"/spec/podSelector","path":"/spec/ingress/0/from/0/namespac\\u0065Selector"}]
merge {"spec":{"ingress":[{"from":[{"namespaceSelector":{}}]}]}}
merge {"spec":{"ingress":[{"from":[{"namespaceSelector":{"matchExpressions":[{"key":"tenant.kubezoo.io/id","operator":"Exists"}]}}]}]}}
strategic {"spec":{"ingress":[{"from":[{"namespaceSelector":{}}]}]}}
strategic {"spec":{"\$patch":"replace","podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}]}}
strategic {"spec":{"\$retainKeys":["podSelector","ingress"],"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{"matchExpressions":[{"key":"tenant.kubezoo.io/id","operator":"NotIn","values":["$evil"]}]}}]}]}}
apply {"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil"},"spec":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}]}}
P
direct PATCH "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil?dryRun=All" merge '{"spec":{"ingress":[{"from":[{"namespaceSelector":{}}]}]}}'
accepted "upstream would let its administrator"
