#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants upstream packaging
# step: verify
# timeout: 900
# With zood's proof switched off (docs/decisions/111-unproven.md) upstream alone still refuses a tenant what is another's:
# paths in namespaces, cluster-scoped objects, lists and watches, reads and writes. That the program lets everything
# through is shown by giving the tenants' group a right upstream for a moment, in this tenant's own two namespaces.
. "$(dirname "$0")/lib.sh"
unproven=$ZOO_BUILD/tests/unproven/zood-unproven
[[ -x $unproven ]] || skip "the build has no zood-unproven"
hostile=$zoo_root/tests/hostile
# shellcheck source=tests/hostile/tools/stage.bash
. "$hostile/tools/stage.bash"
# Both tenants are made through zood as it is; then the other program takes its place, at the same address.
start_zood
set_the_stage
begin_attack
stop_zood
ZOO_ZOOD=$unproven
start_zood --listen "$zood_address"
expect_match "it says what it is" 'PROVES NO REQUEST' "$(cat "$zood_dir.log")"
expect_match "in its version too" 'proves nothing' "$("$unproven" --version)"
expect_no_match "zood itself does not" 'proves nothing' "$("$ZOO_BUILD/bin/zood" --version)"
eventually "the victim's objects are at rest" 120 settled
before=$(victims_state)
made "in its own namespace it may" GET "/api/v1/namespaces/$evil-team/configmaps"

# upstream_refuses METHOD PATH [TYPE BODY]: by RBAC (a refusal in a namespace that is none of the tenant's is told as 404) or by
# an admission policy (422).
upstream_refuses() {
  try "$@"
  refused "$1 $2" '403|404|422'
  expect_match "says upstream" 'cannot [a-z]+ resource|rule platform-policies|"namespaces not found"' "$answer"
}
there=/api/v1/namespaces/$victim-team
for path in "$there/secrets/$vault" "$there/secrets" "$there/secrets?limit=1" "$there/secrets?watch=1&timeoutSeconds=1" "$there/pods/$vault" "$there/pods/$vault/log" "$there/services/$vault/proxy/" "$there/configmaps/$vault" "/apis/apps/v1/namespaces/$victim-team/deployments" \
  "/apis/rbac.authorization.k8s.io/v1/namespaces/$victim-team/rolebindings" "/apis/rbac.authorization.k8s.io/v1/namespaces/$victim-team/roles/$vault" "/apis/networking.k8s.io/v1/namespaces/$victim-team/networkpolicies"; do
  upstream_refuses GET "$path"
done
for kind in /api/v1/secrets /api/v1/pods /api/v1/configmaps /api/v1/events /api/v1/serviceaccounts /apis/apps/v1/deployments /apis/rbac.authorization.k8s.io/v1/rolebindings \
  /api/v1/persistentvolumes /apis/scheduling.k8s.io/v1/priorityclasses /apis/storage.k8s.io/v1/storageclasses /apis/networking.k8s.io/v1/ingressclasses \
  /apis/apiextensions.k8s.io/v1/customresourcedefinitions /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations /apis/certificates.k8s.io/v1/certificatesigningrequests; do
  upstream_refuses GET "$kind"
  upstream_refuses GET "$kind?watch=1&timeoutSeconds=1"
done
for object in "scheduling.k8s.io/v1/priorityclasses/$victim-$vault" "storage.k8s.io/v1/storageclasses/$victim-$vault" "networking.k8s.io/v1/ingressclasses/$victim-$vault" "admissionregistration.k8s.io/v1/validatingwebhookconfigurations/$victim-$vault"; do
  upstream_refuses GET "/apis/$object"
  upstream_refuses DELETE "/apis/$object"
  upstream_refuses PATCH "/apis/$object" merge '{"metadata":{"labels":{"evil":"x"}}}'
done
# What the program still translates for itself is asked of upstream by the same user. Each kind that tenants may write outside of
# namespaces, as it is called upstream: the victim's own, and its status.
upstream_refuses_user() {
  curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
  direct "$@"
  refused "zoo:<id>: $1 $2" '403|422'
  expect_match "says upstream" 'cannot [a-z]+ resource|ValidatingAdmissionPolicy .zoo-tenants' "$answer"
}
upstream api-resources --namespaced=false --no-headers | awk '{ v = $(NF - 2); print $1, (v ~ /\// ? "apis/" : "api/") v }' >"$TMPDIR/served"
tried=0
while read -r kind; do
  base=$(sed -n "s|^$kind ||p" "$TMPDIR/served")
  [[ -n $base && $kind != namespaces ]] || continue # not served by this upstream; namespaces are tried above
  for name in $(upstream get "$kind" -o 'jsonpath={.items[*].metadata.name}' | tr ' ' '\n' | grep "$victim"); do
    tried=$((tried + 1))
    upstream_refuses_user PATCH "/$base/$kind/$name" merge '{"metadata":{"labels":{"evil":"x"}}}'
    upstream_refuses_user PUT "/$base/$kind/$name" json "$(upstream get "$kind" "$name" -o json | jq -c '.metadata.labels.evil = "x"')"
    upstream_refuses_user DELETE "/$base/$kind/$name"
    [[ $kind == persistentvolumes || $kind == customresourcedefinitions ]] && upstream_refuses_user PATCH "/$base/$kind/$name/status" merge '{"metadata":{"labels":{"evil":"x"}}}'
  done
done < <(upstream get clusterrole zoo:tenants-cluster -o json | jq -r '.rules[].resources[] | select(contains("/") | not)' | sort -u)
if ((tried >= 10)); then passed "$tried objects of the victim's outside of namespaces"; else failed "ten objects of the victim's outside of namespaces" <<<"$tried: $(cat "$TMPDIR/served")"; fi

# What is called as the tenant's own reaches no further for it.
says() { # WORDS METHOD PATH TYPE BODY
  local words=$1
  shift
  upstream_refuses_user "$@"
  expect_match "and why" "$words" "$answer"
}
hooked() { # MEMBERS of the webhook [NAMESPACE]
  printf '{"metadata":{"name":"%s-evil"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"name":"s","namespace":"%s"}},"matchConditions":%s,%s}]}' "$evil" "${2:-$evil-team}" "$conditions" "$1"
}
mine='"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'$evil'"}}'
rules() { printf '"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["*"],"scope":"%s"}]' "${1:-Namespaced}"; }
for kind in mutatingwebhookconfigurations validatingwebhookconfigurations; do
  hooks=/apis/admissionregistration.k8s.io/v1/$kind
  try POST "$hooks" json '{"metadata":{"name":"evil"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"name":"s","namespace":"team"}},'"$(rules)"'}]}'
  accepted "one is stored through zood"
  conditions=$(upstream get "$kind" "$evil-evil" -o json | jq -c '.webhooks[0].matchConditions')
  expect_match "with what it leaves alone" own-objects "$conditions"
  direct DELETE "$hooks/$evil-evil"
  says 'for its namespaces alone' POST "$hooks" json "$(hooked "$(rules)")"
  says 'for its namespaces alone' POST "$hooks" json "$(hooked "$(rules)"',"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'"$victim"'"}}')"
  says 'objects in namespaces alone' POST "$hooks" json "$(hooked "$mine,$(rules '*')")"
  says 'Services in namespaces that begin' POST "$hooks" json "$(hooked "$mine,$(rules)" kube-system)"
  says 'Services in namespaces that begin' POST "$hooks" json "$(hooked "$mine,$(rules)" | jq -c '.webhooks[0].clientConfig = {url: "https://example.com/"}')"
  says 'has ten seconds' POST "$hooks" json "$(hooked "$mine,$(rules)" | jq -c '.webhooks[0].timeoutSeconds = 11')"
  says 'leave alone what reaches out' POST "$hooks" json "$(hooked "$mine,$(rules)" | jq -c 'del(.webhooks[0].matchConditions)')"
  says 'leave alone what reaches out' POST "$hooks" json "$(hooked "$mine,$(rules)" | jq -c '.webhooks[0].matchConditions[0].expression = "true"')"
  curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
  direct POST "$hooks" json "$(hooked "$mine,$(rules)" | jq -c '.webhooks[0].failurePolicy = "Ignore"')"
  accepted "as zood writes it, it is let through"
  direct DELETE "$hooks/$evil-evil"
done
says "nobody's default" POST /apis/scheduling.k8s.io/v1/priorityclasses json '{"metadata":{"name":"'"$evil"'-evil"},"value":1,"globalDefault":true}'
says "nobody's default" POST /apis/storage.k8s.io/v1/storageclasses json '{"metadata":{"name":"'"$evil"'-evil","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"kubernetes.io/no-provisioner"}'
says "nobody's default" POST /apis/networking.k8s.io/v1/ingressclasses json '{"metadata":{"name":"'"$evil"'-evil","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"zoo-inert-x/y"}}'
for way in '"ingress":[{"from":[{"namespaceSelector":{}}]}]' '"egress":[{"to":[{"podSelector":{},"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'"$victim"'"}}}]}]'; do
  says "that tenant's namespaces alone" POST "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies" json '{"metadata":{"name":"evil"},"spec":{"podSelector":{},'"$way"'}}'
done
upstream_refuses POST "$there/configmaps" json '{"metadata":{"name":"evil"}}'
upstream_refuses PUT "$there/configmaps/$vault" json '{"metadata":{"name":"'"$vault"'"},"data":{"word":"evil"}}'
upstream_refuses PATCH "$there/configmaps/$vault" merge '{"data":{"word":"evil"}}'
upstream_refuses DELETE "$there/configmaps/$vault"
upstream_refuses DELETE "$there/secrets"
upstream_refuses POST "$there/serviceaccounts/$vault/token" json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
upstream_refuses POST "$there/pods/$vault/eviction" json '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"'"$vault"'","namespace":"'"$victim-team"'"}}'
upstream_refuses POST /apis/scheduling.k8s.io/v1/priorityclasses json '{"metadata":{"name":"'"$victim"'-evil"},"value":1}'
upstream_refuses POST /apis/storage.k8s.io/v1/storageclasses json '{"metadata":{"name":"'"$victim"'-evil"},"provisioner":"example.com/x"}'
upstream_refuses POST /api/v1/namespaces json '{"metadata":{"name":"'"$victim"'-evil"}}'

# It is the program that lets them through: with a right upstream each of these shows or changes the victim's.
direct POST "/apis/rbac.authorization.k8s.io/v1/namespaces/$victim-team/rolebindings" json '{"metadata":{"name":"for-a-moment"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"zoo:'"$evil"'"}]}'
accepted "upstream's administrator binds the attacker in the victim's namespace"
shown() {
  try GET "$there/configmaps/$vault"
  [[ $code == 200 && $answer == *"$canary"* ]]
}
eventually "and now the program shows the victim's" 30 shown
direct DELETE "/apis/rbac.authorization.k8s.io/v1/namespaces/$victim-team/rolebindings/for-a-moment"
accepted "the binding goes"
hidden() {
  try GET "$there/configmaps/$vault"
  [[ $code == 404 ]]
}
eventually "and with it the sight" 30 hidden
# Why reads of cluster-scoped objects have zood's proof alone (docs/decisions/003): RBAC knows no prefix and admission sees no
# reads, so that a right which shows one's own class shows another's.
check "a right to read one's own class" upstream create clusterrole "own-of-$evil" --verb=get --resource=storageclasses.storage.k8s.io
check "is bound" upstream create clusterrolebinding "own-of-$evil" --clusterrole="own-of-$evil" --user="zoo:$evil"
shown() {
  try GET "/apis/storage.k8s.io/v1/storageclasses/$victim-$vault"
  [[ $code == 200 && $answer == *"$canary"* ]]
}
eventually "and shows the victim's" 30 shown
check "it goes" upstream delete clusterrolebinding,clusterrole "own-of-$evil"
expect "the victim is as it was" "$before" "$(victims_state)"
leave "$evil"
leave "$victim"
eventually "both tenants go" 300 all_gone "$evil" "$victim"
