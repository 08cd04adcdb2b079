# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to make its own mutating policies do what a request is refused for: give a Service foreign addresses, a claim the
#   victim's volume, an Ingress a class of the platform's, zood's own RoleBinding the ServiceAccount of a pod.
# Without the fence: upstream changes objects after zood has proven them, and what zood and upstream's controllers write.
# Rule: a tenant's mutations leave alone the kinds that reach out of it, whatever its rules and conditions say.
group=/apis/admissionregistration.k8s.io/v1
try GET $group/mutatingadmissionpolicies
if [[ $code == 200 ]]; then
  policies=$group/mutatingadmissionpolicies
  policy() { # NAME RESOURCES CEL [MORE]: CEL gives a JSON patch, or what is applied
    jq -nc --arg name "$1" --argjson rules "$2" --arg cel "$3" '{metadata: {name: $name}, spec: ({failurePolicy: "Ignore", reinvocationPolicy: "IfNeeded",
      matchConstraints: {resourceRules: [$rules + {apiVersions: ["*"], operations: ["*"]}]},
      mutations: [if $cel | startswith("[") then {patchType: "JSONPatch", jsonPatch: {expression: $cel}} else {patchType: "ApplyConfiguration", applyConfiguration: {expression: $cel}} end]} + '"${4:-{\}}"')}'
  }
  bound() { made "a policy $1" POST $policies json "$(policy "$@")"; made "its binding" POST $group/mutatingadmissionpolicybindings json '{"metadata":{"name":"'"$1"'"},"spec":{"policyName":"'"$1"'"}}'; }
  bound evil-services '{"apiGroups":["*"],"resources":["services"]}' '[JSONPatch{op: "add", path: "/spec/externalIPs", value: ["192.0.2.66"]}]'
  bound evil-claims '{"apiGroups":[""],"resources":["*"]}' "object.kind == 'PersistentVolumeClaim' ? Object{spec: Object.spec{volumeName: \"$victim-$vault\"}} : Object{}" '{"matchConditions":[{"name":"all","expression":"true"}]}'
  bound evil-ingresses '{"apiGroups":["networking.k8s.io"],"resources":["ingresses"]}' 'Object{spec: Object.spec{ingressClassName: "evil"}}'
  bound evil-bindings '{"apiGroups":["rbac.authorization.k8s.io"],"resources":["rolebindings"]}' "[JSONPatch{op: \"add\", path: \"/subjects/-\", value: Object.subjects{kind: \"ServiceAccount\", name: \"default\", namespace: \"$evil-team\"}}]"
  bound evil-works '{"apiGroups":[""],"resources":["configmaps"]}' 'Object{metadata: Object.metadata{labels: {"works": "yes"}}}'
  works() {
    try POST /api/v1/namespaces/team/configmaps json '{"metadata":{"generateName":"evil-"}}'
    [[ $(jq -r .metadata.labels.works <<<"$answer") == yes ]]
  }
  eventually "mutation works" 30 works
  made "a Service" POST /api/v1/namespaces/team/services json '{"metadata":{"name":"evil"},"spec":{"ports":[{"port":80}]}}'
  fence() { stored "/api/v1/namespaces/$evil-team/services/evil" '.spec.externalIPs // [] | length'; }
  expect "has no foreign address" 0 "$(fence)"
  try PATCH /api/v1/namespaces/team/services/evil merge '{"metadata":{"labels":{"evil":"yes"}}}'
  expect "nor after a change" 0 "$(fence)"
  made "a claim" POST /api/v1/namespaces/team/persistentvolumeclaims json '{"metadata":{"name":"evil"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"","resources":{"requests":{"storage":"1Mi"}}}}'
  expect "names no volume" null "$(stored "/api/v1/namespaces/$evil-team/persistentvolumeclaims/evil" .spec.volumeName)"
  made "an Ingress" POST /apis/networking.k8s.io/v1/namespaces/team/ingresses json '{"metadata":{"name":"evil"},"spec":{"defaultBackend":{"service":{"name":"evil","port":{"number":80}}}}}'
  expect_no_match "is not of the platform's class" '^evil$' "$(stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/ingresses/evil" .spec.ingressClassName)"
  made "a namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-more"}}'
  expect "its fence names the tenant alone" "User zoo:$evil" "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-evil-more/rolebindings/zoo-tenant" '[.subjects[] | .kind + " " + .name] | join(",")')"
  made "a pod" POST /api/v1/namespaces/team/pods json '{"metadata":{"name":"evil"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}]}}'
  bound evil-status '{"apiGroups":[""],"resources":["pods/status","*/status"]}' '[JSONPatch{op: "add", path: "/status/podIP", value: "192.0.2.66"}]'
  written() { # what a kubelet writes, and what is stored
    direct PATCH "/api/v1/namespaces/$evil-team/pods/evil/status" merge '{"status":{"podIP":"10.0.0.'"$1"'","podIPs":[{"ip":"10.0.0.'"$1"'"}]}}'
    stored "/api/v1/namespaces/$evil-team/pods/evil" .status.podIP
  }
  # The condition that holds it cannot be taken away.
  fence() { stored "$policies/$evil-evil-services" '[.spec.matchConditions[]? | select(.name == "zoo.kubezoo.io/own-objects" and (.expression | contains("/services")))] | length'; }
  expect "upstream has the fence" 1 "$(fence)"
  after_each $policies/evil-services 1 <<'P'
merge {"spec":{"matchConditions":null}}
merge {"spec":{"matchConditions":[{"name":"zoo.kubezoo.io/own-objects","expression":"true"}]}}
patch [{"op":"remove","path":"/spec/matchConditions"}]
patch [{"op":"remove","path":"/spec/matchConditions/0"}]
patch [{"op":"replace","path":"/spec/matchConditions/0/expression","value":"true"}]
patch [{"op":"add","path":"/spec/matchConditions","value":[]}]
strategic {"spec":{"matchConditions":[{"name":"zoo.kubezoo.io/own-objects","$patch":"delete"}]}}
strategic {"spec":{"matchConditions":[{"$patch":"replace"}]}}
strategic {"spec":{"matchConditions":[{"name":"zoo.kubezoo.io/own-objects","expression":"true"}]}}
apply {"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"evil-services"},"spec":{"matchConditions":[{"name":"zoo.kubezoo.io/own-objects","expression":"true"}]}}
P
  try POST $policies json "$(policy evil-named '{"apiGroups":[""],"resources":["services"]}' 'Object{}' '{"matchConditions":[{"name":"zoo.kubezoo.io/own-objects","expression":"true"}]}')"
  refused "a condition of that name"
  direct PATCH $policies/$evil-evil-services patch '[{"op":"remove","path":"/spec/matchConditions"}]'
  accepted "upstream's administrator takes it away"
  reaches() {
    try POST /api/v1/namespaces/team/services json '{"metadata":{"generateName":"evil-"},"spec":{"ports":[{"port":80}]}}'
    [[ $(jq -r '.spec.externalIPs[0]' <<<"$answer") == 192.0.2.66 ]]
  }
  eventually "and a Service has a foreign address" 30 reaches
  # By now upstream has long known the other one too.
  expect "a pod has the address that its kubelet wrote" 10.0.0.7 "$(written 7)"
  direct PATCH $policies/$evil-evil-status patch '[{"op":"remove","path":"/spec/matchConditions"}]'
  accepted "upstream's administrator takes this one away too"
  reaches() { [[ $(written 8) == 192.0.2.66 ]]; }
  eventually "and the address is another one" 30 reaches
  try DELETE $group/mutatingadmissionpolicybindings
  try DELETE $policies
fi
hooks=$group/mutatingwebhookconfigurations
hook='{"name":"evil.example.com","clientConfig":{"service":{"namespace":"team","name":"evil"}},"failurePolicy":"Ignore","timeoutSeconds":1,"sideEffects":"None","admissionReviewVersions":["v1"],
  "rules":[{"apiGroups":["*"],"apiVersions":["*"],"resources":["services","pods/binding"],"operations":["*"],"scope":"*"}]}'
made "a webhook" POST $hooks json '{"metadata":{"name":"evil"},"webhooks":['"$hook"']}'
fence() { stored "$hooks/$evil-evil" '[.webhooks[]? | select(any(.matchConditions[]?; .name == "zoo.kubezoo.io/own-objects" and (.expression | contains("/services"))) | not)] | length'; }
expect "upstream has the fence" 0 "$(fence)"
after_each $hooks/evil 0 <<P
merge {"webhooks":[$(tr -d '\n' <<<"$hook")]}
patch [{"op":"remove","path":"/webhooks/0/matchConditions"}]
patch [{"op":"replace","path":"/webhooks/0/matchConditions","value":[]}]
strategic {"webhooks":[{"name":"evil.example.com","matchConditions":null}]}
strategic {"webhooks":[{"name":"more.example.com",$(tr -d '\n' <<<"${hook#*,}")]}
P
try DELETE $hooks/evil
# A URL: upstream would call any address of the platform's network.
by_url=${hook/\"service\":\{*\"evil\"\}\}/\"url\":\"https://127.0.0.1:1/evil\"\}}
for kind in mutatingwebhookconfigurations validatingwebhookconfigurations; do
  hooks=$group/$kind
  made "a webhook by URL" POST $hooks json '{"metadata":{"name":"evil"},"webhooks":['"$by_url"']}'
  fence() { stored "$hooks/$evil-evil" '[.webhooks[]? | select(.clientConfig.url // "" | contains("/w/'"$evil"'/") | not) | select(.clientConfig.url) | .rules[]? | select(.apiGroups != ["cluster.zoo.kubezoo.io"])] | length'; }
  expect "matches nothing" 0 "$(fence)"
  after_each $hooks/evil 0 <<P
merge {"webhooks":[$(tr -d '\n' <<<"$by_url")]}
patch [{"op":"replace","path":"/webhooks/0/rules/0/apiGroups","value":["*"]}]
patch [{"op":"add","path":"/webhooks/0/rules/-","value":{"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"operations":["*"]}}]
patch [{"op":"copy","from":"/webhooks/0/rules/0/operations","path":"/webhooks/0/rules/0/apiGroups"}]
strategic {"webhooks":[{"name":"evil.example.com","rules":[{"apiGroups":[""],"apiVersions":["*"],"resources":["secrets"],"operations":["*"]}]}]}
strategic {"webhooks":[{"name":"more.example.com",$(tr -d '\n' <<<"${by_url#*,}")]}
P
  try DELETE $hooks/evil
done
