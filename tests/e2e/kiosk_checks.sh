#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources app authz
# timeout: 600
# What kiosk's own tests say of its views, and what it promised and did not test, through the account door. The name of a
# check begins with its ID in docs/kiosk-checks.md, which says where the other ones are. Users are impersonated.
. "$(dirname "$0")/lib.sh"

config=$'accounts:\n  enabled: true\n  listen: 127.0.0.1:0'
own_upstream # the kinds of accounts are installed in it
start_zood_with "$config"
door=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
require "the account door listens" test -n "$door"
new_tenant t # its kubeconfig has the authority of the door's certificate
unpack "$t"
unpack root "$ZOO_E2E_KUBECONFIG"

run=$(random_id)
john=john-$run jane=jane-$run team=team-$run
admin() { upstream --server "https://$door" --certificate-authority "$TMPDIR/$t.ca" "$@"; }
john() { admin --as "$john" "$@"; }
jane() { admin --as "$jane" "$@"; }
space() { # NAME ACCOUNT [LABELS]
  printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Space","metadata":{"name":"%s","labels":{%s}},"spec":{"account":"%s"}}' "$1" "${3:-}" "$2"
}
account() { # NAME USER [LABELS]
  printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Account","metadata":{"name":"%s","labels":{%s}},"spec":{"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"%s"}]}}' "$1" "${3:-}" "$2"
}
# role NAME USER RULES...: a ClusterRole made as kubectl makes it, bound to the user.
role() {
  upstream create clusterrole "$run-$1" "${@:3}" >/dev/null && upstream create clusterrolebinding "$run-$1" --clusterrole "$run-$1" --user "$2" >/dev/null
}
names() { "$@" -o 'jsonpath={.items[*].metadata.name}'; }
lists() { [[ $(names "${@:2}") == "$1" ]]; }
made() { "$1" create -f - <<<"$2"; }
applied() { "$1" apply -f - <<<"$2"; }

# ---- spaces -------------------------------------------------------------------------------------------------------

kinds=$(admin api-resources --api-group tenancy.kiosk.sh --no-headers)
expect_match "SP1: a Space is cluster-scoped" '^spaces +tenancy.kiosk.sh/v1alpha1 +false +Space$' "$kinds"
expect "SP1: a list of them is a SpaceList" SpaceList "$(admin get --raw '/apis/tenancy.kiosk.sh/v1alpha1/spaces?limit=1' | jq -r .kind)"
for name in a b c; do require "a namespace" upstream create namespace "$run-$name"; done
require "with a label" upstream label namespace "$run-b" testlabel=test
check_fails "SP2: without a right a space is not found" 'spaces.tenancy.kiosk.sh ".*" not found' john get space "$run-a"
expect "SP3: and a list is empty" "" "$(names john get spaces)"
require "a right to two of three by their names" role two "$john" --verb get --resource namespaces --resource-name "$run-a" --resource-name "$run-b"
eventually "SP4: shows the two" 30 lists "$run-a $run-b" john get spaces
expect "SP5: and by a label one of them" "$run-b" "$(names john get spaces -l testlabel=test)"
check "SP2: the space is found then" john get space "$run-a"

check_fails "SP6: without a right nobody creates a space of no account" 'forbidden' made john "$(space "$run-x" '')"
require "the right to create spaces" upstream create clusterrolebinding "$run-edit" --clusterrole kiosk-edit --user "$john"
require "which others have, too" upstream create clusterrolebinding "$run-edit-jane" --clusterrole kiosk-edit --user "$jane"
refused() { grep -q 'is a member of no account' <<<"$(made john "$(space "$run-x" '')" 2>&1)"; }
eventually "SP6: nor with the right to create spaces alone" 30 refused
check_fails "SP9: what one only reads one does not change" 'Forbidden|forbidden' john label space "$run-a" x=y
expect "SP9: and it is not changed" "" "$(upstream get namespace "$run-a" -o 'jsonpath={.metadata.labels.x}')"
check_fails "SP10: nor delete" 'Forbidden|forbidden' john delete space "$run-a"
require "the right to change and delete it" role write "$john" --verb update --verb patch --verb delete --resource namespaces --resource-name "$run-a"
may_write() { john label space "$run-a" x=y; }
eventually "SP9: with the right one does" 30 may_write
expect "SP9: and the namespace is changed" y "$(upstream get namespace "$run-a" -o 'jsonpath={.metadata.labels.x}')"
check "SP10: with the right one deletes it" john delete space "$run-a" --timeout 60s
check_fails "SP10: and the namespace is gone" 'NotFound' upstream get namespace "$run-a"

# ---- accounts -----------------------------------------------------------------------------------------------------

expect_match "A1: an Account is cluster-scoped" '^accounts +tenancy.kiosk.sh/v1alpha1 +false +Account$' "$kinds"
expect "A1: a list of them is an AccountList" AccountList "$(admin get --raw '/apis/tenancy.kiosk.sh/v1alpha1/accounts?limit=1' | jq -r .kind)"
check_fails "A4: who has no right creates no account" 'Forbidden|forbidden' made john "$(account "$team" "$john")"
check "A4: an administrator creates one" made admin "$(account "$team" "$john")"
check_fails "A4: and not a second time" 'already exists' made admin "$(account "$team" "$john")"
check_fails "an account that upstream refuses is refused with its words" 'The Account "bad" is invalid: spec.subjects\[0\]' \
  made admin "$(account bad x | sed 's/"apiGroup":"[^"]*",//')"
require "two more" made admin "$(account "$team-b" nobody '"testlabel":"test"')"
require "of others" made admin "$(account "$team-c" nobody)"
eventually "A2: a member reads his account" 30 john get account "$team"
check_fails "A2: and no other" 'accounts.tenancy.kiosk.sh ".*" not found' john get account "$team-b"
expect "A3: who is no member lists none" "" "$(names jane get accounts)"
require "a right to two by their names" role accounts "$jane" --verb get --resource accounts.config.kiosk.sh --resource-name "$team" --resource-name "$team-b"
eventually "A3: shows the two" 30 lists "$team $team-b" jane get accounts
expect "A3: and by a label one of them" "$team-b" "$(names jane get accounts -l testlabel=test)"
check "A5: an update is answered with what is new" admin label account "$team-c" new=yes
expect "A5: and stored" yes "$(upstream get accounts.config.kiosk.sh "$team-c" -o 'jsonpath={.metadata.labels.new}')"
check_fails "A6: a member does not delete his account" 'Forbidden|forbidden' john delete account "$team"
check "A6: an administrator deletes one" admin delete account "$team-c" --timeout 60s
check_fails "A6: which is gone" 'NotFound' upstream get accounts.config.kiosk.sh "$team-c"

# ---- who creates for whom -----------------------------------------------------------------------------------------

check "N9: an administrator creates a space of another's account" made admin "$(space "$run-given" "$team")"
eventually "N9: which is the member's" 30 lists "$run-b $run-given" john get spaces
check_fails "N9: who is no member does not" 'is no member of account' made jane "$(space "$run-x" "$team")"
check_fails "N9: an account that is not there" 'accounts.config.kiosk.sh "nowhere" not found' made admin "$(space "$run-x" nowhere)"

# ---- members with a role of their own -----------------------------------------------------------------------------

viewer=viewer-$run
viewer() { admin --as "$viewer" "$@"; }
roles() { admin patch account "$team" --type merge -p '{"spec":{"space":{"bindings":'"$1"'}}}'; }
check "some members have a role of their own" roles '[{"clusterRole":"view","subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"'"$viewer"'"}]}]'
eventually "N6: they see the account's space" 30 lists "$run-given" viewer get spaces
expect "N6: they read there" yes "$(upstream --as "$viewer" auth can-i get pods -n "$run-given")"
expect "N6: and write nothing" no "$(upstream --as "$viewer" auth can-i create pods -n "$run-given")"
check "they see the account, too" viewer get account "$team"
check "another role is given to them" roles '[{"clusterRole":"edit","subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"'"$viewer"'"}]}]'
writes() { [[ $(upstream --as "$viewer" auth can-i create pods -n "$run-given") == yes ]]; }
eventually "N6: which they have in its place" 30 writes
check "they are members no more" roles null
eventually "N6: and see it no more" 30 lists "" viewer get spaces
expect "the others have what they had" "$john" "$(upstream get rolebinding -n "$run-given" -l kiosk.sh/account="$team",zoo.kubezoo.io/managed=true -o 'jsonpath={.items[*].subjects[*].name}')"

# ---- template instances -------------------------------------------------------------------------------------------

given=$run-given note=$run-note
expect_match "a TemplateInstance is namespaced" '^templateinstances +tenancy.kiosk.sh/v1alpha1 +true +TemplateInstance$' "$kinds"
expect_match "kubectl explains it" 'The name of the Template. It cannot be changed' "$(admin explain templateinstances.spec.template --api-version tenancy.kiosk.sh/v1alpha1)"
require "a template" upstream apply --server-side -f - <<YAML
{apiVersion: config.kiosk.sh/v1alpha1, kind: Template, metadata: {name: $note}, parameters: [{name: WHAT, value: nothing}],
 resources: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "note-\${WHAT}"}, data: {}}]}}
YAML
check "an account's spaces have it" admin patch account "$team" --type merge -p '{"spec":{"space":{"templateInstances":[{"spec":{"template":"'"$note"'"}}]}}}'
shown() { john get templateinstances -n "$given" --no-headers | says_line -E "^$note-[0-9a-f]+ +$note +Deployed +Deployed +[0-9]"; }
eventually "a member sees what his account makes in his space" 60 shown
kept=$(names john get templateinstances -n "$given")
expect "in all namespaces no other one" "$given/$kept" "$(john get templateinstances -A -o 'jsonpath={.items[*].metadata.namespace}/{.items[*].metadata.name}')"
wide() { john get space "$given" -o wide --no-headers | says_line -E "^$given +$team +Active +1/1 "; }
eventually "the space says how many there are, and are deployed" 30 wide
expect "by a field he finds it" "$kept" "$(names john get templateinstances -n "$given" --field-selector "spec.template=$note,status.status=Deployed")"
expect "who is no member sees none" "" "$(names jane get templateinstances -A)"
check_fails "and it does not exist for him" "NotFound" jane get templateinstance -n "$given" "$kept"
check_fails "of config.kiosk.sh a member reads none by that" 'forbidden' john get templateinstances.config.kiosk.sh -n "$given"
instance() { # NAME [MORE OF SPEC]
  printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"%s","namespace":"%s"},"spec":{"template":"%s"%s}}' "$1" "$given" "$note" "${2:-}"
}
may_ask() { [[ $(john auth can-i create templateinstances.tenancy.kiosk.sh -n "$given") == yes ]]; }
eventually "an administrator of a space may ask for one" 60 may_ask
needs='cannot create resource "templateinstances" in API group "config.kiosk.sh" in the namespace'
check_fails "which takes the right to those of config.kiosk.sh" "$needs" made john "$(instance own)"
check_fails "who has no role in it may not even ask" 'API group "tenancy.kiosk.sh" in the namespace' made jane "$(instance own)"
jane get templateinstances -A --watch --output-watch-events >"$TMPDIR/instances.watch" 2>&1 &
watching=$!
require "a role" upstream create role instances -n "$given" --verb '*' --resource templateinstances.config.kiosk.sh
require "is the member's" upstream create rolebinding instances -n "$given" --role instances --user "$john"
may() { [[ $(upstream --as "$john" auth can-i create templateinstances.config.kiosk.sh -n "$given") == yes ]]; }
eventually "who has the right then" 30 may
check "he makes one" made john "$(instance own ',"parameters":[{"name":"WHAT","value":"one"}]')"
expect "reads it at once" "$note" "$(john get templateinstance own -n "$given" -o 'jsonpath={.spec.template}')"
check "config.kiosk.sh has it" upstream get templateinstance.config.kiosk.sh own -n "$given"
deployed() { [[ $(john get templateinstance own -n "$given" -o 'jsonpath={.status.status}') == Deployed ]]; }
eventually "and it is deployed" 60 deployed
check "what it makes is there" upstream get configmap -n "$given" note-one
check_fails "a second time it is there already" 'templateinstances.tenancy.kiosk.sh "own" already exists' made john "$(instance own)"
check_fails "its template stays" 'spec.template: .*field is immutable' john patch templateinstance own -n "$given" --type merge -p '{"spec":{"template":"other"}}'
check "a merge patch" john patch templateinstance own -n "$given" --type merge -p '{"metadata":{"labels":{"a":"b"}}}'
check "a JSON patch" john patch templateinstance own -n "$given" --type json -p '[{"op":"add","path":"/metadata/labels/c","value":"d"}]'
check "a dry run" john label templateinstance own -n "$given" --dry-run=server e=f
expect "the two are stored, and it is not" '{"a":"b","c":"d"}' "$(upstream get templateinstance.config.kiosk.sh own -n "$given" -o json | jq -c .metadata.labels)"
replaced() { john get templateinstance own -n "$given" -o json | jq '.spec.parameters[0].value = "two"' | john replace -f -; }
eventually "replaced with another parameter" 30 replaced
two() { upstream get configmap -n "$given" note-two; }
eventually "it makes another object" 60 two
check "kubectl applies one" applied john "$(instance applied)"
check "and again, with another parameter" applied john "$(instance applied ',"parameters":[{"name":"WHAT","value":"three"}]')"
on_server() { john apply --server-side --field-manager "$1" "${@:3}" -f - <<<"$2"; }
expect "kubectl applies one on the server" "templateinstance.tenancy.kiosk.sh/served serverside-applied" "$(on_server one "$(instance served ',"sync":false')")"
check_fails "where fields have owners" 'conflict with "one"' on_server two "$(instance served ',"sync":true')"
check "who can be forced" on_server two "$(instance served ',"sync":true')" --force-conflicts
expect "and are those of config.kiosk.sh" "config.kiosk.sh/v1alpha1 one two" \
  "$(upstream get templateinstance.config.kiosk.sh served -n "$given" -o json --show-managed-fields | jq -r '[.metadata.managedFields[] | select(.operation == "Apply") | .apiVersion, .manager] | unique | join(" ")')"
expect "shown as of tenancy.kiosk.sh" tenancy.kiosk.sh/v1alpha1 \
  "$(john get templateinstance served -n "$given" -o json --show-managed-fields | jq -r '[.metadata.managedFields[].apiVersion] | unique | join(" ")')"
check_fails "the account's own he does not delete" 'template instance ".*" in namespace ".*" is kept by zood' john delete templateinstance -n "$given" "$kept"
require "another one may read them" upstream create rolebinding reads-instances -n "$given" --role instances --user "$jane"
told() { grep -qE "^$1 +$given +$2 " "$TMPDIR/instances.watch"; }
eventually "N11: a grant tells of all of them" 30 told ADDED "$kept"
eventually "N11: each" 30 told ADDED served
check "one is deleted" john delete templateinstance own -n "$given"
eventually "N11: a deletion is DELETED" 30 told DELETED own
gone_two() { ! two; }
eventually "with its objects" 60 gone_two
check_fails "and is not found any more" 'templateinstances.tenancy.kiosk.sh "own" not found' john get templateinstance own -n "$given"
require "her right is taken back" upstream delete rolebinding reads-instances -n "$given"
eventually "N11: a revocation is DELETED, too" 30 told DELETED "$kept"
kill "$watching" 2>/dev/null
wait "$watching" 2>/dev/null
check "the others go by their names" john delete templateinstance applied served -n "$given"

# ---- a client that goes away --------------------------------------------------------------------------------------

post() { # NAME SECONDS
  curl -s -o /dev/null --max-time "$2" --cacert "$TMPDIR/$t.ca" --cert "$TMPDIR/root.crt" --key "$TMPDIR/root.key" -H "Impersonate-User: $john" \
    -H 'Content-Type: application/json' "https://$door/apis/tenancy.kiosk.sh/v1alpha1/spaces" --data "$(space "$1" "$team")"
}
for ((i = 0; i < 20; ++i)); do post "$run-cut$i" "0.0$((10 + i * 4))"; done
whole() { # nothing is half made, and who is let in is the member
  local ns
  [[ $(upstream get accounts.config.kiosk.sh "$team" -o json | jq '.status.pending // [] | length') == 0 ]] || return 1
  for ns in $(names upstream get ns -l "kiosk.sh/account=$team"); do
    [[ -z $(upstream get ns "$ns" -o json | jq -r '.metadata.annotations["kiosk.sh/initializing"] // empty') ]] || return 1
    [[ $(upstream get rolebinding -n "$ns" zoo:account -o 'jsonpath={.subjects[*].name}') == "$john" ]] || return 1
  done
}
eventually "N4: a client that goes away leaves nothing half made" 60 whole

# ---- watches ------------------------------------------------------------------------------------------------------

spaces=/apis/tenancy.kiosk.sh/v1alpha1/spaces
position=$(jane get --raw "$spaces" | jq -r .metadata.resourceVersion)
require "a right, between a list and a watch" role three "$jane" --verb get --resource namespaces --resource-name "$run-c"
eventually "is there" 30 jane get space "$run-c"
watched() { jane get --raw "$spaces?watch=1&timeoutSeconds=2&$1" | jq -r '"\(.type) \(.object.metadata.name // "")"'; }
expect_match "N11: a watch from the list on tells of it" "^ADDED $run-c\$" "$(watched "resourceVersion=$position")"
expect_match "N11: the end of the first state is a bookmark" '^BOOKMARK' \
  "$(watched 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true')"
jane get spaces --watch --output-watch-events >"$TMPDIR/spaces.watch" 2>&1 &
watching=$!
told() { grep -q "^$1  *$run-c " "$TMPDIR/spaces.watch"; }
eventually "N11: a watch begins with what is there" 30 told ADDED
require "the namespace goes" upstream delete namespace "$run-c" --timeout 60s
eventually "N11: a real deletion is DELETED" 30 told DELETED
kill "$watching" 2>/dev/null
wait "$watching" 2>/dev/null

# ---- zood is not there --------------------------------------------------------------------------------------------

stop_zood KILL
check_fails "N14: without zood its door is closed" 'refused' john get spaces
check "N14: members work in their spaces, upstream" upstream --as "$john" -n "$run-given" create configmap works --from-literal=a=b
check_fails "N14: and nowhere else" 'forbidden' upstream --as "$john" -n default create configmap works --from-literal=a=b
check "N14: administrators write accounts" upstream label accounts.config.kiosk.sh "$team" written=yes
check_fails "N14: who may not, moves no space" 'forbidden|may not change' upstream --as "$john" label --overwrite namespace "$run-given" "kiosk.sh/account=$team-b"
check "N14: and a namespace is deleted as always" upstream delete namespace "$run-b" --timeout 60s
start_zood_with "$config"
door=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
has_given() { [[ " $(names john get spaces) " == *" $run-given "* ]]; }
eventually "N14: a zood that starts again shows what there is" 30 has_given

# ---- zood stands still --------------------------------------------------------------------------------------------

kill -STOP "${zood_pids[$zood_dir]}"
check "N14: with zood stopped members work in their spaces, upstream" timeout 20 "$KUBECTL" --kubeconfig "$ZOO_E2E_KUBECONFIG" --as "$john" -n "$run-given" create configmap still --from-literal=a=b
require "a namespace is made" upstream create namespace "$run-d"
check "N14: and goes" upstream delete namespace "$run-d" --timeout 60s
kill -CONT "${zood_pids[$zood_dir]}"
eventually "N14: a zood that goes on shows what there is" 30 has_given

# ---- the upstream is away -----------------------------------------------------------------------------------------

arguments=()
pid=$(head -n 1 "$up/run/apiserver.pid")
while IFS= read -r -d '' one; do arguments+=("$one"); done <"/proc/$pid/cmdline"
at_end() {
  stop_zood
  [[ -z ${again:-} ]] || kill "$again"
}
answer_of() { # PATH: its status; what else it says is in $TMPDIR/answer
  curl -sS -i -o "$TMPDIR/answer" -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/$t.ca" --cert "$TMPDIR/root.crt" --key "$TMPDIR/root.key" "https://$door$1"
}
kill -KILL "$pid"
unknown() { [[ $(answer_of "$spaces") == 503 ]]; }
eventually "N14: what upstream has not told of for five seconds is not believed" 60 unknown
expect_match "N14: the answer says when to ask again" '^[Rr]etry-[Aa]fter: ' "$(cat "$TMPDIR/answer")"
expect_match "N14: and why" '"message":"[^"]*upstream' "$(cat "$TMPDIR/answer")"
(cd "$up" && exec setsid "${arguments[@]}" </dev/null >>"$up/log/apiserver.log" 2>&1) &
again=$!
eventually "N14: an upstream that comes back is believed again" 120 has_given
expect "N14: and nobody was let in or out meanwhile" "$john" "$(upstream get rolebinding -n "$run-given" zoo:account -o 'jsonpath={.subjects[*].name}')"
