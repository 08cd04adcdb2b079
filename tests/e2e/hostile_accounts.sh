#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources upstream
# timeout: 900
# A member of one account attacks another one, through the account door and straight at upstream: first as he is, then with every
# right on namespaces that an administrator might have given him, which leaves the policies alone to hold who owns a space.
# Credentials of one door at the other, and header fields that pose as somebody.
. "$(dirname "$0")/lib.sh"

own_upstream # the kinds of accounts are installed in it
start_zood_with $'drain_timeout: 2s\naccounts:\n  enabled: true\n  listen: 127.0.0.1:0\n  self_service: true'
door=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
require "the account door listens" test -n "$door"
new_tenant t
unpack "$t"
server=$(upstream config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
upstream config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$TMPDIR/upstream.ca"

run=$(random_id)
victor=victor-$run mallory=mallory-$run
treasure=$run-treasure loot=$run-loot nobodys=$run-nobodys
# person NAME: a user of the upstream with a certificate, who is the only member of an account of that name.
person() {
  new_user "$1"
  upstream apply -f - >/dev/null <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Account
metadata: {name: $1}
spec: {subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: $1}]}
YAML
}
# at WHERE NAME ARGUMENTS...: kubectl as that person, at the account door or at upstream.
at() {
  local where=$1 file=$TMPDIR/$2 to=(--server "https://$door" --certificate-authority "$TMPDIR/$t.ca")
  shift 2
  [[ $where == door ]] || to=(--server "$server" --certificate-authority "$TMPDIR/upstream.ca")
  "$KUBECTL" "${to[@]}" --client-certificate "$file.crt" --client-key "$file.key" "$@"
}
mallory() { at "$@"; }
space() { printf '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"Space","metadata":{"name":"%s"},"spec":{"account":"%s"}}' "$1" "$2"; }
person "$victor"
person "$mallory"
made() { at door "$1" create -f - <<<"$(space "$2" "$1")"; }
eventually "the victim has a space" 30 made "$victor" "$treasure"
eventually "the attacker has one" 30 made "$mallory" "$loot"
# Both have walls that zood keeps; the attacker may instantiate templates in his space, and so may many a member.
upstream apply -f - >/dev/null <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Template
metadata: {name: $run-walls}
resources: {manifests: [{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: walls}, spec: {podSelector: {}}}]}
---
apiVersion: config.kiosk.sh/v1alpha1
kind: Template
metadata: {name: $run-wide}
applyAs: {clusterRole: cluster-admin}
accounts: {matchLabels: {name: $victor}}
parameters: [{name: NAME}, {name: VALUE}]
resources: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "\${NAME}"}, data: {value: "\${{VALUE}}"}}]}
---
apiVersion: config.kiosk.sh/v1alpha1
kind: Template
metadata: {name: $run-notes}
parameters: [{name: NAME}, {name: VALUE}]
resources: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "\${NAME}", annotations: {for: "\${VALUE}"}}, data: {value: "x"}}]}
YAML
for name in "$victor" "$mallory"; do
  upstream patch account.config.kiosk.sh "$name" --type merge -p '{"metadata":{"labels":{"name":"'"$name"'"}},"spec":{"space":{"clusterRole":"kiosk-space-admin","templateInstances":[{"metadata":{"name":"kept"},"spec":{"template":"'"$run-walls"'"}}]}}}' >/dev/null
done
upstream create clusterrole "$run-instances" --verb '*' --resource templateinstances.config.kiosk.sh,templateinstances.config.kiosk.sh/status >/dev/null
upstream -n "$loot" create rolebinding instances --clusterrole "$run-instances" --user "$mallory" >/dev/null
walled() { upstream -n "$1" get networkpolicy walls && upstream -n "$1" get rolebinding zoo:template:kept; }
eventually "the victim's space has walls" 60 walled "$treasure"
eventually "and so has the attacker's" 60 walled "$loot"
at door "$victor" -n "$treasure" create secret generic pearl --from-literal=value=white >/dev/null
upstream create ns "$nobodys" >/dev/null

# What no attack may change: who owns what, whose bindings there are, and that all of it is the same object.
standing() {
  upstream get ns "$treasure" "$loot" "$nobodys" kube-system -o json | jq -c '.items[].metadata |
    [.name, .uid, .deletionTimestamp, .labels["kiosk.sh/account"], (.annotations // {} | with_entries(select(.key | test("kiosk.sh|kubezoo.io"))))]'
  upstream get rolebindings -A -o json | jq -c --arg run "$run" '.items[] | select(.metadata.namespace | startswith($run + "-")) |
    [.metadata.namespace, .metadata.name, .roleRef.name, [.subjects[]?.name]]'
  upstream get account.config.kiosk.sh "$victor" "$mallory" -o json | jq -c '.items[] | [.metadata.name, .spec.subjects, .status.namespaces]'
}
walls() {
  upstream get networkpolicies,templateinstances -A -o json | jq -c --arg run "$run" '.items[] | select(.metadata.namespace | startswith($run + "-")) |
    select(.metadata.name == "walls" or .metadata.name == "kept") | [.kind, .metadata.namespace, .metadata.uid, .metadata.labels, .spec]'
}
settled() { [[ $(standing | grep -o "\"name\":\"$run-[a-z]*\"" | wc -l) == 2 ]]; }
eventually "all is as it shall stay" 30 settled
before=$(standing)
# The controller may look at what an attack touched: what it puts back is as it was.
unharmed() { [[ $(standing) == "$before" ]]; }
stays() {
  local what=$1
  eventually "$what: nothing has changed" 30 unharmed
  unharmed || diff <(echo "$before") <(standing)
}
# attack WHAT COMMAND...: it is refused.
attack() {
  local what=$1
  shift
  check_fails "$what" '.' "$@"
}

# ---- as a member ------------------------------------------------------------------------------------------------------
owner=kiosk.sh/account
for where in door upstream; do
  m() { mallory "$where" "$mallory" "$@"; }
  made_of() { m create -f - <<<"$1"; }
  for name in "$treasure" "$nobodys" kube-system; do
    attack "$where: a label of $name" m label --overwrite ns "$name" "$owner=$mallory"
    attack "$where: a JSON patch of $name" m patch ns "$name" --type json -p '[{"op":"add","path":"/metadata/labels/kiosk.sh~1account","value":"'"$mallory"'"}]'
    attack "$where: an annotation of $name" m annotate --overwrite ns "$name" "$owner=$mallory"
    attack "$where: what stands in $name" m -n "$name" get secrets
    attack "$where: a binding in $name" m -n "$name" create rolebinding me --clusterrole admin --user "$mallory"
    attack "$where: deletion of $name" m delete ns "$name" --wait=false
    attack "$where: a read of $name" m get ns "$name"
  done
  attack "$where: the victim's account" m get account.config.kiosk.sh "$victor"
  attack "$where: a member more" m patch account.config.kiosk.sh "$victor" --type json -p '[{"op":"add","path":"/spec/subjects/-","value":{"kind":"User","name":"'"$mallory"'"}}]'
  attack "$where: his own account's limit" m patch account.config.kiosk.sh "$mallory" --type merge -p '{"spec":{"space":{"limit":1000}}}'
  attack "$where: his own space for the victim" m label --overwrite ns "$loot" "$owner=$victor"
  attack "$where: his own space for nobody" m label ns "$loot" "$owner-"
  attack "$where: the binding of his own space" m -n "$loot" delete rolebinding zoo:account
  attack "$where: the binding for himself alone" m -n "$loot" patch rolebinding zoo:account --type json -p '[{"op":"add","path":"/subjects/-","value":{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}}]'
  attack "$where: one that poses as zood's" made_of '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"also","namespace":"'"$loot"'","labels":{"zoo.kubezoo.io/managed":"true"}},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"admin"},"subjects":[]}'
  for name in zoo:account-next zoo:account-0123abcd zoo:template:kept zoo:template:late; do
    attack "$where: one that would be in zood's way: $name" m -n "$loot" create rolebinding "$name" --clusterrole edit --user "$mallory"
  done
  attack "$where: more than he has" m -n "$loot" create rolebinding more --clusterrole cluster-admin --user "$mallory"
  attack "$where: as the victim" m get spaces --as "$victor"
  attack "$where: as zood" m get ns --as system:serviceaccount:zoo-system:zood
  attack "$where: as a master" m get ns --as root --as-group system:masters
done
# ---- templates --------------------------------------------------------------------------------------------------------
built=$(walls)
instances=templateinstances.config.kiosk.sh views=templateinstances.tenancy.kiosk.sh
# instance TEMPLATE [NAME VALUE]: of his, in his space; its failure is told as he reads it.
instance() {
  m -n "$loot" delete "$instances" mine --ignore-not-found >/dev/null
  m -n "$loot" create -f - <<<'{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"mine"},"spec":{"template":"'"$1"'","parameters":['"${2:+$(jq -cn --arg n "$2" --arg v "$3" '[{name: "NAME", value: $n}, {name: "VALUE", value: $v}] | .[]' | paste -sd,)}"']}}' >/dev/null
}
fails() { [[ $(m -n "$loot" get "$instances" mine -o 'jsonpath={.status.status} {.status.reason}') == "Failed $1" ]]; }
for where in door upstream; do
  m() { mallory "$where" "$mallory" "$@"; }
  may() { m -n "$loot" get "$instances"; }
  eventually "$where: he may instantiate templates in his space" 30 may
  made_of() { m create -f - <<<"$1"; }
  for act in "delete networkpolicy walls" "label networkpolicy walls zoo.kubezoo.io/managed-" "label networkpolicy walls zoo.kubezoo.io/template-instance=x --overwrite" "delete networkpolicies --all" \
    "delete $instances kept" "label $instances kept zoo.kubezoo.io/managed-" "patch $instances kept --subresource status --type merge -p {\"status\":{\"objects\":[]}}" "delete $instances --all" \
    "delete $views kept" "label $views kept zoo.kubezoo.io/managed-" "patch $views kept --type merge -p {\"spec\":{\"template\":\"$run-notes\"}}" "delete $views --all" \
    "delete rolebinding zoo:template:kept"; do
    # shellcheck disable=SC2086 # words
    attack "$where: his walls: $act" m -n "$loot" $act --wait=false
  done
  attack "$where: his walls, widened" m -n "$loot" patch networkpolicy walls --type merge -p '{"spec":{"ingress":[{}]}}'
  attack "$where: applied in the templates' name" m apply --server-side --force-conflicts --field-manager zoo-template -f - \
    <<<'{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"walls","namespace":"'"$loot"'"},"spec":{"podSelector":{},"ingress":[{}]}}'
  attack "$where: as who makes templates' objects" m -n "$loot" delete networkpolicy walls --as zoo:templates --as-group zoo:templates
  attack "$where: an instance that poses as the account's" made_of '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"posing","namespace":"'"$loot"'","labels":{"zoo.kubezoo.io/managed":"true"}},"spec":{"template":"'"$run-notes"'"}}'
  attack "$where: one in the victim's space" made_of '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"x","namespace":"'"$treasure"'"},"spec":{"template":"'"$run-notes"'"}}'
  attack "$where: an instance that poses as the account's, by the view" made_of '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"posing","namespace":"'"$loot"'","labels":{"zoo.kubezoo.io/managed":"true"}},"spec":{"template":"'"$run-notes"'"}}'
  attack "$where: one in the victim's space, by the view" made_of '{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"x","namespace":"'"$treasure"'"},"spec":{"template":"'"$run-notes"'"}}'
  attack "$where: the victim's, taken over by the view" m apply --server-side --force-conflicts -f - \
    <<<'{"apiVersion":"tenancy.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"kept","namespace":"'"$treasure"'"},"spec":{"template":"'"$run-notes"'"}}'
  attack "$where: the victim's, deleted by the view" m -n "$treasure" delete "$views" kept --wait=false
  attack "$where: a template of his own" made_of '{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"Template","metadata":{"name":"'"$run-own"'"},"resources":{"manifests":[]}}'
  attack "$where: who lets him in" made_of '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"zoo:template:mine","namespace":"'"$loot"'","labels":{"zoo.kubezoo.io/managed":"true"}},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[]}'
  check "$where: an instance of the victim's template" instance "$run-wide" x y
  eventually "$where: makes nothing" 60 fails AccountNotSelected
  check "$where: a parameter that names another place" instance "$run-notes" "../../$treasure/configmaps/x" y
  eventually "$where: makes nothing" 60 fails ApplyManifests
  check "$where: a parameter with more keys" instance "$run-notes" own $'y\n  labels:\n    zoo.kubezoo.io/managed: "true"'
  made() { [[ $(upstream -n "$loot" get configmap own -o 'jsonpath={.metadata.labels.zoo\.kubezoo\.io/managed}|{.metadata.labels.zoo\.kubezoo\.io/template-instance}') == "|mine" ]]; }
  eventually "$where: is one text" 60 made
  upstream -n "$loot" create configmap by-hand --from-literal=value=hers >/dev/null
  check "$where: an instance with the name of what an administrator has made" instance "$run-notes" by-hand y
  eventually "$where: makes nothing" 60 fails ApplyManifests
  expect "$where: and takes nothing" "hers||" "$(upstream -n "$loot" get configmap by-hand -o 'jsonpath={.data.value}|{.metadata.ownerReferences}|{.metadata.labels}')"
  upstream -n "$loot" delete configmap by-hand >/dev/null
  check "$where: another instance" instance "$run-notes" own y
  eventually "$where: stands again" 60 made
  m -n "$loot" patch "$instances" mine --subresource status --type merge -p '{"status":{"objects":[{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","name":"walls"},{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","name":"zoo:account"}]}}' >/dev/null
  m -n "$loot" patch "$instances" mine --type merge -p '{"spec":{"parameters":[{"name":"NAME","value":"other"},{"name":"VALUE","value":"z"}]}}' >/dev/null
  other() { upstream -n "$loot" get configmap other; }
  eventually "$where: a status that names what is not its own" 60 other
  m -n "$loot" delete "$instances" mine >/dev/null
done
expect "the walls are as they were" "$built" "$(walls)"
stays "what a member can do with templates"

m() { mallory door "$mallory" "$@"; }
attack "a space in the victim's account" made_of "$(space "$run-x" "$victor")"
attack "a space of the victim's name" made_of "$(space "$treasure" "$mallory")"
attack "a space of the system" made_of "$(space kube-system "$mallory")"
attack "a space under a tenant's prefix" made_of "$(space "$t-x" "$mallory")"
attack "a namespace with the victim's label" made_of '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$run-x"'","labels":{"kiosk.sh/account":"'"$victor"'"}}}'
attack "a generated name with the victim's label" made_of '{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"'"$run-x"'-","labels":{"kiosk.sh/account":"'"$victor"'"}}}'
attack "a space with the victim's label" made_of "$(space "$run-x" "$mallory" | jq -c --arg a "$victor" '.metadata.labels["kiosk.sh/account"] = $a')"
attack "a space with the victim's annotation" made_of "$(space "$run-x" "$mallory" | jq -c --arg a "$victor" '.metadata.annotations["kiosk.sh/account"] = $a')"
attack "a space that says it is being made" made_of "$(space "$run-x" "$mallory" | jq -c '.metadata.annotations["kiosk.sh/initializing"] = "true"')"
attack "his space for the victim" m patch space "$loot" --type merge -p '{"spec":{"account":"'"$victor"'"}}'
attack "by a JSON patch" m patch space "$loot" --type json -p '[{"op":"replace","path":"/spec/account","value":"'"$victor"'"}]'
attack "by its label" m label --overwrite space "$loot" "$owner=$victor"
attack "by its annotation" m annotate --overwrite space "$loot" "$owner=$victor"
applies() { m apply --server-side --force-conflicts --field-manager x -f - <<<"$1"; }
attack "by an apply on the server" applies "$(space "$loot" "$victor")"
attack "the victim's space for himself" applies "$(space "$treasure" "$mallory")"
attack "the victim's space, deleted" m delete space "$treasure" --wait=false
attack "his account, with another limit" m patch account.tenancy.kiosk.sh "$mallory" --type merge -p '{"spec":{"space":{"limit":1000}}}'
attack "the victim's account" m patch account.tenancy.kiosk.sh "$victor" --type merge -p '{"metadata":{"labels":{"a":"b"}}}'
stays "what a member can do"

# ---- what he learns ---------------------------------------------------------------------------------------------------
said=$(for kind in spaces namespaces accounts.tenancy.kiosk.sh templateinstances.tenancy.kiosk.sh secrets rolebindings events; do m get "$kind" -A -o yaml 2>&1; done
  for path in /apis/tenancy.kiosk.sh/v1alpha1/spaces "/apis/tenancy.kiosk.sh/v1alpha1/namespaces/$treasure/templateinstances" "/apis/tenancy.kiosk.sh/v1alpha1/namespaces/$treasure/templateinstances/kept" '/apis/tenancy.kiosk.sh/v1alpha1/spaces?fieldSelector=spec.account%3D'"$victor" \
    '/api/v1/namespaces?labelSelector=kiosk.sh/account%3D'"$victor" '/api/v1/namespaces?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true' \
    '/api/v1/secrets?fieldSelector=metadata.name%3Dpearl'; do m get --raw "$path" 2>&1; done)
expect_match "he sees his own" "$loot" "$said"
expect_no_match "nothing of the victim's" "$treasure|$victor|pearl" "$said"
same() { sed "s/$2/NAME/g" <<<"$(m "$1" space "$2" 2>&1)"; }
for verb in get delete describe; do
  expect "whether a space exists, $verb does not tell" "$(same "$verb" "$run-nothing")" "$(same "$verb" "$treasure")"
done

# ---- with every right on namespaces, and their subresources ---------------------------------------------------------------
upstream apply -f - >/dev/null <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $mallory}
rules: [{apiGroups: [""], resources: [namespaces, namespaces/status, namespaces/finalize], verbs: [get, list, create, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: $mallory}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $mallory}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: $mallory}]
YAML
for where in door upstream; do
  m() { mallory "$where" "$mallory" "$@"; }
  may() { m patch ns "$nobodys" --type merge -p '{"metadata":{"labels":{"touched":"yes"}}}'; }
  eventually "$where: he may change namespaces" 30 may
  # replaced NAME PATH FILTER: the namespace as it is, changed by jq, sent as a whole.
  replaced() { m get ns "$1" -o json | jq -c "$3" | m replace --raw "/api/v1/namespaces/$1$2" -f -; }
  for name in "$treasure" "$loot" "$nobodys" kube-system; do
    to=$mallory
    [[ $name == "$loot" ]] && to=$victor
    label='{"metadata":{"labels":{"kiosk.sh/account":"'$to'"}}}' wish='{"metadata":{"annotations":{"kiosk.sh/account":"'$to'"}}}'
    json='[{"op":"add","path":"/metadata/labels/kiosk.sh~1account","value":"'$to'"}]'
    for sub in '' status; do
      attack "$where: $name/$sub: merge patch" m patch ns "$name" ${sub:+--subresource "$sub"} --type merge -p "$label"
      attack "$where: $name/$sub: strategic merge patch" m patch ns "$name" ${sub:+--subresource "$sub"} --type strategic -p "$label"
      attack "$where: $name/$sub: JSON patch" m patch ns "$name" ${sub:+--subresource "$sub"} --type json -p "$json"
      attack "$where: $name/$sub: by the annotation" m patch ns "$name" ${sub:+--subresource "$sub"} --type merge -p "$wish"
      attack "$where: $name/$sub: as being made" m patch ns "$name" ${sub:+--subresource "$sub"} --type merge -p '{"metadata":{"annotations":{"kiosk.sh/initializing":"true"}}}'
      attack "$where: $name/$sub: by somebody's request" m patch ns "$name" ${sub:+--subresource "$sub"} --type merge \
        -p '{"metadata":{"annotations":{"zoo.kubezoo.io/space-request":"{\"requester\":\"'"$mallory"'\",\"account\":\"'"$to"'\"}"}}}'
    done
    for sub in '' /status /finalize; do
      attack "$where: $name$sub: the whole object" replaced "$name" "$sub" '.metadata.labels["kiosk.sh/account"] = "'"$to"'"'
      attack "$where: $name$sub: and another's UID" replaced "$name" "$sub" '.metadata.labels["kiosk.sh/account"] = "'"$to"'" | .metadata.uid = "00000000-0000-0000-0000-000000000000"'
    done
    applied() { m apply --server-side --force-conflicts --field-manager zood -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$1"'","labels":{"kiosk.sh/account":"'"$2"'"}}}'; }
    attack "$where: $name: applied on the server, in zood's name" applied "$name" "$to"
  done
  for name in "$treasure" "$loot"; do
    attack "$where: $name: nobody's" m label ns "$name" "$owner-"
    attack "$where: $name: without any label" m patch ns "$name" --type json -p '[{"op":"remove","path":"/metadata/labels"}]'
    attack "$where: $name: its label moved" m patch ns "$name" --type json -p '[{"op":"move","from":"/metadata/labels/kiosk.sh~1account","path":"/metadata/labels/x"}]'
    attack "$where: $name: labels as a whole" m patch ns "$name" --type json -p '[{"op":"replace","path":"/metadata/labels","value":{"a":"b"}}]'
  done
  attack "$where: a new one with the victim's label" made_of '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$run-y"'","labels":{"kiosk.sh/account":"'"$victor"'"}}}'
  attack "$where: with a generated name" made_of '{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"'"$run-y"'-","labels":{"kiosk.sh/account":"'"$victor"'"}}}'
  attack "$where: with the annotation" made_of '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$run-y"'","annotations":{"kiosk.sh/account":"'"$victor"'"}}}'
  # Owner references say nothing of who owns a space: with them, too, all stays as it is.
  reference='{"metadata":{"ownerReferences":[{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"Account","name":"NAME","uid":"UID"}]}}'
  uid=$(upstream get account.config.kiosk.sh "$mallory" -o 'jsonpath={.metadata.uid}')
  for name in "$treasure" "$nobodys"; do
    m patch ns "$name" --type merge -p "$(sed "s/NAME/$mallory/; s/UID/$uid/" <<<"$reference")" >/dev/null 2>&1
    eventually "$where: an owner reference of $name: nothing has changed" 30 unharmed
    m patch ns "$name" --type merge -p '{"metadata":{"ownerReferences":null}}' >/dev/null 2>&1
  done
  stays "$where: what rights on namespaces give"
done
expect "which is no access to the victim's space" no "$(upstream auth can-i get secrets -n "$treasure" --as "$mallory")"

# ---- credentials and header fields -----------------------------------------------------------------------------------------
by() { curl -s -o /dev/null -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/$t.ca" "$@"; }
tenants=(--cert "$TMPDIR/$t.crt" --key "$TMPDIR/$t.key") members=(--cert "$TMPDIR/$mallory.crt" --key "$TMPDIR/$mallory.key")
root=(-H 'X-Remote-User: root' -H 'X-Remote-Group: system:masters' -H 'X-Remote-Extra-Scopes: all' -H 'X-Remote-Uid: 0')
for path in /api/v1/namespaces /apis /apis/tenancy.kiosk.sh/v1alpha1/spaces /openapi/v2; do
  expect "a tenant at the account door: $path" 401 "$(by "${tenants[@]}" "https://$door$path")"
  expect "who poses as root as well" 401 "$(by "${tenants[@]}" "${root[@]}" "https://$door$path")"
  expect "a member at the tenants' door: $path" 401 "$(by "${members[@]}" "https://$zood_address$path")"
  expect "with those fields, too" 401 "$(by "${members[@]}" "${root[@]}" "https://$zood_address$path")"
  expect "nobody at the account door, as root: $path" 401 "$(by "${root[@]}" "https://$door$path")"
  expect "nobody at the tenants' door, as root: $path" 401 "$(by "${root[@]}" "https://$zood_address$path")"
done
whoami() {
  curl -s --max-time 20 --cacert "$TMPDIR/$t.ca" "${members[@]}" "$@" -H 'Content-Type: application/json' \
    -d '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}' "https://$door/apis/authentication.k8s.io/v1/selfsubjectreviews" |
    jq -c 'if .kind == "Status" then "refused: " + .reason else .status.userInfo | [.username, .groups] end'
}
expect "a member is himself" "[\"$mallory\",[\"system:authenticated\"]]" "$(whoami)"
expect "whatever header fields say" "$(whoami)" "$(whoami "${root[@]}")"
for fields in 'Connection: X-Remote-User, Impersonate-User' 'Connection: Impersonate-User' 'Impersonate_User: root' 'impersonate-extra-zoo-impersonator: root'; do
  said=$(whoami "${root[@]}" -H "$fields" -H 'X_Remote_User: root')
  [[ $said == '"refused: '* ]] || expect "nor with $fields" "$(whoami)" "$said"
done
stays "at the end"

# ---- in zood's way ------------------------------------------------------------------------------------------------------------
# He knows the names of what is going to be made, and has an instance there that nobody can delete.
m() { mallory upstream "$mallory" "$@"; }
require "an instance that is held" m create -f - <<<'{"apiVersion":"config.kiosk.sh/v1alpha1","kind":"TemplateInstance","metadata":{"name":"late","namespace":"'"$loot"'","finalizers":["x.io/hold"]},
  "spec":{"template":"'"$run-notes"'","parameters":[{"name":"NAME","value":"late"},{"name":"VALUE","value":"x"}]}}'
upstream apply -f - >/dev/null <<YAML
apiVersion: config.kiosk.sh/v1alpha1
kind: Template
metadata: {name: $run-late}
resources: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {value: zoods}}]}
YAML
require "a template of that name for all spaces" upstream patch account.config.kiosk.sh "$mallory" --type json \
  -p '[{"op":"add","path":"/spec/space/templateInstances/-","value":{"metadata":{"name":"late"},"spec":{"template":"'"$run-late"'"}}}]'
late() { [[ $(upstream -n "$loot" get "$instances" late -o 'jsonpath={.spec.template}|{.metadata.labels.zoo\.kubezoo\.io/managed}|{.status.status}') == "$run-late|true|Deployed" ]]; }
eventually "is there all the same" 60 late
its() { [[ $(upstream -n "$loot" get configmap late -o 'jsonpath={.data.value}') == zoods ]]; }
eventually "with what it makes" 60 its

# Bindings from before their names were reserved.
require "nobody looks at names" upstream delete validatingadmissionpolicybinding zoo-accounts-objects
planted() {
  m create -f - <<<'{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"'"$1"'","namespace":"'"$loot"'","finalizers":["x.io/hold"]},
    "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"edit"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"'"$mallory"'"}]}'
}
eventually "he makes a binding where the next one of his account will be" 30 planted zoo:account-next
require "and one where a template's will be" planted zoo:template:later
require "he is to read, no more; and to have a template" upstream patch account.config.kiosk.sh "$mallory" --type json \
  -p '[{"op":"replace","path":"/spec/space/clusterRole","value":"view"},{"op":"add","path":"/spec/space/templateInstances/-","value":{"metadata":{"name":"later"},"spec":{"template":"'"$run-notes"'","parameters":[{"name":"NAME","value":"later"},{"name":"VALUE","value":"x"}]}}}]'
reads() { [[ $(upstream -n "$loot" get rolebindings -o json | jq -c '[.items[] | select(.metadata.name | startswith("zoo:account")) | [.metadata.name, .roleRef.name]]') == '[["zoo:account","view"]]' ]]; }
eventually "he does" 60 reads
later() { [[ $(upstream -n "$loot" get configmap later -o 'jsonpath={.metadata.labels.zoo\.kubezoo\.io/template-instance}') == later ]]; }
eventually "and has it" 60 later
expect "what he could do before he can no more" no "$(upstream auth can-i create secrets -n "$loot" --as "$mallory")"
expect "the account says so" True "$(upstream get account.config.kiosk.sh "$mallory" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')"
require "a role that is not there" upstream patch account.config.kiosk.sh "$mallory" --type merge -p '{"spec":{"space":{"clusterRole":"'"$run-nowhere"'"}}}'
gone() { [[ $(upstream get account.config.kiosk.sh "$mallory" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}') == RoleNotFound ]]; }
eventually "is told by the account" 60 gone
expect_match "and by doctor" "^warning +accounts: 1 account gives its members a ClusterRole that upstream does not have.*$mallory \($run-nowhere\)" "$(ctl doctor)"
