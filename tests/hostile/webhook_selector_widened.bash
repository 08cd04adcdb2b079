# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to make a webhook see the victim's objects: without its namespaceSelector, with one that matches all, by patches.
# Without the fence: upstream would send the attacker each Secret that anybody writes, and obey its refusals.
# Rule: zood adds the tenant label to each webhook's namespaceSelector; a patch is proven by its result.
for titled in ValidatingWebhookConfiguration MutatingWebhookConfiguration; do
  kind=${titled,,}s
  hooks=/apis/admissionregistration.k8s.io/v1/$kind
  hook='{"name":"evil.example.com","clientConfig":{"service":{"namespace":"team","name":"evil"}},"failurePolicy":"Ignore","timeoutSeconds":1,"sideEffects":"None","admissionReviewVersions":["v1"],
    "rules":[{"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"],"operations":["*"],"scope":"*"}],"namespaceSelector":{}}'
  made "a $kind" POST $hooks json '{"metadata":{"name":"evil"},"webhooks":['"$hook"']}'
  fence() {
    stored "/apis/admissionregistration.k8s.io/v1/$kind/$evil-evil" '[(.webhooks // [])[]
      | select((.namespaceSelector.matchLabels["tenant.kubezoo.io/id"] == "'"$evil"'")
          or any(.namespaceSelector.matchExpressions[]?; .key == "tenant.kubezoo.io/id" and .operator == "In" and .values == ["'"$evil"'"]) | not)] +
      [(.webhooks // [])[].rules[]? | select(.scope != "Namespaced" and (.apiGroups | all(. != "*")) | not) | select(.scope != "Namespaced")] +
      [((.webhooks // [])[].clientConfig.service.namespace // empty), (.metadata.annotations // {} | to_entries[] | select(.key | startswith("zoo.kubezoo.io/webhook-namespace.")) | .value) | select(startswith("'"$evil"'-") | not)] +
      [(.webhooks // [])[].clientConfig.url // empty | select(contains("/w/'"$evil"'/") | not)] | length'
  }
  expect "upstream has the fence" 0 "$(fence)"
  after_each $hooks/evil 0 <<P
merge {"webhooks":[$(tr -d '\n' <<<"$hook")]}
merge {"webhooks":[$(tr -d '\n' <<<"${hook/\"namespaceSelector\":\{\}/\"namespaceSelector\":null}")]}
patch [{"op":"remove","path":"/webhooks/0/namespaceSelector"}]
patch [{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}]
patch [{"op":"copy","from":"/webhooks/0/objectSelector","path":"/webhooks/0/namespaceSelector"}]
patch [{"op":"move","from":"/webhooks/0/objectSelector","path":"/webhooks/0/namespaceSelector"}]
patch [{"op":"remove","path":"/webhooks/0/namespaceSelector/matchLabels"}]
patch [{"op":"remove","path":"/webhooks/0/namespaceSelector/matchExpressions/0"}]
patch [{"op":"add","path":"/webhooks/0/namespaceSelector/matchLabels","value":{"tenant.kubezoo.io/id":"$victim"}}]
patch [{"op":"replace","path":"/webhooks/0/rules/0/scope","value":"*"}]
patch [{"op":"replace","path":"/webhooks/0/rules/0/scope","value":"Cluster"}]
patch [{"op":"copy","from":"/webhooks/0/rules/0/operations/0","path":"/webhooks/0/rules/0/scope"}]
patch [{"op":"replace","path":"/webhooks/0/clientConfig/service/namespace","value":"../$victim-team"}]
patch [{"op":"add","path":"/metadata/annotations","value":{"a":"$victim-team"}},{"op":"copy","from":"/metadata/annotations/a","path":"/webhooks/0/clientConfig/service/namespace"}]
strategic {"webhooks":[{"name":"evil.example.com","namespaceSelector":null}]}
strategic {"webhooks":[{"name":"evil.example.com","namespaceSelector":{"\$patch":"replace"}}]}
strategic {"webhooks":[{"name":"evil.example.com","namespaceSelector":{"\$patch":"delete"}}]}
strategic {"webhooks":[{"name":"evil.example.com","namespaceSelector":{"\$retainKeys":["matchLabels"],"matchLabels":{"a":"b"}}}]}
strategic {"webhooks":[{"\$patch":"replace"},$(tr -d '\n' <<<"$hook")]}
strategic {"\$patch":"replace","metadata":{"name":"evil"},"webhooks":[$(tr -d '\n' <<<"$hook")]}
apply {"apiVersion":"admissionregistration.k8s.io/v1","kind":"$titled","metadata":{"name":"evil"},"webhooks":[$(tr -d '\n' <<<"$hook")]}
apply {"apiVersion":"admissionregistration.k8s.io/v1","kind":"$titled","metadata":{"name":"evil"},"webhooks":[$(tr -d '\n' <<<"${hook/,\"namespaceSelector\":\{\}/}")]}
apply {"apiVersion":"admissionregistration.k8s.io/v1","kind":"$titled","metadata":{"name":"evil"}}
P
  try DELETE $hooks/evil
done
would "send the attacker everything" POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations json '{"metadata":{"name":"'"$evil"'-direct"},"webhooks":['"$hook"']}'
