# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to change a definition so that upstream cannot read what is stored under it: its stored versions are said to be others, and
#   the old one is taken away; its accepted names or conditions are changed; it goes without its objects and comes again without
#   their version; something in them becomes an embedded resource.
# Without the fence: upstream lists that kind for nobody any more (429), and its controllers list every kind: nobody's namespace is
#   deleted any more, and the tenant itself cannot be.
# Rule: stored-versions, definition-cleanup, definition-schemas; zood makes such a definition readable before it deletes a tenant.
definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
kind=/apis/evil.example.com/v1/namespaces/team/hides
open='{"type":"object","x-kubernetes-preserve-unknown-fields":true}'
version() { printf '{"name":"%s","served":true,"storage":%s,"schema":{"openAPIV3Schema":%s}}' "$1" "$2" "${3:-$open}"; }
# definition PLURAL KIND GROUP VERSIONS [MORE]
definition() {
  printf '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.%s"},"spec":{"group":"%s","scope":"Namespaced","names":{"plural":"%s","kind":"%s"},"versions":[%s]}%s}' \
    "$1" "$3" "$3" "$1" "$2" "$4" "${5:-}"
}
is_listed() {
  try GET "/apis/evil.example.com/v1/$1"
  [[ $code == 200 ]]
}
object() { printf '{"apiVersion":"evil.example.com/%s","kind":"%s","metadata":{"name":"evil"%s}%s}' "$1" "$2" "${3:-}" "${4:-}"; }

# ---- the stored versions ------------------------------------------------------------------------------------------------------------
at=$definitions/hides.evil.example.com old=$(version v1alpha1 true),$(version v1 false) new=$(version v1alpha1 false),$(version v1 true)
made "a definition, whose status is not the client's" POST $definitions json "$(definition hides Hide evil.example.com "$old" ',"status":{"storedVersions":["v1"]}')"
fence() { stored "$definitions/hides.$evil-evil.example.com" '.status.storedVersions | tojson'; }
expect "is stored in its storage version" '["v1alpha1"]' "$(fence)"
eventually "it is served" 30 is_listed hides
made "an object" POST /apis/evil.example.com/v1alpha1/namespaces/team/hides json "$(object v1alpha1 Hide)"
made "another storage version" PATCH $at merge "{\"spec\":{\"versions\":[$new]}}"
both='["v1alpha1","v1"]' gone='{"status":{"storedVersions":["v1"]}}'
try PATCH "$at/status" merge "$gone"
refused "the former one is not left" 429
expect_match "by the rule, which says when to ask again" 'rule stored-versions.*try again in [0-9]+ s' "$answer"
after_each "$at/status" "$both" <<P
merge $gone
merge {"status":{"storedVersions":null}}
merge {"status":null}
patch [{"op":"replace","path":"/status/storedVersions","value":["v1"]}]
patch [{"op":"remove","path":"/status/storedVersions/0"}]
patch [{"op":"remove","path":"/status/storedVersions"}]
patch [{"op":"copy","from":"/status/storedVersions/1","path":"/status/storedVersions/0"},{"op":"remove","path":"/status/storedVersions/1"}]
strategic $gone
apply {"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"hides.evil.example.com"},"status":{"storedVersions":["v1"]}}
P
for spelt in '.status.storedVersions = ["v1"]' '.status.storedVersions = []' 'del(.status.storedVersions)' 'del(.status)'; do
  for query in '' '?dryRun=All'; do
    try GET "$at/status"
    try PUT "$at/status$query" json "$(jq -c "$spelt" <<<"$answer")"
    expect "$code after a PUT of $spelt$query" "$both" "$(fence)"
  done
done
try GET $at
try PUT $at json "$(jq -c '.status.storedVersions = ["v1"]' <<<"$answer")"
expect "nor by the definition itself" "$both" "$(fence)"
try PATCH $at merge "{\"spec\":{\"versions\":[$(version v1 true)]}}"
refused "a version that is stored stays" 422
curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
direct PATCH "$definitions/hides.$evil-evil.example.com/status" merge "$gone"
refused "upstream alone refuses it" '403|422'
expect_match "by the policy" zoo-tenants-definitions "$answer"
would "take it" PATCH "$definitions/hides.$evil-evil.example.com/status" merge "$gone"

# ---- names and conditions -----------------------------------------------------------------------------------------------------------
fence() { stored "$definitions/hides.$evil-evil.example.com" '[.status.acceptedNames.listKind, (.status.conditions[] | select(.type == "Established").status)] | tojson'; }
after_each "$at/status" '["HideList","True"]' <<P
merge {"status":{"acceptedNames":{"listKind":"","singular":""}}}
merge {"status":{"acceptedNames":null,"conditions":[]}}
strategic {"status":{"acceptedNames":{"plural":"x","kind":"X"},"conditions":[{"type":"Established","status":"False"}]}}
patch [{"op":"add","path":"/status/conditions","value":[{"message":"patched"}]}]
P
expect "what is its own is stored" patched "$(stored "$definitions/hides.$evil-evil.example.com" '.status.conditions[] | select(.message == "patched").message')"
for change in '{"status":{"acceptedNames":{"listKind":""}}}' '{"status":{"conditions":[]}}'; do
  curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
  direct PATCH "$definitions/hides.$evil-evil.example.com/status" merge "$change"
  refused "upstream alone refuses $change" '403|422'
done

# ---- embedded resources -------------------------------------------------------------------------------------------------------------
embedded='{"type":"object","properties":{"t":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}'
try POST $definitions json "$(definition embeds Embed evil.example.com "$(version v1 true),$(version v2 false "$embedded")")"
refused "of one version alone" 403
expect_match "by the rule" 'rule definition-schemas' "$answer"
would "take it" POST $definitions json "$(definition embeds Embed "$evil-evil.example.com" "$(version v1 true),$(version v2 false "$embedded")")"
fence() { stored "$definitions/hides.$evil-evil.example.com" '[.spec.versions[].schema.openAPIV3Schema.properties] | tojson'; }
after_each $at '[null,null]' <<P
merge {"spec":{"versions":[$(version v1alpha1 false "$embedded"),$(version v1 true "$embedded")]}}
patch [{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":$embedded},{"op":"replace","path":"/spec/versions/1/schema/openAPIV3Schema","value":$embedded}]
apply $(definition hides Hide evil.example.com "$(version v1alpha1 false "$embedded"),$(version v1 true "$embedded")")
P
try GET $at
try PUT $at json "$(jq -c ".spec.versions[].schema.openAPIV3Schema = $embedded" <<<"$answer")"
refused "later" 403

# ---- selectable fields --------------------------------------------------------------------------------------------------------------
selects() { # NAME: a version in which a property of that name can be selected by
  version v1 true '{"type":"object","properties":{"spec":{"type":"object","properties":{"b":{"type":"string"},"'"$1"'":{"type":"string"}}}}}' |
    sed "s/}\$/,\"selectableFields\":[{\"jsonPath\":\".spec.$1\"}]}/"
}
for name in '*' 'a{' 'a}b' 'a b'; do
  try POST $definitions json "$(definition selects Select evil.example.com "$(selects "$name")")"
  refused "a selectable field $name" 403
  expect_match "by the rule" 'rule definition-schemas' "$answer"
  would "take it" POST $definitions json "$(definition selects Select "$evil-evil.example.com" "$(selects "$name")")"
  curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
  direct POST "$definitions?dryRun=All" json "$(definition selects Select "$evil-evil.example.com" "$(selects "$name")")"
  refused "upstream alone refuses it" '403|422'
done

# ---- the finalizer by which its objects go ------------------------------------------------------------------------------------------
cleans=$definitions/cleans.evil.example.com
made "another definition" POST $definitions json "$(definition cleans Clean evil.example.com "$(version v1 true)")"
eventually "it is served" 30 is_listed cleans
made "an object that stays" POST /apis/evil.example.com/v1/namespaces/team/cleans json "$(object v1 Clean ',"finalizers":["evil.example.com/stays"]')"
made "and another" POST /apis/evil.example.com/v1/namespaces/team/cleans json "$(object v1 Clean ',"finalizers":["evil.example.com/stays"]' | sed 's/"evil"/"other"/')"
made "it is deleted" DELETE $cleans
fence() { stored "$definitions/cleans.$evil-evil.example.com" '.metadata.finalizers | tojson'; }
for path in $cleans $cleans/status; do
  after_each $path '["customresourcecleanup.apiextensions.k8s.io"]' <<P
merge {"metadata":{"finalizers":null}}
merge {"metadata":{"finalizers":[]}}
patch [{"op":"remove","path":"/metadata/finalizers"}]
patch [{"op":"remove","path":"/metadata/finalizers/0"}]
strategic {"metadata":{"\$deleteFromPrimitiveList/finalizers":["customresourcecleanup.apiextensions.k8s.io"]}}
strategic {"metadata":{"finalizers":null}}
P
  try GET $path
  try PUT $path json "$(jq -c 'del(.metadata.finalizers)' <<<"$answer")"
  refused "nor by a PUT of ${path##*/}" '403'
  expect_match "by the rule" 'rule definition-cleanup' "$answer"
  curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
  direct PATCH "${path/evil.example.com/"$evil-evil.example.com"}" merge '{"metadata":{"finalizers":null}}'
  refused "upstream alone refuses it" '403|422'
done

made "the way out is to take the finalizers of its objects away" PATCH /apis/evil.example.com/v1/namespaces/team/cleans/other merge '{"metadata":{"finalizers":null}}'
# The other object stays until the tenant goes, which the end of this script waits for.

# ---- as if it had: zood finds such definitions, and deletes their tenant all the same -----------------------------------------------
new_attacker broken
may_fail="/apis/$broken-evil.example.com/"
send "$broken" "https://$zood_address" POST $definitions json "$(definition hides Hide evil.example.com "$old")"
accepted "the definition of another one"
is_made() {
  send "$broken" "https://$zood_address" POST /apis/evil.example.com/v1alpha1/namespaces/team/hides json "$(object v1alpha1 Hide)"
  [[ $code == 201 ]]
}
eventually "has an object" 30 is_made
direct PATCH "$definitions/hides.$broken-evil.example.com" merge "{\"spec\":{\"versions\":[$new]}}"
direct PATCH "$definitions/hides.$broken-evil.example.com/status" merge "$gone"
direct PATCH "$definitions/hides.$broken-evil.example.com" merge "{\"spec\":{\"versions\":[$(version v1 true)]}}"
accepted "the platform's administrator takes its version away"
# Two more, by what upstream cannot select and by what becomes an embedded resource. The one object stays until the grace is over.
theirs=$broken-evil.example.com space=/apis/$broken-evil.example.com/v1/namespaces/$broken-team
direct POST $definitions json "$(definition selects Select "$theirs" "$(selects '*')")"
direct POST $definitions json "$(definition embeds Embed "$theirs" "$(version v1 true)")"
has_two() {
  direct POST "$space/selects" json "$(object v1 Select ',"finalizers":["evil.example.com/stays"]' ',"spec":{"*":"1","b":"2"}' | sed "s|\"evil.example.com/v1|\"$theirs/v1|")"
  [[ $code == 201 || $code == 409 ]] || return
  direct POST "$space/embeds" json "$(object v1 Embed '' ',"t":{"metadata":5}' | sed "s|\"evil.example.com/v1|\"$theirs/v1|")"
  [[ $code == 201 || $code == 409 ]]
}
eventually "they have objects" 30 has_two
direct PATCH "$definitions/embeds.$theirs" merge "{\"spec\":{\"versions\":[$(version v1 true "$embedded")]}}"
accepted "which become what they are not"
# Upstream begins to read all objects of a kind anew when its definition changes.
direct PATCH "$definitions/selects.$theirs" merge '{"spec":{"names":{"shortNames":["evil"]}}}'
accepted "and are read again"
is_unlisted() {
  unlisted >"$TMPDIR/hidden"
  (($(grep -cE "^/apis/$theirs/v1/(hides|selects|embeds)\$" "$TMPDIR/hidden") == 3))
}
eventually "upstream can list none of the three" 30 is_unlisted
ctl doctor >"$TMPDIR/doctor" 2>&1
for plural in hides selects embeds; do
  expect_match "doctor tells of $plural" "definition $plural.$theirs.*cannot list its objects" "$(<"$TMPDIR/doctor")"
done
check "its tenant goes" ctl tenant delete "$broken" --timeout 240s
direct GET "$definitions/hides.$broken-evil.example.com"
expect "with its definition" 404 "$code"
eventually "and upstream can list every kind" 20 listed_as_before

# ---- the way out --------------------------------------------------------------------------------------------------------------------
made "an object that was stored since" POST $kind json "$(object v1 Hide | sed 's/"evil"/"later"/')"
drops() {
  try PATCH "$at/status" merge "$gone"
  [[ $code == 200 ]]
}
eventually "after a minute, when nothing is written in the former version any more" 100 drops
expect "it is dropped" '["v1"]' "$(stored "$definitions/hides.$evil-evil.example.com" '.status.storedVersions | tojson')"
made "and taken away" PATCH $at merge "{\"spec\":{\"versions\":[$(version v1 true)]}}"
are_there() {
  try GET $kind
  [[ $(jq -c '[.items[]?.metadata.name]' <<<"$answer") == '["evil","later"]' ]]
}
eventually "its objects are there" 30 are_there
