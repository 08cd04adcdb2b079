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
# The same of what lies in no namespace: the tenant's label, the level of pod security and the selector of a webhook.
made "a namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-fields"}}'
made "webhooks" POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations json '{"metadata":{"name":"evil-fields"},"webhooks":[{"name":"a.b.c","sideEffects":"None","failurePolicy":"Ignore","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"team","name":"x"}},"rules":[]}]}'
fences() {
  stored "/api/v1/namespaces/$evil-evil-fields" '.metadata.labels | .["tenant.kubezoo.io/id"] + " " + .["pod-security.kubernetes.io/enforce"]'
  stored "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/$evil-evil-fields" '[.webhooks[].namespaceSelector.matchLabels["tenant.kubezoo.io/id"]] | unique | join(" ")'
}
for manager in evil zood curl; do
  owns='"manager":"'"$manager"'","operation":"Apply","fieldsType":"FieldsV1"'
  try PATCH /api/v1/namespaces/evil-fields merge '{"metadata":{"managedFields":[{'"$owns"',"apiVersion":"v1","fieldsV1":{"f:metadata":{"f:labels":{"f:tenant.kubezoo.io/id":{},"f:pod-security.kubernetes.io/enforce":{},"f:kept.zoo.kubezoo.io/pod-security-enforce":{}}}}}]}}'
  try PATCH /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/evil-fields merge '{"metadata":{"managedFields":[{'"$owns"',"apiVersion":"admissionregistration.k8s.io/v1","fieldsV1":{"f:webhooks":{"k:{\"name\":\"a.b.c\"}":{".":{},"f:name":{},"f:namespaceSelector":{},"f:matchConditions":{"k:{\"name\":\"zoo.kubezoo.io/own-objects\"}":{".":{},"f:name":{},"f:expression":{}}}}}}}]}}'
  try PATCH "/api/v1/namespaces/evil-fields?fieldManager=$manager&force=true" apply '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"evil-fields"}}'
  for hook in '"name":"a.b.c"' '"name":"a.b.c","namespaceSelector":{}' '"name":"a.b.c","namespaceSelector":null' '"name":"a.b.c","matchConditions":[]'; do
    try PATCH "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/evil-fields?fieldManager=$manager&force=true" apply '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"evil-fields"},"webhooks":[{'"$hook"',"sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"team","name":"x"}}}]}'
    expect "$code: $manager applies $hook" "$evil baseline"$'\n'"$evil" "$(fences)"
  done
done
would "let the owner of a label take it away" PATCH "/api/v1/namespaces/$evil-evil-fields?fieldManager=evil&force=true" apply '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$evil-evil-fields"'"}}'
