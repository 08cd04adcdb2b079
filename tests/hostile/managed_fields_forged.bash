# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: managedFields, resourceVersions and generations of its own making, and apply as the managers that wrote the fences.
# Without the fence: the owner of a field may drop it by not applying it; forged managedFields make anybody the owner.
# Rule: what zood adds is added again on every write, and a patch is proven by its result.
made "a policy" POST /apis/networking.k8s.io/v1/namespaces/team/networkpolicies json '{"metadata":{"name":"evil-fields"},"spec":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{"matchLabels":{"a":"b"}}}]}]}}'
fence() {
  stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil-fields" '[.spec | .. | .namespaceSelector? // empty
    | select(.matchLabels["tenant.kubezoo.io/id"] != "'"$evil"'" and all(.matchExpressions[]?; .key != "tenant.kubezoo.io/id"))] | length'
}
for manager in zood curl kube-controller-manager "zoo:$evil" evil; do
  for spec in '{"podSelector":{}}' '{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}]}' '{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{"matchLabels":{}}}]}]}'; do
    try PATCH "/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/evil-fields?fieldManager=$manager&force=true" apply '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil-fields"},"spec":'"$spec"'}'
    expect "$code: $manager applies ${spec:0:60}" 0 "$(fence)"
  done
done
for body in '{"metadata":{"managedFields":[{}]}}' '{"metadata":{"managedFields":[{"manager":"evil","operation":"Apply","apiVersion":"networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:ingress":{}}}}]}}' \
  '{"metadata":{"managedFields":null,"resourceVersion":"1"}}' '{"metadata":{"generation":7,"uid":"'"$victims_uid"'"}}' '{"metadata":{"namespace":"'"$victim-team"'"}}' '{"metadata":{"name":"'"$vault"'"}}' '{"kind":"Secret","apiVersion":"v1"}'; do
  try PATCH /apis/networking.k8s.io/v1/namespaces/team/networkpolicies/evil-fields merge "$body"
  expect "$code: ${body:0:70}" 0 "$(fence)"
done
would "let any manager take the field" PATCH "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil-fields?fieldManager=evil&force=true" apply '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"evil-fields"},"spec":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{}}]}]}}'
expect "and the fence would be gone" '{}' "$(jq -c '.spec.ingress[0].from[0].namespaceSelector' <<<"$answer")"
