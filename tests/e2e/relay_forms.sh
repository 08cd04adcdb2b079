#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants relay
# timeout: 900
# What a tenant writes of webhooks, and reads again, is the same whether upstream calls them itself or through the relay: the same
# writes directly and by a tenant leave the same clientConfig, the same managedFields and the same conflicts.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/functional/relay/pods.bash
. "$zoo_root/tests/functional/relay/pods.bash"

start_zood
new_tenant a
eventually "its webhooks are called through the relay" 60 relayed "$a"
require "a namespace" as "$a" create namespace team
name=forms-$a writers=() # on both sides
kinds=(validatingwebhookconfiguration mutatingwebhookconfiguration)
at_end() { upstream delete "$(IFS=,; echo "${kinds[*]}"),crd" --ignore-not-found --wait=false "$name" "things.$name.example.com" >/dev/null 2>&1; }
on() { # SIDE ARGUMENTS...: kubectl there
  if [[ $1 == direct ]]; then upstream "${@:2}"; else as "$a" "${@:2}"; fi
}
authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj "/CN=$1" -days 2 2>/dev/null | base64 -w0; }
one=$(authority one) two=$(authority two)

# shown SIDE OBJECT [PATH]: its clientConfig, and who owns what of it. Upstream writes the status of a definition a moment later.
shown() {
  on "$1" get "$2" -o json --show-managed-fields | jq -S --argjson path "${3:-[\"webhooks\",0]}" '[(getpath($path) | .clientConfig),
    ([.metadata.managedFields[] | select(.subresource == null) | {manager, operation, fields: ([.fieldsV1 | paths | map(tostring) | select(any(. == "f:clientConfig")) | join(" ")] | sort)}] | sort_by(.manager, .operation))]'
}
# same WHAT OBJECT ARGUMENTS...: kubectl ends alike on both sides and leaves the same. Its input is $manifest.
same() {
  local what=$1 object=$2 side status
  for side in direct tenant; do
    on "$side" "${@:3}" -o name <<<"$manifest" >"$TMPDIR/$side.said" 2>&1
    status=$?
    { grep -v '^Warning:' "$TMPDIR/$side.said"; echo "status $status"; shown "$side" "$object" "${shown_at:-}"; } >"$TMPDIR/$side.same"
  done
  expect "$what" "$(<"$TMPDIR/direct.same")" "$(<"$TMPDIR/tenant.same")"
}
called() { upstream get "$1" "$a-$name" -o 'jsonpath={.webhooks[0].clientConfig.url}'; }
manifest_of() { # KIND CLIENTCONFIG
  jq -nc --arg kind "$1" --arg name "$name" --argjson config "$2" '{apiVersion: "admissionregistration.k8s.io/v1", kind: $kind, metadata: {name: $name},
    webhooks: [{name: "hook.example.com", clientConfig: $config, admissionReviewVersions: ["v1"], sideEffects: "None", failurePolicy: "Ignore",
    namespaceSelector: {matchLabels: {none: "such"}}, rules: [{apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"], scope: "Namespaced"}]}]}'
}

for each in ValidatingWebhookConfiguration MutatingWebhookConfiguration; do
  object=${each,,}/$name
  service='{"name":"hook","namespace":"team","path":"/v"}'
  manifest=$(manifest_of "$each" '{"service":'"$service"',"caBundle":"'"$one"'"}')
  same "$each: created" "$object" create -f -
  expect "on both sides" "status 0" "$(grep '^status' "$TMPDIR/tenant.same")"
  expect_match "upstream calls the relay" "/w/$a/[vm][a-z]*/$a-$name/hook.example.com/" "$(called "${each,,}")"
  expect_no_match "its annotations are not shown" 'zoo.kubezoo.io' "$(as "$a" get "$object" -o yaml --show-managed-fields)"

  # ---- patches of one member, as controllers send them
  patch() { same "$each: $1" "$object" patch "$object" --type "$2" --field-manager patcher -p "$3"; }
  patch "an authority alone" strategic '{"webhooks":[{"name":"hook.example.com","clientConfig":{"caBundle":"'"$two"'"}}]}'
  patch "a port alone" strategic '{"webhooks":[{"name":"hook.example.com","clientConfig":{"service":{"port":8443}}}]}'
  patch "another member" strategic '{"webhooks":[{"name":"hook.example.com","timeoutSeconds":5}]}'
  patch "an authority by its place" json '[{"op":"test","path":"/webhooks/0/clientConfig/caBundle","value":"'"$two"'"},{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":"'"$one"'"}]'
  patch "a path by its place" json '[{"op":"replace","path":"/webhooks/0/clientConfig/service/path","value":"/w"}]'
  patch "no authority any more" json '[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]'
  patch "the whole list" merge "$(jq -c '{webhooks}' <<<"$manifest")"
  patch "no annotations" merge '{"metadata":{"annotations":null}}'
  patch "labels" merge '{"metadata":{"labels":{"a":"b"}}}'
  check_fails "$each: a test that fails" 'test of ./webhooks/0/clientConfig/caBundle. failed' as "$a" patch "$object" --type json -p '[{"op":"test","path":"/webhooks/0/clientConfig/caBundle","value":"x"},{"op":"remove","path":"/webhooks/0"}]'
  before=$(upstream get "${each,,}" "$a-$name" -o json)
  check "$each: a trial" as "$a" patch "$object" --dry-run=server -p '{"webhooks":[{"name":"hook.example.com","clientConfig":{"service":{"port":1}}}]}'
  expect "changes nothing" "$before" "$(upstream get "${each,,}" "$a-$name" -o json)"

  # ---- what was read is put back
  for side in direct tenant; do on $side get "$object" -o json --show-managed-fields >"$TMPDIR/$side.json"; done
  for side in direct tenant; do check "$side: what was read is put back" on $side replace -f "$TMPDIR/$side.json"; done
  expect "and is the same" "$(shown direct "$object")" "$(shown tenant "$object")"

  # ---- who writes at the same time
  for i in {1..8}; do
    as "$a" patch "$object" --type json -p '[{"op":"add","path":"/metadata/labels/w'"$i"'","value":"x"},{"op":"replace","path":"/webhooks/0/clientConfig/service/path","value":"/p'"$i"'"}]' >"$TMPDIR/writer.$i" 2>&1 &
    writers+=($!)
  done
  for i in "${writers[@]}"; do wait "$i" || failed "$each: one of eight writers" <<<"$(cat "$TMPDIR"/writer.*)"; done
  writers=()
  expect "$each: all of eight writers are heard" 8 "$(as "$a" get "$object" -o json | jq '[.metadata.labels | keys[] | select(startswith("w"))] | length')"
  as "$a" delete "$object" >/dev/null
  upstream delete "$object" >/dev/null

  # ---- cert-manager's way: a chart is applied without an authority, cainjector applies it alone
  applied() { same "$each: $1" "$object" apply --server-side --field-manager "$2" "${@:3}" -f -; }
  chart=$(manifest_of "$each" '{"service":'"$service"'}')
  injected() { jq -c --arg ca "$1" '.webhooks = [{name: "hook.example.com", clientConfig: {caBundle: $ca}}]' <<<"$chart"; }
  manifest=$chart
  applied "a chart is applied" helm
  manifest=$(injected "$one")
  applied "its authority is injected" cainjector --force-conflicts
  manifest=$chart
  applied "the chart is applied again" helm
  manifest=$(jq -c '.webhooks[0].clientConfig.service.path = "/v2"' <<<"$chart")
  applied "with another path" helm
  manifest=$(injected "$two")
  applied "another manager's authority is a conflict" other
  expect_match "told in the tenant's words" 'conflict with "cainjector": .webhooks\[name="hook.example.com"\].clientConfig.caBundle' "$(<"$TMPDIR/tenant.said")"
  applied "unless it is taken" other --force-conflicts
  manifest=$(jq -c '.webhooks[0] |= del(.clientConfig)' <<<"$(injected "$two")")
  applied "and is given up" other
  manifest=$(jq -c '.webhooks[0].clientConfig.service.port = 9443' <<<"$chart")
  same "$each: applied by a client" "$object" apply -f - --field-manager client
done

# ---- what upstream would refuse
check_fails "a Service without a name" 'service.name: Required value' as "$a" create -f - <<<"$(manifest_of ValidatingWebhookConfiguration '{"service":{"namespace":"team"}}' | sed "s/$name/other/")"
check_fails "a path that is none" "must start with a '/'" as "$a" create -f - <<<"$(manifest_of ValidatingWebhookConfiguration '{"service":{"name":"a","namespace":"team","path":"v"}}' | sed "s/$name/other/")"
check_fails "a name that upstream makes" 'rule webhook-names' as "$a" create -f - <<<"$(manifest_of ValidatingWebhookConfiguration '{"service":{"name":"a","namespace":"team"}}' | jq -c '.metadata = {generateName: "x-"}')"

# ---- a definition's conversion
allow_conversions "$a"
object=crd/things.$name.example.com shown_at='["spec","conversion","webhook"]'
definition() { # CONVERSION
  jq -nc --arg group "$name.example.com" --argjson conversion "$1" '{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: {name: ("things." + $group)}, spec: {group: $group, scope: "Namespaced",
    names: {plural: "things", kind: "Thing"}, conversion: $conversion, versions: [("v1", "v2") | {name: ., served: true, storage: (. == "v1"), schema: {openAPIV3Schema: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}'
}
manifest=$(definition '{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"caBundle":"'"$one"'","service":{"name":"hook","namespace":"team"}}}}')
same "a definition is created" "$object" create -f -
expect_match "and converted through the relay" "/w/$a/conversion/things.$a-$name.example.com/-/" "$(upstream get crd "things.$a-$name.example.com" -o 'jsonpath={.spec.conversion.webhook.clientConfig.url}')"
same "its authority is patched" "$object" patch "$object" --type merge --field-manager patcher -p '{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"'"$two"'"}}}}}'
same "its port is patched" "$object" patch "$object" --type json --field-manager patcher -p '[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/service/port","value":8443}]'
same "it is converted by nobody" "$object" patch "$object" --type merge --field-manager patcher -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'

# ---- upstream alone
past() { # URL
  manifest_of ValidatingWebhookConfiguration '{"url":"'"$1"'"}' | jq -c --arg name "$a-past" '.metadata.name = $name'
}
as_tenants_user() { upstream --as "zoo:$a" --as-group zoo:tenants --as-group system:authenticated create -f - <<<"$1"; }
check_fails "upstream takes no URL but the relay's" 'zoo-tenants-' as_tenants_user "$(past "https://192.0.2.1/w/$a/validating/x/y/z")"
