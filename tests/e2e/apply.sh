#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate
# timeout: 300
# Who owns which field: the same writes to the upstream itself and by a tenant leave the same managedFields and tell of the
# same conflicts. What zood adds to an object (labels, selectors, match conditions) is nobody's, and stays there.
. "$(dirname "$0")/lib.sh"

start_zood
new_tenant a --webhooks direct # relay_forms.sh has the other form
name=own-$a # on both sides
on() { # SIDE ARGUMENTS...: kubectl there
  if [[ $1 == direct ]]; then upstream "${@:2}"; else as "$a" "${@:2}"; fi
}
at_end() { upstream delete namespace,validatingwebhookconfiguration,mutatingwebhookconfiguration,validatingadmissionpolicy,crd --ignore-not-found --wait=false "$name" "things.$name.example.com" >/dev/null 2>&1; }

# fields SIDE OBJECT: its managedFields without times.
fields() {
  on "$1" get "$2" -o json --show-managed-fields |
    jq -S '[.metadata.managedFields[]? | {manager, operation, subresource, fieldsV1}] | sort_by(.manager, .operation, .subresource)'
}
# same WHAT OBJECT ARGUMENTS...: kubectl ends alike on both sides, with the same refusal, and leaves the same fields. Its input
# is $manifest. Warnings are the tenant's own affair.
same() {
  local what=$1 object=$2 side status
  for side in direct tenant; do
    on "$side" "${@:3}" -o name <<<"$manifest" >"$TMPDIR/$side.said" 2>&1
    status=$?
    { grep -v '^Warning:' "$TMPDIR/$side.said" | sed -E 's/[0-9]{4}-[0-9-]+T[0-9:]+Z/TIME/g'; echo "status $status"; fields "$side" "$object"; } >"$TMPDIR/$side.same"
  done
  expect "$what" "$(<"$TMPDIR/direct.same")" "$(<"$TMPDIR/tenant.same")"
}
applied() { same "$1" "$2" apply --server-side --field-manager "$3" "${@:4}" -f -; }

# ---- a namespace: the tenant's label and the level of pod security ---------------------------------------------------

space() { manifest='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$name"'"'"${1:+,\"labels\":{$1\}}"'}}'; }
level() { space '"pod-security.kubernetes.io/enforce":"'"$1"'"'; }
object=namespace/$name
space ''
same "a namespace is created" "$object" create -f -
level restricted
applied "another manager sets a level that nobody has set" "$object" one
space ''
applied "one that names no level takes none" "$object" two
level privileged
applied "what a manager has set is its own" "$object" two
expect_match "and the conflict is told" 'conflict with "one": .metadata.labels.pod-security.kubernetes.io/enforce' "$(<"$TMPDIR/tenant.said")"
applied "unless it is taken" "$object" two --force-conflicts
level baseline
applied "of what is not enforced there is a conflict, too" "$object" one
expect_match "in the tenant's words" 'conflict with "two": .metadata.labels.pod-security.kubernetes.io/enforce' "$(<"$TMPDIR/tenant.said")"
space ''
applied "who does not name its level any more gives it up" "$object" two
same "a label by a patch" "$object" label namespace "$name" a=b
same "a level by a patch" "$object" label namespace "$name" --overwrite pod-security.kubernetes.io/enforce=baseline
for side in direct tenant; do on $side get "$object" -o json --show-managed-fields >"$TMPDIR/$side.json"; done
for side in direct tenant; do check "$side: what was read is put back" on $side replace -f "$TMPDIR/$side.json"; done
expect "with its fields" "$(fields direct "$object")" "$(fields tenant "$object")"
level restricted
applied "one more level" "$object" three
expect "which upstream enforces, with the tenant's label" "baseline $a" \
  "$(upstream get "namespace/$a-$name" -o json | jq -r '.metadata.labels | .["pod-security.kubernetes.io/enforce"] + " " + .["tenant.kubezoo.io/id"]')"
object=namespace/$name-applied
manifest='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"'"$name-applied"'"}}'
applied "a namespace is applied" "$object" one
for side in direct tenant; do check "$side: it goes" on $side delete "$object" --wait=false; done

# ---- webhooks: selectors and match conditions ------------------------------------------------------------------------

hook() { # MEMBERS [NAME]: one webhook, of which nothing happens
  printf '{"name":"%s.example.com"%s}' "${2:-a}" "${1:+,$1}"
}
whole='"sideEffects":"None","failurePolicy":"Ignore","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"default","name":"none"}},"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"],"scope":"Namespaced"}]'
selector='"namespaceSelector":{"matchLabels":{"team":"a"}}'
bundle='"clientConfig":{"caBundle":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="}'
hooks() { # KIND HOOKS
  manifest='{"apiVersion":"admissionregistration.k8s.io/v1","kind":"'"$1"'","metadata":{"name":"'"$name"'"},"webhooks":['"$2"']}'
}
stored() { upstream get "$1/$a-$name" -o json | jq -c "$2"; }
for kind in ValidatingWebhookConfiguration MutatingWebhookConfiguration; do
  object=${kind,,}/$name
  hooks $kind "$(hook "$whole,$selector"),$(hook "$whole" b)"
  applied "$kind is applied" "$object" helm
  hooks $kind "$(hook "$bundle")"
  applied "a manager that names a caBundle alone takes nothing" "$object" injector
  expect "the tenant's selector is as it was" '{"team":"a"}' "$(as "$a" get "$object" -o json | jq -c '.webhooks[0].namespaceSelector.matchLabels')"
  expect "and the fence stands upstream" "[\"$a\",\"$a\"]" "$(stored "$kind" '[.webhooks[].namespaceSelector.matchLabels["tenant.kubezoo.io/id"]]')"
  applied "nor with force" "$object" injector --force-conflicts
  hooks $kind "$(hook "$whole" c)"
  applied "a webhook of one's own is added" "$object" injector
  expect "within the fence" "[\"$a\",\"$a\",\"$a\"]" "$(stored "$kind" '[.webhooks[].namespaceSelector.matchLabels["tenant.kubezoo.io/id"]]')"
  hooks $kind "$(hook "$selector" b)"
  applied "a selector that nobody has set is set" "$object" injector
  hooks $kind "$(hook "" b)"
  applied "and given up" "$object" injector
  hooks $kind "$(hook '"namespaceSelector":{"matchLabels":{"team":"b"}}')"
  applied "that of another is not taken" "$object" injector
  expect_match "which is told" 'conflict with "helm": .webhooks\[name="a.example.com"\].namespaceSelector' "$(<"$TMPDIR/tenant.said")"
  manifest=
  same "a strategic patch of a caBundle" "$object" patch "$object" --type strategic -p '{"webhooks":[{"name":"a.example.com","clientConfig":{"caBundle":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmE="}}]}'
  same "a JSON patch of it" "$object" patch "$object" --type json -p '[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="}]'
  same "a merge patch beside them" "$object" patch "$object" --type merge -p '{"metadata":{"labels":{"a":"b"}}}'
  hooks $kind "$(hook "$whole"),$(hook "$whole" b)"
  applied "who had set a selector gives it up" "$object" helm --force-conflicts
  expect "to nothing but the fence" "{\"tenant.kubezoo.io/id\":\"$a\"}" "$(stored "$kind" '.webhooks[] | select(.name == "a.example.com").namespaceSelector.matchLabels')"
  for side in direct tenant; do check "$side: it goes" on $side delete "$object"; done
  same "and is created" "$object" create -f -
  hooks $kind "$(hook "$selector")"
  applied "who creates owns the defaults" "$object" injector
  for side in direct tenant; do on $side delete "$object" >/dev/null; done
done

# ---- policies and definitions ----------------------------------------------------------------------------------------

object=validatingadmissionpolicy/$name
policy() { manifest='{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"'"$name"'"},"spec":{'"$1"'}}'; }
policy '"failurePolicy":"Ignore","validations":[{"expression":"true"}],"matchConstraints":{'"$selector"',"resourceRules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"],"scope":"Namespaced"}]}'
applied "a policy is applied" "$object" helm
policy '"failurePolicy":"Fail"'
applied "a member of it by another" "$object" other --force-conflicts
expect "its selector stays" "{\"team\":\"a\",\"tenant.kubezoo.io/id\":\"$a\"}" "$(stored validatingadmissionpolicy '.spec.matchConstraints.namespaceSelector.matchLabels')"
for side in direct tenant; do on $side delete "$object" >/dev/null; done

object=customresourcedefinition/things.$name.example.com
manifest=$(crd_manifest "$name.example.com" things Thing Namespaced 'versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]')
# Upstream's own entry comes when it has taken the names.
for side in direct tenant; do check "$side: a definition is applied" on $side apply --server-side --field-manager one -f - <<<"$manifest"; done
for side in direct tenant; do check "$side: it is established" established "${object#*/}" on $side; done
expect "its fields" "$(fields direct "$object" | jq 'map(select(.subresource == null))')" "$(fields tenant "$object" | jq 'map(select(.subresource == null))')"
manifest='{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"'"${object#*/}"'","labels":{"a":"b"}}}'
applied "a label of it by another" "$object" two
expect "upstream has the tenant's" "$a" "$(upstream get "crd/things.$a-$name.example.com" -o jsonpath='{.metadata.labels.tenant\.kubezoo\.io/id}')"
for side in direct tenant; do check "$side: it goes" on $side delete "$object" --wait=false; done
