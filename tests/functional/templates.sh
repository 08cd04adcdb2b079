#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: templates accounts app upstream
# timeout: 900
# What the platform wants in a space is there before its members are, and stays as it should be; and no template makes anything that its
# role does not give, or that lies elsewhere.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream
config=$'accounts:\n  enabled: true\n  listen: 127.0.0.1:0\n  self_service: true'
start_zood_with "$config"
require "the account door listens" test -n "$(account_door)"
new_tenant t # its kubeconfig has the authority of the account door's certificate
unpack "$t"
new_user john
john() {
  "$KUBECTL" --server "https://$(account_door)" --certificate-authority "$TMPDIR/$t.ca" --client-certificate "$TMPDIR/john.crt" --client-key "$TMPDIR/john.key" "$@"
}
space() { # NAME [TEMPLATES]
  printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Space","metadata":{"name":"%s","annotations":{"zoo.kubezoo.io/templates":"%s"}},"spec":{"account":"team"}}' "$1" "${2:-}"
}
# account INSTANCES: of john, with these mandatory instances.
account() {
  upstream apply -f - <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: team, labels: {tier: gold}}
spec:
  subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: john}]
  space: {clusterRole: kiosk-space-admin, templateInstances: [$1]}
YAML
}
# template NAME MANIFEST...: JSON objects; EXTRA are more members of the Template.
template() {
  local name=$1 list
  shift
  list=$(jq -cn '$ARGS.positional | map(fromjson)' --args "$@")
  jq -n --arg name "$name" --argjson list "$list" "{apiVersion: \"config.kiosk.sh/v1alpha1\", kind: \"Template\", metadata: {name: \$name}, resources: {manifests: \$list}} + ${EXTRA:-{\}}" |
    upstream apply -f -
}
map() { printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s","annotations":{%s}},"data":{"value":"%s"}}' "$1" "${3:-}" "${2:-}"; }
# instance SPACE NAME TEMPLATE [SYNC] [PARAMETERS]
instance() {
  printf '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"%s","namespace":"%s"},"spec":{"template":"%s","sync":%s,"parameters":[%s]}}' \
    "$2" "$1" "$3" "${4:-false}" "${5:-}" | upstream apply -f -
}
status() { upstream get templateinstance -n "$1" "$2" -o 'jsonpath={.status.status}'; }
is() { [[ $(status "$1" "$2") == "$3" ]]; }
message() { upstream get templateinstance -n "$1" "$2" -o 'jsonpath={.status.reason}: {.status.message}'; }
says() { grep -Eq -- "$3" <<<"$(message "$1" "$2")"; }
value() { upstream get configmap -n "$1" "$2" -o 'jsonpath={.data.value}'; }
has() { [[ $(value "$1" "$2") == "$3" ]]; }
gone() { ! upstream get "$@"; }
version() { upstream get "$@" -o 'jsonpath={.metadata.resourceVersion}'; }
policy='{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"apart"},"spec":{"podSelector":{},"ingress":[{"from":[{"podSelector":{}}]}]}}'
sized='{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"sizes"},"spec":{"limits":[{"type":"Container","default":{"cpu":"${{CPU}}"}}]}}'

# ---- templates of the account are there first ---------------------------------------------------------------------

cpu='{parameters: [{name: "CPU", value: "1", validation: "[0-9]+"}]}'
EXTRA=$cpu require "a template" template walls "$policy" "$sized" "$(map greeting 'of ${account} in ${NAMESPACE}, ${unknown} $${CPU} ${account.metadata.labels.tier}')"
require "an account whose spaces have it" account '{spec: {template: walls, parameters: [{name: CPU, value: "2"}]}}'
sees_account() { [[ $(john get accounts.tenancy.kiosk.sh -o name) == account.tenancy.kiosk.sh/team ]]; }
eventually "its member sees it" 30 sees_account
require "he makes a space" john create -f - <<<"$(space one)"
expect "T1: what the template makes is there with it" "of team in one, \${unknown} \${CPU} gold" "$(john -n one get configmap greeting -o 'jsonpath={.data.value}')"
expect "with the account's parameter as a number" 2 "$(upstream get limitrange -n one sizes -o 'jsonpath={.spec.limits[0].default.cpu}')"
last=0
for object in "networkpolicy apart" "limitrange sizes" "configmap greeting"; do
  # shellcheck disable=SC2086 # words
  at=$(version -n one $object)
  ((at > last)) && last=$at
done
after() { (($(version -n one rolebinding zoo:account) > last)); }
check "N2: his RoleBinding was made behind all of them" after
kept=$(upstream get templateinstance -n one -o 'jsonpath={.items[0].metadata.name}')
expect_match "the instance says so" '^Deployed True Deployed' "$(upstream get templateinstance -n one "$kept" -o 'jsonpath={.status.status} {.status.conditions[0].status} {.status.conditions[0].reason}')"
expect "it names what it made" "ConfigMap/greeting LimitRange/sizes NetworkPolicy/apart" \
  "$(upstream get templateinstance -n one "$kept" -o json | jq -r '[.status.objects[] | .kind + "/" + .name] | sort | join(" ")')"
expect "and who applied it" "zoo-template-$kept" "$(upstream get configmap -n one greeting -o json --show-managed-fields | jq -r '.metadata.managedFields[].manager')"

# ---- a failure leaves nothing -------------------------------------------------------------------------------------

require "the account asks for what the template does not take" account '{spec: {template: walls, parameters: [{name: CPU, value: many}]}}'
wants_many() { [[ $(upstream get account.config.kiosk.sh team -o 'jsonpath={.spec.space.templateInstances[0].spec.parameters[0].value}') == many ]]; }
require "which stands there" wants_many
check_fails "N3: a space is refused, and why" 'TemplateInstance "walls-[0-9a-f]+" failed with ErrorValidatingParameters: .*"many" does not match "\[0-9\]\+"; the space was not created' john create -f - <<<"$(space two)"
eventually "N3: no namespace is left" 60 gone namespace two
require "the account is put right" account '{spec: {template: walls, parameters: [{name: CPU, value: "2"}]}}'
retried() { is one "$kept" Deployed; }
eventually "and the space that there was is well" 60 retried

# ---- kept true ----------------------------------------------------------------------------------------------------

require "an administrator takes a wall away" upstream delete networkpolicy -n one apart
stands() { upstream get networkpolicy -n one apart; }
eventually "N15: it is put back" 10 stands
require "and changes another object" upstream patch configmap -n one greeting --type merge -p '{"data":{"value":"mine"}}'
whole() { [[ $(value one greeting) == "of team"* ]]; }
eventually "N15: which is put back, too" 15 whole
check_fails "a member may not take a wall away, whatever his rights" 'network policy "apart" in namespace "one" is kept by zood' john -n one delete networkpolicy apart
check_fails "nor change it" 'is kept by zood' john -n one patch networkpolicy apart --type merge -p '{"spec":{"podSelector":{"matchLabels":{"a":"b"}}}}'
check_fails "nor its label, by which that is known" 'is kept by zood' john -n one label networkpolicy apart zoo.kubezoo.io/managed-
require "a role that a platform may give" upstream create clusterrole instances --verb '*' --resource templateinstances.config.kiosk.sh
require "is a member's" upstream create rolebinding instances -n one --clusterrole instances --user john
may() { john -n one get templateinstances.config.kiosk.sh; }
eventually "he sees instances" 30 may
check_fails "he may not take the account's away" 'template instance ".*" in namespace "one" is kept by zood' john -n one delete templateinstance "$kept"
require "an administrator of the space" upstream create rolebinding all --clusterrole cluster-admin --user root -n one
check_fails "not even he takes away who lets it in" 'role binding "zoo:template:.*" in namespace "one" is kept by zood' upstream --as root -n one delete rolebinding "zoo:template:$kept"
EXTRA=$cpu require "the template has something else" template walls "$policy" "$(map other new)" "$(map stays x '"helm.sh/resource-policy":"keep"')"
eventually "N15: a space follows its template" 30 has one other new
eventually "N15: what it does not have any more goes" 30 gone configmap -n one greeting
EXTRA=$cpu require "and loses again what is to stay" template walls "$policy"
eventually "N15: one object goes" 30 gone configmap -n one other
expect "N15: what says keep stays" x "$(value one stays)"

EXTRA=$cpu require "a template as it was" template walls "$policy" "$sized" "$(map greeting 'of ${account} in ${NAMESPACE}, ${unknown} $${CPU} ${account.metadata.labels.tier}')"

# ---- instances of users -------------------------------------------------------------------------------------------

EXTRA='{parameters: [{name: "WHAT", required: true}, {name: "HOW", value: "well", validation: "w.*"}]}' require "a template with parameters" template notes "$(map note '${WHAT} ${HOW}')"
check "an instance without a value" instance one note notes
eventually "N16: fails and says why" 30 says one note '^ErrorValidatingParameters: parameter "WHAT" of template "notes" is required'
check "with one that is not declared" instance one note notes false '{"name":"WHOM","value":"x"}'
eventually "N16: fails, too" 30 says one note 'parameter "WHOM" is not declared by template "notes" \(it declares WHAT, HOW\)'
check "with one that does not match as a whole" instance one note notes false '{"name":"WHAT","value":"x"},{"name":"HOW","value":"not w"}'
eventually "N16: fails" 30 says one note 'the value "not w" does not match "w\.\*"'
check "with what it wants" instance one note notes false '{"name":"WHAT","value":"done"}'
eventually "N16: it is deployed" 30 has one note "done well"
require "the template changes" template notes "$(map note changed)"
check "another parameter is applied all the same" instance one note notes false '{"name":"WHAT","value":"again"}'
eventually "N16: which the template does not declare any more" 30 says one note 'it declares none'
check "another one that makes the same" instance one same notes
eventually "is refused" 30 says one same '^ApplyManifests: ConfigMap "note" is made by another instance already'
require "it goes" upstream delete templateinstance -n one same note
eventually "with what it was about" 30 gone configmap -n one note
check "an instance that follows" instance one follows notes true
eventually "I4: is deployed" 30 has one note changed
require "the template changes once more" template notes "$(map note 'once more')"
eventually "N15: it follows" 30 has one note "once more"
require "the template goes" upstream delete template.config.kiosk.sh notes
eventually "N15: the instance says so" 30 says one follows '^TemplateNotFound: template "notes" not found'
expect "N15: its objects stay" "once more" "$(value one note)"
require "and is there again" template notes "$(map note back)"
eventually "what failed is tried again" 60 has one note back
require "an instance goes" upstream delete templateinstance -n one follows
eventually "and its objects with it" 60 gone configmap -n one note
eventually "and who let it in" 60 gone rolebinding -n one zoo:template:follows
require "a space with a template of its user's choice" john create -f - <<<"$(space chosen notes)"
expect "has it from the start" back "$(value chosen note)"
expect "not as the account's" "" "$(upstream get templateinstance -n chosen notes -o 'jsonpath={.metadata.labels.zoo\.kubezoo\.io/managed}')"

# ---- zooctl template ----------------------------------------------------------------------------------------------

export KUBECONFIG=$ZOO_E2E_KUBECONFIG
expect "zooctl renders what an instance would make" "ConfigMap/note" "$(ctl template render notes -n one -o name)"
expect "with parameters and predefined ones" "of team in one, \${unknown} \${CPU} gold|7" "$(ctl template render walls -n one -p CPU=7 -o json | jq -rs 'map(.data.value // empty) + [.[] | .spec.limits[0].default.cpu? // empty] | join("|")')"
check_fails "says what is wrong" 'the value "x" does not match "\[0-9\]\+"' ctl template render walls -n one -p CPU=x
check_fails "and what was meant" 'did you mean .walls' ctl template render wals -n one
expect "renders a file" "LimitRange/defaults" "$(ctl template render -f "$zoo_root/packaging/templates/open.yaml" -n one -o name)"
check_status "tells what would change" 1 ctl template diff notes -n one
expect_match "line by line" '^new ConfigMap/note' "$(ctl template diff notes -n one)"
expect "instantiates" "templateinstance/notes deployed" "$(ctl template instantiate notes -n one --sync)"
expect "what is there is as it would be" "" "$(ctl template diff notes -n one | grep -v '^  \|^changed\|zoo.kubezoo.io\|labels:')"
expect_match "shows what became of it" '^one +notes +notes +Deployed +Deployed +sync +1 ' "$(ctl template status -n one)"
expect_match "of an account's spaces" '^one +walls-[0-9a-f]+ +walls +Deployed +Deployed +account ' "$(ctl template status --account team)"
expect_match "lists templates" '^walls +[0-9]+ +<none> +CPU ' "$(ctl template list)"
check_fails "waits for what fails, too" 'failed with ErrorValidatingParameters' ctl template instantiate walls -n one --name more -p CPU=x
require "they go" upstream delete templateinstance -n one notes more
unset KUBECONFIG

# ---- what no template may do --------------------------------------------------------------------------------------

refused() { # WHAT TEXT MANIFEST...
  local what=$1 text=$2
  shift 2
  template wrong "$@" >/dev/null || failed "$what" <<<"the template is not taken"
  instance one wrong wrong true >/dev/null
  eventually "$what" 30 says one wrong "$text"
  upstream delete templateinstance -n one wrong >/dev/null
}
object() { printf '{"apiVersion":"%s","kind":"%s","metadata":{"name":"%s"%s}%s}' "$1" "$2" "$3" "${4:-}" "${5:-}"; }
refused "another namespace" 'ConfigMap "x" names namespace "kube-system"' "$(object v1 ConfigMap x ',"namespace":"kube-system"')"
refused "a cluster-scoped object" 'ClusterRole "x" would stand outside of the namespace' "$(object rbac.authorization.k8s.io/v1 ClusterRole x)"
refused "a namespace" 'Namespace "x" would stand outside of the namespace' "$(object v1 Namespace x)"
refused "a quota" '^ApplyManifests: ResourceQuota "x": .*User "zoo:templates" cannot patch resource "resourcequotas"' "$(object v1 ResourceQuota x '' ',"spec":{"hard":{"pods":"1"}}')"
root='"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"mallory"}]'
refused "a role" 'User "zoo:templates" cannot patch resource "rolebindings"' "$(object rbac.authorization.k8s.io/v1 RoleBinding x '' ",$root")"
EXTRA='{applyAs: {clusterRole: "admin"}}' refused "a role above what its own gives" 'RoleBinding "x": .*(attempting to grant RBAC permissions not currently held|cannot bind)' "$(object rbac.authorization.k8s.io/v1 RoleBinding x '' ",$root")"
refused "what zood keeps itself" "RoleBinding \"zoo:account\": this name is zood's own" "$(object rbac.authorization.k8s.io/v1 RoleBinding zoo:account '' ",$root")"
refused "a label of zood's" "the label \"zoo.kubezoo.io/managed\" is zood's own" "$(object v1 ConfigMap x ',"labels":{"zoo.kubezoo.io/managed":"true"}')"
refused "another account" 'is of group config.kiosk.sh' "$(object config.kiosk.sh/v1alpha1 TemplateInstance x '' ',"spec":{"template":"walls"}')"
refused "a kind that there is not" 'FindObjectMapping: no matches for kind "Wolf" in version "v1"' "$(object v1 Wolf x)"
EXTRA='{accounts: {matchLabels: {tier: "lead"}}}' refused "a template of others" 'AccountNotSelected: template "wrong" is not for account "team"' "$(map x)"
refused "an object that upstream refuses behind one that it takes" 'ApplyManifests: Service "x"' "$(map before)" "$(object v1 Service x '' ',"spec":{"ports":[{"port":99999}]}')"
check "of which nothing is left" gone configmap -n one before
upstream get rolebindings -A -o json >"$TMPDIR/bindings.json"
expect "nobody was let in by any of them" 0 "$(jq '[.items[] | select(any(.subjects[]?; .name == "mallory"))] | length' "$TMPDIR/bindings.json")"
instance kube-system wrong walls >/dev/null
eventually "no instance works in the system's namespaces" 30 says kube-system wrong 'namespace "kube-system" is the system'
upstream delete templateinstance -n kube-system wrong >/dev/null
require "who may write templates" upstream create clusterrole writer --verb '*' --resource templates.config.kiosk.sh
require "is jane" upstream create clusterrolebinding writer --clusterrole writer --user jane
jane() { jq -n '{apiVersion: "config.kiosk.sh/v1alpha1", kind: "Template", metadata: {name: "janes"}, resources: {manifests: []}} + '"$1" | upstream --as jane apply -f -; }
eventually "she writes one" 30 jane '{}'
check_fails "but gives it no role that she may not bind" 'may not make objects with the role "cluster-admin"' jane '{applyAs: {clusterRole: "cluster-admin"}}'

# ---- the list of an account changes, zood is away -----------------------------------------------------------------

require "the account has another list" account '{metadata: {name: extra}, spec: {template: notes}}'
eventually "its spaces have what is new" 60 has one note back
eventually "and nothing of what is not listed any more" 60 gone networkpolicy -n one apart
stop_zood
require "an object is taken away while zood is" upstream delete configmap -n one note
require "and a template changed" template notes "$(map note late)"
start_zood_with "$config"
eventually "both are made good by the next zood" 60 has one note late
served() { curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics | grep -E "$1"; }
check "metrics tell of instances" served '^zood_space_template_instances\{status="Deployed"\} [1-9]'
check "and of deployments" served '^zood_space_template_deployments_total\{result="deployed"\} [1-9]'

# ---- packaging/templates ------------------------------------------------------------------------------------------

require "the levels of isolation that zood ships" upstream apply -f "$zoo_root/packaging/templates"
for level in open baseline isolated; do
  require "an account with level $level" account "{spec: {template: $level}}"
  listed() { [[ $(upstream get account.config.kiosk.sh team -o 'jsonpath={.spec.space.templateInstances[0].spec.template}') == "$level" ]]; }
  require "which is listed" listed
  require "a space with level $level" john create -f - <<<"$(space "level-$level")"
done
names() { upstream get networkpolicy,limitrange -n "level-$1" -l zoo.kubezoo.io/template-instance -o json | jq -r '[.items[].metadata.name] | sort | join(" ")'; }
first() { [[ $(upstream get templateinstances -n level-open -o 'jsonpath={.items[*].spec.template}') == isolated ]]; }
expect "isolated has three walls and sizes" "defaults dns nothing-else same-space" "$(names isolated)"
eventually "and so have spaces from before" 60 first
