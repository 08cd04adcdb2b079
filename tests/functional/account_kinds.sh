#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: upstream app cli common
# timeout: 600
# The kinds of config.kiosk.sh upstream: installed, brought up to date and repaired by zood, what they refuse, the policies
# around them, and how all of it is removed.
. "$(dirname "$0")/../e2e/lib.sh"

own_upstream
accounts=accounts.config.kiosk.sh
configure() { # SELF-SERVICE [ENABLED]
  cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
accounts: {enabled: ${2:-true}, self_service: $1}
YAML
}
apply() { upstream apply -f - <<<"$1"; }
account() { echo '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"Account","metadata":{"name":"'"$1"'"},"spec":'"$2"'}'; }
subject() { echo '{"subjects":['"$1"']}'; }
labels() { echo '{"space":{"spaceTemplate":{"metadata":{"labels":'"$1"'}}}}'; }

# ---- installed ----------------------------------------------------------------------------------------------------

# Of an older program: without structure, with unknown fields kept, and an object in it.
require "an older definition" apply '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"accounts.config.kiosk.sh"},"spec":{"group":"config.kiosk.sh","scope":"Cluster",
  "names":{"kind":"Account","listKind":"AccountList","plural":"accounts","singular":"account"},"versions":[{"name":"v1alpha1","served":true,"storage":true,"subresources":{"status":{}},
  "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}'
require "is served" established "$accounts" upstream
require "an older account" apply "$(account old '{"subjects":[{"kind":"User","name":"john","apiGroup":"rbac.authorization.k8s.io"}],"space":{"limit":2}}')"

configure false
start_zood --config "$TMPDIR/zood.yaml"
expect_match "zood brings it up to date" 'installed CustomResourceDefinition accounts.config.kiosk.sh: it differs at ' "$(cat "$zood_dir.log")"
expect "and the account is there" 2 "$(upstream get $accounts old -o jsonpath='{.spec.space.limit}')"
expect "five kinds are served" "accountquotas accountquotasets accounts templateinstances templates" \
  "$(upstream api-resources --api-group config.kiosk.sh -o name | sed 's/\..*//' | sort | xargs)"
expect_match "doctor has looked" 'accounts upstream: ([0-9]+) of \1 objects are as zood needs them' "$(ctl doctor)"
expect_match "each field is explained" 'How many spaces the account may have' "$(upstream explain $accounts.spec.space.limit)"
for kind in accounts accountquotas accountquotasets templates templateinstances; do
  expect_no_match "explain $kind leaves nothing out" '<no description>' "$(upstream explain $kind.config.kiosk.sh --recursive; upstream explain $kind.config.kiosk.sh)"
done
expect_match "columns" '^NAME +LIMIT +ROLE +READY +AGE' "$(upstream get $accounts)"
expect_match "whose values come from the object" '^old +2 ' "$(upstream get $accounts)"

stop_zood
zood_dir=$TMPDIR/second
configure true
start_zood --config "$TMPDIR/zood.yaml"
expect_no_match "what is equal is left alone" 'installed (CustomResourceDefinition|ClusterRole |ValidatingAdmissionPolicy)' "$(cat "$zood_dir.log")"
# may VERB: may anybody at all do that to spaces, whose group nobody serves here?
may() {
  upstream create -o json -f - <<<'{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"nobody","groups":["system:authenticated"],
    "resourceAttributes":{"group":"tenancy.kiosk.sh","resource":"spaces","verb":"'"$1"'"}}}' | jq -e .status.allowed
}
may_not() { ! may "$1"; }
eventually "with self_service everybody may make spaces" 30 may create
stop_zood
configure false
start_zood --config "$TMPDIR/zood.yaml"
eventually "without it nobody may" 30 may_not create
check "everybody may list them" may list

# ---- what is refused ----------------------------------------------------------------------------------------------

john='{"kind":"User","name":"john","apiGroup":"rbac.authorization.k8s.io"}'
jane='{"kind":"User","name":"jane","apiGroup":"rbac.authorization.k8s.io"}'
check_fails "V1: a ServiceAccount without namespace" 'a ServiceAccount needs its namespace' apply "$(account v1 "$(subject '{"kind":"ServiceAccount","name":"robot"}')")"
check_fails "V2: the owner's label in the template" "the label kiosk.sh/account is the account's name" apply "$(account v2 "$(labels '{"kiosk.sh/account":"x"}')")"
check "V3: other labels" apply "$(account v3 "$(labels '{"team":"blue"}')")"
check "an empty owner's label" apply "$(account v3 "$(labels '{"kiosk.sh/account":""}')")"
check "V4: status is not changed through the account" upstream patch $accounts v3 --type merge -p '{"status":{"namespaces":[{"name":"x"}]}}'
expect "which is left out" "" "$(upstream get $accounts v3 -o jsonpath='{.status.namespaces[*].name}')"
check "V5: subjects may change" apply "$(account v3 "$(subject "$john,$jane")")"
check_fails "V6: a ServiceAccount without namespace, by an update" 'a ServiceAccount needs its namespace' apply "$(account v3 "$(subject '{"kind":"ServiceAccount","name":"robot"}')")"
check_fails "V7: the owner's label, by an update" "the label kiosk.sh/account is the account's name" apply "$(account v3 "$(labels '{"kiosk.sh/account":"x"}')")"
check "V8: other labels, by an update" apply "$(account v3 "$(labels '{"team":"green"}')")"
check "a ServiceAccount" apply "$(account v3 "$(subject '{"kind":"ServiceAccount","name":"robot","namespace":"ci"}')")"
check_fails "a User of no group of the API" 'the apiGroup of a User or a Group is rbac.authorization.k8s.io' apply "$(account v9 "$(subject '{"kind":"User","name":"john"}')")"
check_fails "a ServiceAccount of one" 'a ServiceAccount has no apiGroup' apply "$(account v9 "$(subject '{"kind":"ServiceAccount","name":"r","namespace":"n","apiGroup":"rbac.authorization.k8s.io"}')")"
check_fails "another kind" 'supported values: "User", "Group", "ServiceAccount"' apply "$(account v9 "$(subject '{"kind":"Robot","name":"r"}')")"
check_fails "another policy" 'supported values: "Orphan", "Delete", "Refuse"' apply "$(account v9 '{"deletionPolicy":"Never"}')"
check_fails "a field that does not exist" 'unknown field "spec.space.limits"' apply "$(account v9 '{"space":{"limits":3}}')"

quota() { echo '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"AccountQuota","metadata":{"name":"two-pods"},"spec":{"account":"'"$1"'","quota":{"hard":'"$2"'}}}'; }
check "a quota" apply "$(quota old '{"pods":"2","limits.cpu":"4","requests.memory":"4Gi"}')"
check_fails "of nobody else from then on" 'field is immutable' apply "$(quota v3 '{"pods":"2"}')"
check_fails "that is below zero" 'a quantity that is not negative' apply "$(quota old '{"pods":"-1"}')"
check_fails "that is no quantity" 'a quantity that is not negative' apply "$(quota old '{"pods":"many"}')"
another() { printf '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"AccountQuota","metadata":{"name":"another"},"spec":{"account":"old","quota":%s}}' "$1"; }
refused_for() { grep -q "$1" <<<"$(apply "$2" 2>&1)"; }
# Policies take effect a moment after they were written.
eventually "of what nothing counts" 30 refused_for '"cpus" is nothing that a ResourceQuota counts' "$(another '{"hard":{"cpus":"4"}}')"
check_fails "of half a pod" 'the limit of "pods" is a number of objects' apply "$(another '{"hard":{"pods":"500m"}}')"
check_fails "of half a Job" 'the limit of "count/jobs.batch"' apply "$(another '{"hard":{"count/jobs.batch":"1.5"}}')"
check_fails "of CPU that a scope has nothing to do with" 'a name that one of the scopes says nothing of' apply "$(another '{"hard":{"limits.cpu":"4"},"scopes":["BestEffort"]}')"
check_fails "with scopes that contradict each other" 'contradict' apply "$(another '{"hard":{"pods":"4"},"scopes":["BestEffort","NotBestEffort"]}')"
check_fails "with a selector that upstream does not take" 'spec.quota.scopeSelector' apply \
  "$(another '{"hard":{"pods":"4"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]}}')"
check_fails "of a set, likewise" '"cpus" is nothing' apply '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"AccountQuotaSet","metadata":{"name":"set"},"spec":{"accountLabelSelector":{},"template":{"spec":{"quota":{"hard":{"cpus":"4"}}}}}}'
check "what upstream takes is taken" apply "$(another '{"hard":{"pods":"1k","requests.cpu":"500m","requests.storage":"10Gi","requests.nvidia.com/gpu":"2","count/jobs.batch":"3","hugepages-2Mi":"1Gi","gold.storageclass.storage.k8s.io/requests.storage":"1Gi"}}')"
check "with scopes, too" apply "$(another '{"hard":{"pods":"4","limits.cpu":"500m"},"scopes":["NotTerminating"],"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}}')"
require "it goes" upstream delete accountquotas another
longest=$(printf 'a%.0s' {1..63})
check_fails "an account whose name is no value of a label" 'has 63 characters at most' apply "$(account "${longest}a" '{}')"
check "the longest name" apply "$(account "$longest" '{}')"
require "it goes" upstream delete $accounts "$longest"
listed() { printf '{"space":{"templateInstances":[{"metadata":{"name":"%s"},"spec":{"template":"a"}},{"metadata":{"name":"%s"},"spec":{"template":"b"}},{"spec":{"template":"c"}},{"spec":{"template":"c"}}]}}' "$1" "$2"; }
check_fails "two templates under one name" 'two entries have the same metadata.name' apply "$(account v3 "$(listed x x)")"
check "each under its own" apply "$(account v3 "$(listed x y)")"
check_fails "nor by an update" 'two entries have the same metadata.name' apply "$(account v3 "$(listed y y)")"
check "manifests of any kind in a template" apply '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"Template","metadata":{"name":"limits"},"parameters":[{"name":"CPU","value":"1","validation":"^[0-9]+$"}],
  "resources":{"manifests":[{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"r"},"spec":{"limits":[{"type":"Container","default":{"cpu":"${{CPU}}"}}]}}],"helm":{"releaseName":"x","values":"a: 1","chart":{"repository":{"name":"c","repoUrl":"https://charts.example.com"}}}}}'
expect "are kept whole" '${{CPU}}' "$(upstream get templates.config.kiosk.sh limits -o jsonpath='{.resources.manifests[0].spec.limits[0].default.cpu}')"
instance() { echo '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"one","namespace":"default"},"spec":{"template":"'"$1"'","sync":true,"parameters":[{"name":"CPU","value":"2"}]}}'; }
check "an instance" apply "$(instance limits)"
check_fails "of no other template from then on" 'field is immutable' apply "$(instance others)"

# ---- fences -------------------------------------------------------------------------------------------------------

# They hold whether zood lives or not.
stop_zood
# May do everything with namespaces and bindings, and nothing with accounts.
keeper() { upstream --as keeper "$@"; }
require "a role" upstream create clusterrole keeper --verb '*' --resource namespaces,namespaces/status,namespaces/finalize,rolebindings.rbac.authorization.k8s.io
require "is bound" upstream create clusterrolebinding keeper --clusterrole keeper --user keeper
require "with what is bound on" upstream create clusterrolebinding keeper-view --clusterrole view --user keeper
require "two accounts" apply "$(account blue "$(subject "$john")")"
require "and another" apply "$(account green "$(subject "$jane")")"
require "a namespace" upstream create namespace web
require "of an account" upstream label namespace web kiosk.sh/account=blue
require "and one of nobody" upstream create namespace free

moves='user "keeper" may not change which account owns namespace'
# Policies take effect a moment after they were written.
fenced() { grep -q "$moves" <<<"$(keeper label namespace free kiosk.sh/account=blue 2>&1)"; }
eventually "a namespace is taken by no account" 30 fenced
check_fails "nor by another one" "$moves \"web\".* \\(\"blue\", \"green\"\\)" keeper label --overwrite namespace web kiosk.sh/account=green
check_fails "nor let go" "$moves" keeper label namespace web kiosk.sh/account-
check_fails "nor by the older annotation" "$moves" keeper annotate namespace free kiosk.sh/account=blue
check_fails "nor through its status" "$moves" keeper patch namespace web --subresource status --type merge -p '{"metadata":{"labels":{"kiosk.sh/account":"green"}}}'
finalize() { upstream get namespace web -o json | jq '.metadata.labels["kiosk.sh/account"] = "green"' | keeper replace --raw /api/v1/namespaces/web/finalize -f -; }
check_fails "nor through its finalizers" "$moves" finalize
check_fails "nor by a JSON patch" "$moves" keeper patch namespace web --type json -p '[{"op":"replace","path":"/metadata/labels/kiosk.sh~1account","value":"green"}]'
check_fails "nor by an apply" "$moves" keeper apply --server-side --force-conflicts -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web","labels":{"kiosk.sh/account":"green"}}}'
check_fails "nor when it is made" "$moves" keeper create -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"new-","labels":{"kiosk.sh/account":"blue"}}}'
check_fails "whether it is ready is zood's" "are zood's alone" keeper annotate namespace web kiosk.sh/initializing=true
check_fails "and who asked for it" "are zood's alone" keeper annotate namespace free zoo.kubezoo.io/space-request={}
check "other labels are free" keeper label namespace web team=blue
check "other namespaces are free" keeper create namespace other

require "the right to update one account" upstream create clusterrole blue --verb update --resource $accounts --resource-name blue
require "is given" upstream create clusterrolebinding blue --clusterrole blue --user keeper
may_take() { keeper label namespace free kiosk.sh/account=blue; }
eventually "moves what nobody owns" 30 may_take
check_fails "but nothing of two accounts" "$moves" keeper label --overwrite namespace web kiosk.sh/account=green
require "the other right" upstream create clusterrole green --verb update --resource $accounts --resource-name green
require "is given, too" upstream create clusterrolebinding green --clusterrole green --user keeper
may_move() { keeper label --overwrite namespace web kiosk.sh/account=green; }
eventually "moves between both" 30 may_move
check "and back" keeper label --overwrite namespace web kiosk.sh/account=blue
some() { printf '{"clusterRole":"%s","subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]}' "$1"; }
roles() { upstream get $accounts blue -o json | jq --argjson roles "$1" '.spec.space.bindings = $roles' | keeper replace --raw /apis/config.kiosk.sh/v1alpha1/accounts/blue -f -; }
check_fails "who may update an account gives nobody a role that he may not bind" 'members of account "blue" the role "cluster-admin"' roles "[$(some cluster-admin)]"
require "the right to bind one" upstream create clusterrole binder --verb bind --resource clusterroles.rbac.authorization.k8s.io --resource-name view
require "is given" upstream create clusterrolebinding binder --clusterrole binder --user keeper
may_give() { roles "[$(some view)]"; }
eventually "one that he may bind he gives" 30 may_give
check_fails "beside it no other one" 'the role "admin"' roles "[$(some view),$(some admin)]"
check_fails "nor as the last of eight" 'the role "edit"' roles "[$(for _ in 1 2 3 4 5 6 7; do printf '%s,' "$(some view)"; done)$(some edit)]"
check_fails "and of nine there are none" 'Too many|at most 8' roles "[$(for _ in 1 2 3 4 5 6 7 8; do printf '%s,' "$(some view)"; done)$(some view)]"
check_fails "nor a subject that is none" 'apiGroup of a User' roles '[{"clusterRole":"view","subjects":[{"kind":"User","name":"eve"}]}]'
check "and takes them away" roles '[]'

require "the members' binding" upstream -n web create rolebinding zoo:account --clusterrole view --user john
require "is zood's" upstream -n web label rolebinding zoo:account zoo.kubezoo.io/managed=true
kept='role binding "zoo:account" in namespace "web" is kept by zood'
check_fails "nobody deletes it" "$kept" keeper -n web delete rolebinding zoo:account
check_fails "nor all of them" "$kept" keeper delete --raw /apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings
check_fails "nor widens it" "$kept" keeper -n web patch rolebinding zoo:account --type json -p '[{"op":"add","path":"/subjects/-","value":{"kind":"User","name":"eve","apiGroup":"rbac.authorization.k8s.io"}}]'
check_fails "nor disguises it" "$kept" keeper -n web label rolebinding zoo:account zoo.kubezoo.io/managed-
check_fails "nor makes one like it" 'is kept by zood' keeper -n web create -f - \
  <<<'{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"mine","labels":{"zoo.kubezoo.io/managed":"true"}},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}'
named='has a name by which zood keeps its own'
for name in zoo:account-next zoo:account-0123abcd zoo:template:walls zoo:; do
  check_fails "nor what would be in its way: $name" "$named" keeper -n web create rolebinding "$name" --clusterrole view --user eve
done
check_fails "nor by a name that upstream makes up" "$named" keeper -n web create -f - \
  <<<'{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"generateName":"zoo:account-"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}'
require "one from before there was the policy" upstream -n web create rolebinding zoo:mine --clusterrole view --user eve
check "is its owner's to delete" keeper -n web delete rolebinding zoo:mine
check "others are free" keeper -n web create rolebinding mine --clusterrole view --user eve
check "the namespace goes with it" upstream delete namespace other --timeout 60s
require "one with a binding" upstream create namespace going
require "that is zood's" upstream -n going create -f - \
  <<<'{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"zoo:account","labels":{"zoo.kubezoo.io/managed":"true"}},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}'
check "goes, too, by upstream's own controllers" keeper delete namespace going --timeout 60s

require "an account that refuses" upstream patch $accounts blue --type merge -p '{"spec":{"deletionPolicy":"Refuse"}}'
require "and owns spaces" upstream patch $accounts blue --subresource status --type merge -p '{"status":{"namespaces":[{"name":"web"},{"name":"free"}]}}'
check_fails "is not deleted" 'Forbidden.* account "blue" owns 2 spaces \(web, free\): delete or transfer them' upstream delete $accounts blue
require "one that owns none" upstream patch $accounts green --type merge -p '{"spec":{"deletionPolicy":"Refuse"}}'
check "is" upstream delete $accounts green

# ---- zood's own rights --------------------------------------------------------------------------------------------

umask 077
upstream config view --raw --minify --flatten -o json |
  jq --arg token "$(upstream -n zoo-system create token zood --duration 1h)" '.users[0].user = {token: $token}' >"$TMPDIR/own.kubeconfig"
own() { "$KUBECTL" --kubeconfig "$TMPDIR/own.kubeconfig" "$@"; }
check "zood may be anybody, with a UID and with any extra" own --as john --as-group blue-team --as-uid 1234 --as-user-extra zoo-impersonator=jane auth whoami
check "a ServiceAccount, too" own --as system:serviceaccount:ci:robot --as-group system:serviceaccounts auth whoami
check "it binds a role whose rights it has not" own -n web create rolebinding own --clusterrole admin --user john
require "any role" upstream create clusterrole odd --verb dance --resource pods
check "whatever that allows" own -n web create rolebinding odd --clusterrole odd --user john
space_admin() { upstream get clusterrole kiosk-space-admin -o json | jq -e '[.rules[] | select((.resources // []) | index("namespaces")) | .verbs[]] | index("delete")'; }
eventually "kiosk-space-admin may delete namespaces" 30 space_admin

# ---- repaired -----------------------------------------------------------------------------------------------------

require "a policy goes" upstream delete validatingadmissionpolicy zoo-accounts-objects
require "a role is changed" upstream patch clusterrole kiosk-edit --type json -p '[{"op":"replace","path":"/rules/0/verbs","value":["create"]}]'
start_zood --config "$TMPDIR/zood.yaml"
expect_match "a start repairs them" 'accounts upstream: ([0-9]+) of \1 objects are as zood needs them' "$(ctl doctor)"
require "a policy goes" upstream delete validatingadmissionpolicy zoo-accounts-config
require "a role is changed" upstream patch clusterrole kiosk-edit --type json -p '[{"op":"replace","path":"/rules/0/verbs","value":["create"]}]'
said=$(ctl doctor)
expect_match "doctor finds the policy" '^problem +ValidatingAdmissionPolicy zoo-accounts-config: it is not there' "$said"
expect_match "and the role" '^warning +ClusterRole kiosk-edit: it differs at /rules/0/verbs' "$said"
stop_zood

# ---- removed ------------------------------------------------------------------------------------------------------

uninstall() { "$ZOO_BUILD/bin/zooctl" account uninstall --upstream "$ZOO_E2E_KUBECONFIG" "$@"; }
require "another's role" upstream label clusterrole kiosk-view zoo.kubezoo.io/managed-
check_fails "nothing is removed while there are accounts" 'there are 3 accounts \(blue, old, v3\) with 2 spaces: .* say --force' uninstall
check_status "which is a conflict" 6 uninstall
said=$(uninstall --force --dry-run)
expect_match "a dry run says what would go" '^would remove CustomResourceDefinition accounts.config.kiosk.sh' "$said"
check "and removes nothing" upstream get $accounts blue
said=$(uninstall --force)
expect_match "all goes" '^removed Account blue' "$said"
expect_match "but what is another's" "^left ClusterRole kiosk-view: it is not zood's" "$said"
expect "no kind is left" "" "$(upstream get crd -o name | grep config.kiosk.sh)"
expect "no policy" "" "$(upstream get validatingadmissionpolicies,validatingadmissionpolicybindings -o name | grep zoo-accounts)"
expect "no role but that one" "clusterrole.rbac.authorization.k8s.io/kiosk-view" "$(upstream get clusterroles,clusterrolebindings -o name | grep -E 'kiosk|zoo:.*accounts')"
expect "no access of members" "" "$(upstream get rolebindings -A -l zoo.kubezoo.io/managed=true -o name)"
check "namespaces stay" upstream get namespace web
check "a second time nothing is to do" uninstall

require "what was another's goes" upstream delete clusterrole kiosk-view
start_zood --config "$TMPDIR/zood.yaml"
require "an account, again" apply "$(account blue "$(subject "$john")")"
check_fails "a zood that keeps accounts does not remove them" 'accounts.enabled is true: set it to false' ctl account uninstall --force
check "but says what there is" ctl account uninstall --force --dry-run
stop_zood
configure false false
start_zood --config "$TMPDIR/zood.yaml"
check_fails "one that does not asks for --force, too" 'there is 1 account \(blue\) with [0-9]+ spaces?' ctl account uninstall
expect_match "and removes them" '^removed CustomResourceDefinition accounts.config.kiosk.sh' "$(ctl account uninstall --force)"
expect "so that nothing is left" "" "$(upstream get crd,clusterroles,clusterrolebindings,validatingadmissionpolicies -o name | grep -E 'kiosk|accounts')"
expect_no_match "which doctor does not miss" 'accounts' "$(ctl doctor)"
