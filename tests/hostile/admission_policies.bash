# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: policies whose CEL sees the victim's objects, parameters from its namespaces, bindings of zood's own policies.
# Without the fence: a policy is evaluated for every request of the cluster, and its message tells what it saw.
# Rule: match constraints are fenced by the tenant label, parameters' namespaces prefixed, names prefixed.
group=/apis/admissionregistration.k8s.io/v1
policy='{"metadata":{"name":"evil"},"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"Secret"},"matchConstraints":{"namespaceSelector":{},"matchPolicy":"Equivalent","resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"],"scope":"*"}]},"validations":[{"expression":"false","messageExpression":"string(object)"}]}}'
made "a policy" POST $group/validatingadmissionpolicies json "$policy"
binding='{"metadata":{"name":"evil"},"spec":{"policyName":"evil","validationActions":["Deny"],"paramRef":{"name":"'$vault'","namespace":"'$victim-team'","parameterNotFoundAction":"Allow"},"matchResources":{"namespaceSelector":{}}}}'
try POST $group/validatingadmissionpolicybindings json "$binding"
fenced='(.namespaceSelector.matchLabels["tenant.kubezoo.io/id"] == "'$evil'" or any(.namespaceSelector.matchExpressions[]?; .key == "tenant.kubezoo.io/id" and .values == ["'$evil'"]))'
fence() { stored "$group/validatingadmissionpolicies/$evil-evil" ".spec.matchConstraints | $fenced and all(.resourceRules[]; .scope == \"Namespaced\" or all(.apiGroups[]; . != \"*\"))"; }
expect "it is fenced" true "$(fence)"
after_each $group/validatingadmissionpolicies/evil true <<'P'
merge {"spec":{"matchConstraints":{"namespaceSelector":null}}}
merge {"spec":{"matchConstraints":{"namespaceSelector":{"matchLabels":null,"matchExpressions":null}}}}
patch [{"op":"remove","path":"/spec/matchConstraints/namespaceSelector"}]
patch [{"op":"replace","path":"/spec/matchConstraints/namespaceSelector","value":{}}]
patch [{"op":"copy","from":"/spec/matchConstraints/objectSelector","path":"/spec/matchConstraints/namespaceSelector"}]
patch [{"op":"replace","path":"/spec/matchConstraints/resourceRules/0/scope","value":"*"}]
strategic {"spec":{"matchConstraints":{"$patch":"replace","resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]}}}
strategic {"spec":{"matchConstraints":{"namespaceSelector":{"$patch":"delete"}}}}
P
expect_match "parameters are the attacker's own" "^(null|$evil-.*)$" "$(stored "$group/validatingadmissionpolicybindings/$evil-evil" .spec.paramRef.namespace)"
for name in zoo-tenants-cluster-scoped zoo-tenants-roles zoo-tenants-rolebindings zoo-tenants-tokens zoo-tenants-pods; do
  for kind in validatingadmissionpolicies validatingadmissionpolicybindings; do
    try GET $group/$kind/$name
    refused "$kind $name is not read" 404
    try DELETE $group/$kind/$name
    refused "nor deleted" 404
    try PATCH $group/$kind/$name merge '{"spec":null}'
    refused "nor patched" 404
  done
  try POST $group/validatingadmissionpolicybindings json '{"metadata":{"name":"evil-'$name'"},"spec":{"policyName":"'$name'","validationActions":["Audit"]}}'
  expect_match "nor bound" "^(null|$evil-.*)$" "$(stored "$group/validatingadmissionpolicybindings/$evil-evil-$name" .spec.policyName)"
done
try DELETE $group/validatingadmissionpolicybindings
try DELETE $group/validatingadmissionpolicies
check "the victim may write" as "$victim" -n default create configmap after-policy
check "and remove" as "$victim" -n default delete configmap after-policy
would "evaluate it for everybody" POST $group/validatingadmissionpolicies json "${policy/\"name\":\"evil\"/\"name\":\"$evil-direct\"}"
# Parameters that upstream would read for it, out of what all tenants have.
for kind in v1/PersistentVolume v1/Namespace v1/Node rbac.authorization.k8s.io/v1/ClusterRole storage.k8s.io/v1/StorageClass \
  apiextensions.k8s.io/v1/CustomResourceDefinition certificates.k8s.io/v1/CertificateSigningRequest; do
  look='{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"evil-look"},"spec":{"failurePolicy":"Ignore","paramKind":{"apiVersion":"'${kind%/*}'","kind":"'${kind##*/}'"},"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},"validations":[{"expression":"false","messageExpression":"string(params.metadata.name)"}]}}'
  try POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies json "$look"
  refused "parameters of kind $kind" 403
  try PATCH "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/evil-look?fieldManager=evil" apply "$look"
  refused "nor by an apply" 403
done
made "a policy with parameters of its own" POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies json "${look//certificates.k8s.io\/v1\",\"kind\":\"CertificateSigningRequest/v1\",\"kind\":\"ConfigMap}"
for patch in 'merge {"spec":{"paramKind":{"kind":"PersistentVolume"}}}' 'patch [{"op":"replace","path":"/spec/paramKind/kind","value":"Namespace"}]'; do
  try PATCH /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/evil-look "${patch%% *}" "${patch#* }"
  refused "changed to ${patch#* }" 403
done
try DELETE /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/evil-look
