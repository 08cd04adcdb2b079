# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bodies in which a key that matters stands twice, or is spelled with escapes, or in other capitals.
# Without the fence: zood would prove the first and upstream obey the last, or merge the two.
# Rule: keys are compared unescaped; a key with a rule may stand once; others' capitals are no key.
cms=/api/v1/namespaces/team/configmaps
for body in '{"metadata":{"name":"evil","namespace":"team"},"metadata":{"name":"evil","namespace":"'$victim-team'"}}' '{"metadata":{"name":"evil","namespace":"team","namespace":"'$victim-team'"}}' \
  '{"metadata":{"name":"evil","namespace":"team","n\u0061mespace":"'$victim-team'"}}' '{"metadata":{"name":"evil"},"met\u0061data":{"namespace":"'$victim-team'"}}' \
  '{"metadata":{"name":"evil","\u006eamespace":"'$victim-team'"}}' '{"metadata":{"name":"evil","namespace":"'$victim-team'"}}' '{"metadata":{"name":"evil","namespace":"'$evil-team'"}}'; do
  for type in json yaml; do
    try POST $cms $type "$body"
    refused "$type ${body:0:80}"
  done
done
bindings=/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings
ref='"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}'
for subjects in '"subjects":[{"kind":"User","name":"x","name":"system:admin"}]' '"subjects":[{"kind":"User","name":"x"}],"subjects":[{"kind":"Group","name":"system:authenticated"}]' \
  '"subjects":[{"kind":"User","name":"x","n\u0061me":"system:admin"}]' '"subj\u0065cts":[{"kind":"Group","name":"system:authenticated"}]' '"Subjects":[{"kind":"Group","name":"system:authenticated"}]' \
  '"subjects":[{"kind":"User","name":"x","Name":"system:admin","KIND":"Group"}]' '"subjects":[{"kind":"ServiceAccount","name":"x","namespace":"team","kind":"User"}]'; do
  try POST $bindings json '{"metadata":{"name":"evil-twice"},'"$ref,$subjects"'}'
  expect "$code: $subjects is inert" 0 "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil-twice" '[(.subjects // [])[] | (.namespace // .name) | select(startswith("zoo:inert:'"$evil"':") | not)] | length')"
  try DELETE $bindings/evil-twice
done
try POST /api/v1/namespaces json '{"metadata":{"name":"evil-twice","labels":{"a":"b","tenant.kubezoo.io/id":"'"$victim"'"},"labels":{"tenant.kubezoo.io/id":"'"$victim"'"}}}'
expect_match "a namespace stays the attacker's" "^($evil|null)$" "$(stored "/api/v1/namespaces/$evil-evil-twice" '.metadata.labels["tenant.kubezoo.io/id"]')"
try POST /api/v1/namespaces json '{"metadata":{"name":"evil-foreign","labels":{"tenant.kubezoo.io/id":"'"$victim"'"}}}'
expect_match "nor is it given away" "^($evil|null)$" "$(stored "/api/v1/namespaces/$evil-evil-foreign" '.metadata.labels["tenant.kubezoo.io/id"]')"
classes=/apis/scheduling.k8s.io/v1/priorityclasses
for flags in '"globalDefault":true,"globalDefault":true' '"globalDefault":true,"globalDefault":false' '"globalDefault":false,"glob\u0061lDefault":true'; do
  try POST $classes json '{"metadata":{"name":"evil-twice"},"value":1,'"$flags"'}'
  refused "a class with $flags"
  expect "$code: upstream's is none: $flags" false "$(stored "/apis/scheduling.k8s.io/v1/priorityclasses/$evil-evil-twice" '.globalDefault // false')"
  try DELETE $classes/evil-twice
done
roles=/apis/rbac.authorization.k8s.io/v1/clusterroles
for rule in '"aggregationRule":{"clusterRoleSelectors":[{}]},"aggregationRule":{"clusterRoleSelectors":[{}]}' '"aggregationRule":{"clusterRoleSelectors":[{}]},"aggregationRule":null'; do
  try POST $roles json '{"metadata":{"name":"evil-twice"},'"$rule"'}'
  refused "a role with $rule"
  expect "$code: upstream's gathers nothing: $rule" null "$(stored "/apis/rbac.authorization.k8s.io/v1/clusterroles/$evil-evil-twice" '.aggregationRule')"
  try DELETE $roles/evil-twice
done
hooks=/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
for called in '"url":"https://127.0.0.1:9/","url":null' '"url":null,"url":"https://127.0.0.1:9/"'; do
  try POST $hooks json '{"metadata":{"name":"evil-twice"},"webhooks":[{"name":"a.evil.example.com","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Ignore","rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"],"scope":"Namespaced"}],"clientConfig":{'"$called"'}}]}'
  refused "a webhook with $called"
  try DELETE $hooks/evil-twice
done
for ports in '"type":"LoadBalancer","type":null,"ports":[{"port":80}]' '"type":"ClusterIP","type":"NodePort","ports":[{"port":80}]'; do
  try POST /api/v1/namespaces/team/services json '{"metadata":{"name":"evil-twice"},"spec":{'"$ports"'}}'
  refused "a service with $ports"
done
try POST /api/v1/namespaces/team/services json '{"metadata":{"name":"evil-twice"},"spec":{"type":"NodePort"},"spec":{"ports":[{"port":80}]}}'
refused "a service of two halves"
try DELETE /api/v1/namespaces/evil-twice
try DELETE /api/v1/namespaces/evil-foreign
would "obey the second of two names" POST "/api/v1/namespaces/$evil-team/configmaps" json '{"metadata":{"name":"x"},"metadata":{"name":"evil-direct"}}'
expect "and does" evil-direct "$(jq -r .metadata.name <<<"$answer")"
