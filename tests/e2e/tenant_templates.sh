#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts templates tenants gateway app upstream translate
# timeout: 600
# Templates in the namespaces of a tenant: spec.templates of its Tenant, and those of the account that spec.account names. They are rendered in
# the tenant's words, and there before the tenant reaches a namespace; what one makes is put back when it drifts, and the tenant cannot change it.
. "$(dirname "$0")/lib.sh"

own_upstream --nodes 1
config=$'accounts:\n  enabled: true\n  listen: 127.0.0.1:0'
start_zood_with "$config"
template() { # NAME, and its manifests on standard input
  { printf 'apiVersion: config.kiosk.sh/v1alpha1\nkind: Template\nmetadata: {name: %s}\n' "$1" && cat; } | upstream apply -f -
}
require "a template of walls" template walls <<'YAML'
parameters:
- {name: CPU, value: "1", validation: "[0-9]+"}
resources:
  manifests:
  - apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: {name: walls}
    spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}]}]}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: facts, namespace: "${namespace}"}
    data: {space: "${namespace}", tenant: "${tenant}", cpu: "${CPU}"}
YAML
require "one that cannot be made" template broken <<'YAML'
resources:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: elsewhere}}
YAML
require "one that would reach out" template outward <<'YAML'
resources:
  manifests:
  - {apiVersion: v1, kind: Namespace, metadata: {name: more}}
YAML
new_tenant t --template walls:CPU=2
kube() { "$KUBECTL" --kubeconfig "$TMPDIR/$t.kubeconfig" "$@"; }
set_spec() { # JSON of a part of spec
  curl -sS --fail-with-body --unix-socket "$zood_dir/zood.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' \
    -d "{\"spec\":$1}" "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$t"
}
facts() { kube -n "$1" get configmap facts -o 'jsonpath={.data.space} {.data.tenant} {.data.cpu}'; }
condition() { ctl tenant get "$t" -o json | jq -r '.status.conditions[] | select(.type == "Furnished") | .status + " " + .reason'; }
is_furnished() { [[ $(condition) == "$1" ]]; }

# ---- there before the namespace is --------------------------------------------------------------------------------

expect "the first namespaces have it, in the tenant's words" "default $t 2" "$(facts default)"
eventually "and the Tenant says so" 30 is_furnished "True Furnished"
require "a namespace is made" kube create namespace web
expect "it is there when the namespace is" "web $t 2" "$(facts web)"
policy=$(kube -n web get networkpolicy walls -o json)
expect "with selectors as the tenant writes them" kube-system "$(jq -r '.spec.egress[0].to[0].namespaceSelector.matchLabels["kubernetes.io/metadata.name"]' <<<"$policy")"
expect "which upstream has inside the tenant" "$t-kube-system" \
  "$(upstream -n "$t-web" get networkpolicy walls -o json | jq -r '.spec.egress[0].to[0].namespaceSelector.matchLabels["kubernetes.io/metadata.name"]')"
expect_no_match "nothing of it leads out" "$t-|ownerReferences" "$policy"
check_fails "the instance is hidden" "doesn't have a resource type" kube -n web get templateinstances
expect "upstream has it" 1 "$(upstream -n "$t-web" get templateinstances -o name | wc -l)"

# ---- kept ---------------------------------------------------------------------------------------------------------

for act in "delete networkpolicy walls" "patch configmap facts --type merge -p {\"data\":{\"cpu\":\"9\"}}" "label configmap facts zoo.kubezoo.io/managed-"; do
  # shellcheck disable=SC2086 # words
  check_fails "the tenant does not change it: $act" "rule templates" kube -n web $act
done
check_fails "nor passes its own off as that" "rule templates" kube -n web create -f - <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"mine","labels":{"zoo.kubezoo.io/managed":"true"}}}'
require "what is not kept it changes" kube -n web create configmap mine
require "somebody upstream takes it away" upstream -n "$t-web" delete networkpolicy walls
back() { kube -n web get networkpolicy walls; }
eventually "and it is put back" 60 back
require "the template changes" template walls <<'YAML'
parameters:
- {name: CPU, value: "1", validation: "[0-9]+"}
resources:
  manifests:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: facts}
    data: {space: "${namespace}", tenant: "${tenant}", cpu: "${CPU}00m"}
YAML
now_has() { [[ $(facts "$1") == "$2" ]]; }
eventually "every namespace follows" 60 now_has web "web $t 200m"
eventually "the first ones, too" 60 now_has default "default $t 200m"
gone() { ! kube -n web get networkpolicy walls; }
eventually "what it does not have any more goes" 60 gone

# ---- bad ones -----------------------------------------------------------------------------------------------------

check_fails "a wrong entry is refused" "spec.templates\[0\]" set_spec '{"templates":[{"name":"walls"}]}'
for one in broken:elsewhere outward:Namespace missing:"not found"; do
  require "the list has a template that cannot be made: ${one%%:*}" set_spec "{\"templates\":[{\"template\":\"walls\"},{\"template\":\"${one%%:*}\"}]}"
  eventually "the Tenant says so" 60 is_furnished "False TemplateFailed"
  check_fails "a new namespace is not made, and why is said" "TemplateInstance .*${one#*:}.*; the namespace was not created" kube create namespace "new-${one%%:*}"
  no_namespace() { ! upstream get namespace "$t-new-${one%%:*}"; }
  eventually "nothing of it is left" 60 no_namespace
  expect "nor in the others" 0 "$(kube get configmap -A -o name | grep -cE '/(first|second)$')"
  check "which the tenant uses as ever" kube -n web get configmap facts
done
require "the list is put right" set_spec '{"templates":[{"template":"walls","parameters":[{"name":"CPU","value":"3"}]}]}'
eventually "the Tenant says so" 60 is_furnished "True Furnished"
eventually "other values hold everywhere" 60 now_has web "web $t 300m"
require "and a namespace can be made" kube create namespace later
expect "with them" "later $t 300m" "$(facts later)"

# ---- those of an account ------------------------------------------------------------------------------------------

require "a template for an account's spaces" template team <<'YAML'
resources:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: team}, data: {account: "${account}", tenant: "${tenant}", space: "${namespace}"}}
YAML
require "an account with it, and a quota of five pods" upstream apply -f - <<'YAML'
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: team}
spec:
  subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: john}]
  space: {templateInstances: [{spec: {template: team}}]}
---
apiVersion: config.kiosk.sh/v1alpha1
kind: AccountQuota
metadata: {name: team}
spec: {account: team, quota: {hard: {pods: "5"}}}
YAML
require "the tenant is the account's" set_spec '{"account":"team"}'
of_team() { [[ $(kube -n "$1" get configmap team -o 'jsonpath={.data.account} {.data.tenant} {.data.space}') == "team $t $1" ]]; }
eventually "its namespaces have the account's templates" 60 of_team web
require "a namespace is made" kube create namespace last
check "new ones, too" of_team last
pod() { printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"registry.test/c"}]}}' "$1"; }
handed_out() { [[ $(upstream get resourcequota -A -l zoo.kubezoo.io/managed=true -o json | jq '[.items[].status.hard.pods // "0" | tonumber] | add') == 5 ]]; }
eventually "and share its quota" 60 handed_out
require "a space of the account" upstream create -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"beside","labels":{"kiosk.sh/account":"team"}}}'
owned() { [[ -n $(upstream -n beside get resourcequota zoo-quota -o name) ]]; }
eventually "has its slice, too" 60 owned
for i in 1 2; do require "a pod in the space: $i" upstream -n beside create -f - <<<"$(pod "p$i")"; done
for i in 1 2 3; do
  pod "p$i" >"$TMPDIR/p$i.json"
  require "a pod of the tenant's: $i" kube -n last create -f "$TMPDIR/p$i.json"
done
pod more >"$TMPDIR/more.json"
refusal=$(kube -n web create -f "$TMPDIR/more.json" 2>&1)
expect_match "then the account is full, for the tenant" 'exceeded quota: team, requested: pods=1, used: pods=5, limited: pods=5 \(account team: last pods=3\)' "$refusal"
expect_no_match "who hears of no namespace but its own" "beside|$t-" "$refusal"
check_fails "and for the space" "exceeded quota" upstream -n beside create -f "$TMPDIR/more.json"
require "the tenant is nobody's any more" set_spec '{"account":null}'
team_gone() { ! kube -n last get configmap team && [[ -z $(upstream -n "$t-last" get resourcequota -l zoo.kubezoo.io/managed=true -o name) ]]; }
eventually "its namespaces have neither" 60 team_gone
check "and room" kube -n web create -f "$TMPDIR/more.json"
require "the tenant goes" ctl tenant delete "$t"
