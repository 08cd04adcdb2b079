#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 1500
# What a tenant puts in the way of requests - webhooks, admission policies - works on its own objects and on nobody else's;
# what cannot work is stored, shown and said.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

hook=$(go_program "$zoo_root/tests/e2e/admission") || { failed "build the webhook" <<<"see above"; exit 1; }
start_zood
# Their webhook runs on this machine and in no pod.
new_tenant first --webhooks direct
new_tenant second --webhooks direct
for id in "$first" "$second"; do
  require "namespaces of $id" as "$id" create -f - <<<'{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Namespace, metadata: {name: team}}, {apiVersion: v1, kind: Namespace, metadata: {name: calm}}]}'
done

# Upstream calls a Service by the name that it has there: the certificate has to be for that one.
"$hook" --out "$TMPDIR/hook.json" --log "$TMPDIR/calls" --names "hook.$first-team.svc" >"$TMPDIR/hook.log" 2>&1 &
hook_pid=$!
at_end() { kill "$hook_pid" 2>/dev/null; }
eventually "the webhook listens" 30 test -s "$TMPDIR/hook.json"
ca=$(jq -r .ca "$TMPDIR/hook.json") port=$(jq -r .port "$TMPDIR/hook.json")
require "a Service in front of it" as "$first" -n team create service externalname hook --external-name localhost --tcp "$port:$port"
service="service: {namespace: team, name: hook, port: $port"

count=0
configmap() { # ID [LABELS [NAMESPACE]]: a new one each time
  local id=$1 labels=${2:-plain: none} name_space=${3:-team}
  count=$((count + 1))
  as "$id" create -f - <<<"{apiVersion: v1, kind: ConfigMap, metadata: {name: probe-$RANDOM-$count, namespace: $name_space, labels: {$labels}}, data: {replicas: '3'}}"
}
labelled() { as "$1" -n "${3:-team}" get configmap -l "$2" -o name; }
webhook() { # KIND PATH [MORE MEMBERS [RULES]]
  local more=${3:-} rules=${4:-'{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: ["*"], resources: [configmaps], scope: Namespaced}'}
  cat <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: $1
metadata: {name: mine}
webhooks:
- name: mine.example.com
  clientConfig: {$service, path: $2}, caBundle: $ca}
  rules: [$rules]
  failurePolicy: Fail
  sideEffects: None
  timeoutSeconds: 5
  admissionReviewVersions: [v1]
$more
YAML
}
hooks=validatingwebhookconfiguration
says() { # TEXT COMMAND...: however it ends
  local wanted=$1 said
  shift
  said=$("$@" 2>&1)
  [[ $said =~ $wanted ]] || { echo "$said"; return 1; }
}
refuses() { says 'denied the request' configmap "$first" "refuse: 'yes'"; }
lets() { says created configmap "$first" "refuse: 'yes'"; }

# ---- a validating webhook
check "register it" as "$first" create -f - <<<"$(webhook ValidatingWebhookConfiguration /validate)"
eventually "it works" 30 refuses
check_fails "it refuses, in the tenant's words" 'admission webhook "mine.example.com" denied the request: refused in team$' configmap "$first" "refuse: 'yes'"
expect_match "it warns" 'seen in team$' "$(configmap "$first" 2>&1)"
expect_no_match "without a prefix" "$first" "$(configmap "$first" "refuse: 'yes'" 2>&1)"
check_fails "a patch is refused too" 'refused in team$' as "$first" -n team label configmap kube-root-ca.crt refuse=yes --dry-run=server
check "the other tenant does not feel it" configmap "$second" "refuse: 'yes'"
check "nor does the platform" upstream -n default create configmap "admission-$first"
upstream -n default delete configmap "admission-$first" >/dev/null
expect "it was not even asked" "" "$(grep -v " $first-" "$TMPDIR/calls")"
expect "what is read is what was written" "team hook Namespaced" "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].clientConfig.service.namespace} {.webhooks[0].clientConfig.service.name} {.webhooks[0].rules[0].scope}')"
expect "and no selector" "{}" "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].namespaceSelector}')"
expect_no_match "the other tenant has none" mine "$(as "$second" get $hooks -o name)"

# ---- which objects it sees
check "a namespace by its name" as "$first" apply -f - <<<"$(webhook ValidatingWebhookConfiguration /validate '  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: calm}}')"
eventually "is let alone where it is another" 30 lets
check_fails "and asked where it is that one" 'refused in calm$' configmap "$first" "refuse: 'yes'" calm
expect "what is read is what was written" '{"matchLabels":{"kubernetes.io/metadata.name":"calm"}}' "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].namespaceSelector}')"
check "a namespace by its labels" as "$first" label namespace team watched=yes
check "in an expression" as "$first" apply -f - <<<"$(webhook ValidatingWebhookConfiguration /validate '  namespaceSelector: {matchExpressions: [{key: watched, operator: In, values: ["yes"]}]}')"
eventually "asked there" 30 refuses
check "not elsewhere" configmap "$first" "refuse: 'yes'" calm
check "objects by their labels" as "$first" apply -f - <<<"$(webhook ValidatingWebhookConfiguration /validate '  namespaceSelector: null
  objectSelector: {matchLabels: {look: here}}')"
eventually "others are let alone" 30 lets
check_fails "these are not" 'refused in team' configmap "$first" "refuse: 'yes', look: here"
check "conditions" as "$first" apply -f - <<<"$(webhook ValidatingWebhookConfiguration /validate "  objectSelector: null
  matchConditions:
  - {name: team, expression: \"object.metadata.namespace == 'team' && request.namespace == 'team'\"}
  - {name: name, expression: \"object.metadata.name.startsWith('probe-')\"}")"
eventually "hold in the tenant's names" 30 refuses
check "and fail in others" configmap "$first" "refuse: 'yes'" calm
expect "and read as written" "object.metadata.namespace == 'team' && request.namespace == 'team'" "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].matchConditions[0].expression}')"
autoscaler() { # a v2 object
  as "$first" -n team create --dry-run=server -f - <<<"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, labels: {refuse: 'yes'}}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}" 2>&1
}
of_v1='{operations: [CREATE], apiGroups: [autoscaling], apiVersions: [v1], resources: [horizontalpodautoscalers]}'
check "matchPolicy Equivalent" as "$first" replace -f - <<<"$(webhook ValidatingWebhookConfiguration /validate '  matchPolicy: Equivalent' "$of_v1")"
eventually "sees another version" 30 says 'denied the request' autoscaler
expect_match "as the one it knows" "horizontalpodautoscalers.v1 $first-team h" "$(<"$TMPDIR/calls")"
check "matchPolicy Exact" as "$first" replace -f - <<<"$(webhook ValidatingWebhookConfiguration /validate '  matchPolicy: Exact' "$of_v1")"
eventually "does not" 30 says created autoscaler
check "one that nobody serves" as "$first" replace -f - <<<"$(webhook ValidatingWebhookConfiguration /validate | sed "s/port: $port/port: 1/")"
eventually "closes the way, and says so in the tenant's words" 30 says 'failed calling webhook "mine.example.com".*https://hook.team.svc:1/validate' configmap "$first"
expect_no_match "without a prefix" "$first" "$(configmap "$first" 2>&1)"
check "to its tenant alone" configmap "$second"
check "delete it" as "$first" delete $hooks mine
eventually "it works no more" 30 lets

# ---- a mutating one, also on what upstream's controllers make
of_pods='{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps, pods]}'
check "register a mutating one" as "$first" create -f - <<<"$(webhook MutatingWebhookConfiguration /mutate '' "$of_pods")"
touched() { configmap "$first" >/dev/null 2>&1; [[ -n $(labelled "$first" touched=yes) ]]; }
eventually "it changes objects" 30 touched
configmap "$second" >/dev/null
expect "not the other tenant's" "" "$(labelled "$second" touched=yes)"
check "a Deployment" as "$first" -n team create deployment web --image none.test/x
pods_touched() { [[ $(as "$first" -n team get pods -l touched=yes,app=web -o name) ]]; }
eventually "the pods of its controller are changed" 60 pods_touched
check "delete it" as "$first" delete mutatingwebhookconfiguration mine
check "and the Deployment" as "$first" -n team delete deployment web

# ---- what cannot work is stored, shown and said
by_url() { # SERVER'S ADDRESS
  webhook ValidatingWebhookConfiguration /validate | sed "s|clientConfig: .*|clientConfig: {url: '$1', caBundle: $ca}|"
}
lines() { wc -l <"$TMPDIR/calls"; }
before=$(lines)
expect_match "a webhook by URL: a warning" 'Warning: .*webhook "mine.example.com" is named by a URL: it is stored but not effective' "$(by_url "https://localhost:$port/validate" | as "$first" create -f - 2>&1)"
expect "it reads as written" "https://localhost:$port/validate [\"\"] Namespaced" "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].clientConfig.url} {.webhooks[0].rules[0].apiGroups} {.webhooks[0].rules[0].scope}')"
expect_match "said at a patch too" 'Warning: .*named by a URL' "$(as "$first" patch $hooks mine --type merge -p '{"metadata":{"labels":{"a":"b"}}}' 2>&1)"
expect_match "a patch of its rules" 'Warning: .*named by a URL' "$(as "$first" patch $hooks mine --type json -p '[{"op":"replace","path":"/webhooks/0/rules","value":[{"operations":["CREATE"],"apiGroups":["","apps"],"apiVersions":["*"],"resources":["*"],"scope":"Namespaced"}]}]' 2>&1)"
expect "is shown" '["","apps"]' "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].rules[0].apiGroups}')"
expect "and stored without effect" '["cluster.zoo.kubezoo.io"]' "$(upstream get $hooks "$first-mine" -o 'jsonpath={.webhooks[0].rules[0].apiGroups}')"
check "its namespace is not in its way" configmap "$first" "refuse: 'yes'"
check "kubectl apply, by the server" as "$first" apply --server-side --force-conflicts -f - <<<"$(by_url "https://localhost:$port/validate")"
check "and again" as "$first" apply --server-side -f - <<<"$(by_url "https://localhost:$port/validate")"
expect "still without effect" '["cluster.zoo.kubezoo.io"]' "$(upstream get $hooks "$first-mine" -o 'jsonpath={.webhooks[0].rules[0].apiGroups}')"
expect "it was never called" "$before" "$(lines)"
check "a patch gives it a Service" as "$first" patch $hooks mine --type json -p '[{"op":"replace","path":"/webhooks/0/clientConfig","value":{"service":{"namespace":"team","name":"hook","port":'"$port"',"path":"/validate"},"caBundle":"'"$ca"'"}}]'
eventually "and it works" 30 refuses
check "a patch takes it away" as "$first" patch $hooks mine --type json -p '[{"op":"replace","path":"/webhooks/0/clientConfig","value":{"url":"https://localhost:'"$port"'/validate","caBundle":"'"$ca"'"}}]'
eventually "and it does not" 30 lets
expect "its rules are as they were" '[""]' "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].rules[0].apiGroups}')"
check "delete it" as "$first" delete $hooks mine
of_namespaces='{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [namespaces], scope: Cluster}'
expect_match "rules for cluster-scoped objects: a warning" 'Warning: .*cluster-scoped objects are stored but not effective' "$(webhook ValidatingWebhookConfiguration /nowhere '' "$of_namespaces" | as "$first" create -f - 2>&1)"
expect "they read as written" 'Cluster [""]' "$(as "$first" get $hooks mine -o 'jsonpath={.webhooks[0].rules[0].scope} {.webhooks[0].rules[0].apiGroups}')"
check "a namespace is made all the same" as "$first" create namespace more
check "delete it" as "$first" delete $hooks mine

check_fails "an unknown scope" 'webhooks\[0\].rules\[0\].scope: Unsupported value: "X": supported values: "\*", "Cluster", "Namespaced"' as "$first" create -f - <<<"$(webhook ValidatingWebhookConfiguration /nowhere '' "${of_namespaces/Cluster/X}")"
slow() { webhook ValidatingWebhookConfiguration /nowhere '' "${of_namespaces/Cluster/\"*\"}" | sed "s/timeoutSeconds: 5/timeoutSeconds: $1/"; }
check_fails "a timeout beyond Kubernetes' own" 'webhooks\[0\].timeoutSeconds: Invalid value: 40: the timeout value must be between 1 and 30 seconds' as "$first" create -f - <<<"$(slow 40)"
expect_match "one beyond the platform's: a warning" 'Warning: .*timeoutSeconds of webhook "mine.example.com" is held to 10: .*rule webhook-timeouts' "$(slow 20 | as "$first" create --dry-run=server -f - 2>&1)"

# ---- policies
policy() { # KIND SPEC
  as "$first" apply -f - <<YAML
apiVersion: admissionregistration.k8s.io/$version
kind: $1
metadata: {name: mine}
spec: $2
YAML
}
version=v1
rules='resourceRules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]'
# Parameters of a kind of the tenant's own. (Of built-in kinds upstream's informer stops for good when the last policy
# that has such parameters goes: k8s.io/apiserver, generic/policy_source.go.)
require "a kind of parameters" as "$first" create -f - <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.rules.example.com}
spec:
  group: rules.example.com
  scope: Namespaced
  names: {plural: limits, singular: limit, kind: Limit}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {max: {type: integer}}}}}]
YAML
require "is established" established limits.rules.example.com as "$first"
limited() { as "$first" create -f - <<<'{apiVersion: rules.example.com/v1, kind: Limit, metadata: {name: most, namespace: team}, max: 2}'; }
eventually "parameters" 30 limited
check "a validating policy" policy ValidatingAdmissionPolicy "{paramKind: {apiVersion: rules.example.com/v1, kind: Limit}, matchConstraints: {$rules}, failurePolicy: Fail, variables: [{name: where, expression: namespaceObject.metadata.name}], validations: [{expression: \"!has(object.data.replicas) || int(object.data.replicas) <= params.max\", messageExpression: \"'too many in ' + variables.where\"}]}"
expect "a scope that was left out is Kubernetes' default" '*' "$(as "$first" get validatingadmissionpolicy mine -o 'jsonpath={.spec.matchConstraints.resourceRules[0].scope}')"
check_fails "an expression that does not compile, as it was written" "Invalid value: \"object.metadata.namespace = 'x'\": compilation failed: ERROR: <input>:1:27: .*" policy ValidatingAdmissionPolicy "{matchConstraints: {$rules}, validations: [{expression: \"object.metadata.namespace = 'x'\"}]}"
expect_no_match "without the platform's pieces" "replace|$first" "$(policy ValidatingAdmissionPolicy "{matchConstraints: {$rules}, validations: [{expression: \"object.metadata.namespace = 'x'\"}]}" 2>&1)"
check "its binding" policy ValidatingAdmissionPolicyBinding "{policyName: mine, paramRef: {name: most, namespace: team, parameterNotFoundAction: Deny}, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team}}}}"
eventually "it works, in the tenant's words" 30 says "ValidatingAdmissionPolicy 'mine' with binding 'mine' denied request: too many in team\$" configmap "$first"
check "not in another namespace" configmap "$first" 'plain: none' calm
check "the other tenant does not feel it" configmap "$second"
check "nor does the platform" upstream -n default create configmap "admission-$first" --from-literal=replicas=3
upstream -n default delete configmap "admission-$first" >/dev/null
check "the parameter can be changed" as "$first" -n team patch limit most --type merge -p '{"max":5}'
eventually "and counts" 30 configmap "$first"
check "a warning instead" as "$first" -n team patch limit most --type merge -p '{"max":1}'
check "by its binding" as "$first" patch validatingadmissionpolicybinding mine --type merge -p '{"spec":{"validationActions":["Warn","Audit"]}}'
eventually "is heard" 30 says "Warning: Validation failed for ValidatingAdmissionPolicy 'mine' with binding 'mine': too many in team" configmap "$first"
check "the policy goes" as "$first" delete validatingadmissionpolicybinding,validatingadmissionpolicy mine
for version in v1 v1beta1; do
  as "$first" get --raw "/apis/admissionregistration.k8s.io/$version" 2>/dev/null | says_line '"mutatingadmissionpolicies"' && break
  version=''
done
if [[ -n $version ]]; then
  check "a mutating policy" policy MutatingAdmissionPolicy "{paramKind: {apiVersion: rules.example.com/v1, kind: Limit}, matchConstraints: {$rules}, failurePolicy: Fail, reinvocationPolicy: Never, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"policy\": string(params.max), \"in\": string(object.metadata.namespace)}}}'}}]}"
  check "its binding" policy MutatingAdmissionPolicyBinding "{policyName: mine, paramRef: {name: most, namespace: team, parameterNotFoundAction: Deny}}"
  changed() { configmap "$first" >/dev/null 2>&1; [[ -n $(labelled "$first" policy=1,in=team) ]]; }
  eventually "it changes objects" 30 changed
  configmap "$second" >/dev/null
  expect "not the other tenant's" "" "$(labelled "$second" policy)"
  check "it goes" as "$first" delete mutatingadmissionpolicybinding,mutatingadmissionpolicy mine
fi

# ---- groups: those of the tenant's own kinds have a prefix upstream, which no expression sees
version=v1
limits='resourceRules: [{operations: [CREATE, UPDATE, DELETE], apiGroups: [rules.example.com], apiVersions: [v1], resources: [limits]}]'
limit() { # NAME [MORE MEMBERS]: made on trial
  as "$first" create --dry-run=server -f - <<<"{apiVersion: rules.example.com/v1, kind: Limit, metadata: {name: $1, namespace: team${2:-}}, max: 1}"
}
owner=", ownerReferences: [{apiVersion: rules.example.com/v1, kind: Limit, name: most, uid: $(as "$first" -n team get limit most -o 'jsonpath={.metadata.uid}')}]"
asks="request.kind.group == 'rules.example.com' && request.resource.group == 'rules.example.com' && request.requestKind.group == 'rules.example.com' && request.requestResource.group == 'rules.example.com'"
grouped() { # WHAT EXPRESSION: a policy that denies whatever the expression holds for
  check "$1" policy ValidatingAdmissionPolicy "{matchConstraints: {$limits}, failurePolicy: Fail, matchConditions: [{name: group, expression: \"request.kind.group == 'rules.example.com'\"}], validations: [{expression: \"!($2)\", messageExpression: \"'seen: ' + string(object.apiVersion)\"}]}"
}
denies() { says 'denied request: seen: rules.example.com/v1' limit "$@"; }
allows() { says created limit "$@"; }
grouped "a policy that asks for the group of a request" "$asks"
check "its binding" policy ValidatingAdmissionPolicyBinding '{policyName: mine, validationActions: [Deny]}'
eventually "denies, since all of them are the tenant's" 30 denies a
expect "it reads as it was written" "!($asks)" "$(as "$first" get validatingadmissionpolicy mine -o 'jsonpath={.spec.validations[0].expression}')"
grouped "another group" "request.kind.group == 'other.example.com' || object.apiVersion == 'other.example.com/v1'"
eventually "is let alone" 30 allows a
grouped "an object's apiVersion" "object.apiVersion == 'rules.example.com/v1' && object['apiVersion'] == object.?apiVersion.orValue('')"
eventually "is the tenant's" 30 denies a
grouped "an owner's" "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.apiVersion == 'rules.example.com/v1')"
eventually "is too" 30 denies a "$owner"
eventually "without one it is let alone" 30 allows a
grouped "an optional that is asked for" "request.kind.?group.orValue('') == 'rules.example.com' && object.?metadata.?ownerReferences[?0].apiVersion.orValue('none') == 'none'"
eventually "holds" 30 denies a
check "and fails where there is an owner" limit a "$owner"
check "the apiVersion of a request's old object" policy ValidatingAdmissionPolicy "{matchConstraints: {$limits}, matchConditions: [{name: old, expression: \"oldObject != null && oldObject.apiVersion == 'rules.example.com/v1'\"}], validations: [{expression: 'false', message: kept}]}"
eventually "is the tenant's" 30 says 'denied request: kept' as "$first" -n team delete limit most --dry-run=server
check_fails "a request's kind as a whole is refused" 'hands on .request.*rule expression-groups' policy ValidatingAdmissionPolicy "{matchConstraints: {$limits}, variables: [{name: kind, expression: request.kind}], validations: [{expression: variables.kind.group == ''}]}"
as_patch='[{"op":"replace","path":"/spec/matchConditions/0/expression","value":"request.resource.group == '"'rules.example.com'"' && object != null"}]'
check "a JSON patch of an expression" as "$first" patch validatingadmissionpolicy mine --type json -p "$as_patch"
eventually "is translated" 30 says 'denied request: kept' limit a
expect "and reads as it was written" "request.resource.group == 'rules.example.com' && object != null" "$(as "$first" get validatingadmissionpolicy mine -o 'jsonpath={.spec.matchConditions[0].expression}')"
check "the policy goes" as "$first" delete validatingadmissionpolicybinding,validatingadmissionpolicy mine
of_limits='{operations: [CREATE], apiGroups: [rules.example.com], apiVersions: [v1], resources: [limits]}'
expect_match "a webhook for such a group: a warning" 'Warning: .*a webhook for group "rules.example.com" is sent .*rule review-groups' "$(webhook ValidatingWebhookConfiguration /validate "  matchConditions: [{name: group, expression: \"request.kind.group == 'rules.example.com'\"}]" "$of_limits" | as "$first" create -f - 2>&1)"
eventually "its condition sees the tenant's group" 30 says 'denied the request' limit a ", labels: {refuse: 'yes'}"
check "it goes" as "$first" delete $hooks mine
for version in v1 v1beta1; do
  as "$first" get --raw "/apis/admissionregistration.k8s.io/$version" 2>/dev/null | says_line '"mutatingadmissionpolicies"' && break
  version=''
done
if [[ -n $version ]]; then
  writes() { policy MutatingAdmissionPolicy "{matchConstraints: {$rules}, failurePolicy: Fail, reinvocationPolicy: Never, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{apiVersion: \"$1\", kind: \"Limit\", name: \"most\", uid: \"u\"}]}}'}}]}"; }
  check_fails "a mutation does not write a group of the tenant's own" 'writes the API group of a reference.*rule expression-groups' writes rules.example.com/v1
fi
expect_match "rules for cluster-scoped objects: a warning" 'Warning: .*not effective' "$(version=v1 policy ValidatingAdmissionPolicy "{matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [namespaces]}]}, validations: [{expression: 'false'}]}" 2>&1)"

# ---- a webhook that answers nobody does not hold its tenant up
check "closed for everything" as "$first" create -f - <<<"$(webhook ValidatingWebhookConfiguration /nowhere '' '{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"]}')"
for id in "$first" "$second"; do check "delete tenant $id" ctl tenant delete "$id" --wait; done
