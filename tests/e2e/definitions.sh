#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 1200
# What a definition of custom resources can say beyond its names: conversion between versions by a webhook, unknown fields,
# defaults and validation, fields to select by; and definitions that the platform shares.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/upstream/go-env.sh
. "$zoo_root/tests/upstream/go-env.sh"

hook=$(go_program "$zoo_root/tests/e2e/admission") || { failed "build the webhook" <<<"see above"; exit 1; }
shared=shared-$(random_id).example.org
start_zood_with "shared: {groups: [\"$shared\", snapshot.storage.k8s.io]}"
# Their webhook runs on this machine and in no pod.
new_tenant first --webhooks direct
new_tenant second --webhooks direct
for id in "$first" "$second"; do require "a namespace of $id" as "$id" create namespace team; done
"$hook" --out "$TMPDIR/hook.json" --log "$TMPDIR/calls" --names "hook.$first-team.svc" >"$TMPDIR/hook.log" 2>&1 &
hook_pid=$!
at_end() {
  kill "$hook_pid" 2>/dev/null
  upstream delete crd "gadgets.$shared" "rooms.$shared" --ignore-not-found --wait=false >/dev/null 2>&1
}

open='{openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}'
raw() { as "$first" get --raw "$1" 2>&1; }

# ---- conversion
eventually "the webhook listens" 30 test -s "$TMPDIR/hook.json"
ca=$(jq -r .ca "$TMPDIR/hook.json") port=$(jq -r .port "$TMPDIR/hook.json")
require "a Service in front of it" as "$first" -n team create service externalname hook --external-name localhost --tcp "$port:$port"
group=things.example.com
versions="versions: [{name: v1, served: true, storage: true, schema: $open}, {name: v2, served: true, storage: false, schema: $open}]"
by_service="conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: team, name: hook, port: $port, path: /convert}, caBundle: $ca}}}"
check_fails "a conversion webhook is the platform's to allow" 'rule guards.conversion_webhooks' as "$first" apply -f - <<<"$(crd_manifest $group things Thing Namespaced "$versions"$'\n  '"$by_service")"
allow_conversions "$first"
converted() { as "$first" apply -f - <<<"$(crd_manifest $group things Thing Namespaced "$versions"$'\n  '"$by_service")"; }
eventually "a definition with a conversion webhook" 130 converted # others who share the upstream write zood's ConfigMap, too
require "is established" established "things.$group" as "$first"
expect_match "with a warning of the groups that its webhook sees" 'Warning: .*apiVersion begins with .*rule review-groups' "$(as "$first" label crd "things.$group" a=b 2>&1)"
written() { as "$first" -n team apply -f - <<<"{apiVersion: $group/v1, kind: Thing, metadata: {name: t}, spec: {size: 7}}"; }
eventually "write version 1" 30 written
expect "read version 2" "$group/v2 7" "$(raw "/apis/$group/v2/namespaces/team/things/t" | jq -r '.apiVersion + " " + (.spec.length | tostring)')"
check "write version 2" as "$first" -n team apply -f - <<<"{apiVersion: $group/v2, kind: Thing, metadata: {name: u}, spec: {length: 8}}"
expect "read version 1" 8 "$(raw "/apis/$group/v1/namespaces/team/things/u" | jq -r .spec.size)"
expect "a list across namespaces is converted" "v2 7,v2 8" "$(raw "/apis/$group/v2/things" | jq -r '[.items[] | (.apiVersion | sub(".*/"; "")) + " " + (.spec.length | tostring)] | sort | join(",")')"
expect "a patch in the other version" 9 "$(as "$first" -n team patch "things.v2.$group" t --type merge -p '{"spec":{"length":9}}' -o jsonpath='{.spec.length}' 2>&1)"
expect "is stored in the first" 9 "$(raw "/apis/$group/v1/namespaces/team/things/t" | jq -r .spec.size)"
"$KUBECTL" --kubeconfig "$TMPDIR/$first.kubeconfig" get --raw "/apis/$group/v2/namespaces/team/things?watch=1&timeoutSeconds=60" >"$TMPDIR/watch" 2>&1 &
watch_pid=$!
eventually "a watch is converted" 30 grep -q '"length":9' "$TMPDIR/watch"
kill $watch_pid 2>/dev/null
wait $watch_pid 2>/dev/null
expect_no_match "nothing of upstream's names" "$first" "$(cat "$TMPDIR/watch"; raw "/apis/$group/v2/things")"
expect "what is read is what was written" "team hook" "$(as "$first" get crd "things.$group" -o 'jsonpath={.spec.conversion.webhook.clientConfig.service.namespace} {.spec.conversion.webhook.clientConfig.service.name}')"
check_fails "by a URL: refused" 'clientConfig.url' as "$first" patch crd "things.$group" --type merge -p '{"spec":{"conversion":{"webhook":{"clientConfig":{"service":null,"url":"https://localhost:'"$port"'/convert"}}}}}'

# ---- schemas
group=shapes.example.com
schema='{openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [color], properties: {
    color: {type: string, enum: [red, blue]}, size: {type: integer, default: 3, maximum: 10}, loose: {type: object, x-kubernetes-preserve-unknown-fields: true}},
    x-kubernetes-validations: [{rule: "self.color != '"'red'"' || self.size < 5", message: "red ones are small"}]}}}}'
check "a definition with a schema" as "$first" apply -f - <<<"$(crd_manifest $group shapes Shape Namespaced "versions: [{name: v1, served: true, storage: true, selectableFields: [{jsonPath: .spec.color}, {jsonPath: .spec.size}], schema: $schema}]")"
require "is established" established "shapes.$group" as "$first"
shape() { echo "{apiVersion: $group/v1, kind: Shape, metadata: {name: $1, namespace: ${3:-team}}, spec: {$2}}"; }
shaped() { as "$first" create -f - <<<"$(shape a 'color: red, loose: {any: {thing: [1]}}')"; }
eventually "create one" 30 shaped
expect "its default, and what the schema does not know" '3 {"any":{"thing":[1]}}' "$(as "$first" -n team get shape a -o jsonpath='{.spec.size} {.spec.loose}')"
check_fails "an enumeration" 'spec.color: Unsupported value: "green"' as "$first" create -f - <<<"$(shape b 'color: green')"
check_fails "a rule in CEL" 'red ones are small' as "$first" create -f - <<<"$(shape b 'color: red, size: 9')"
check_fails "an unknown field, strictly" 'strict decoding error: unknown field "spec.colour"' as "$first" create --validate=strict -f - <<<"$(shape b 'color: blue, colour: blue')"
expect_match "with a warning" 'Warning: unknown field "spec.colour"' "$(as "$first" create --validate=warn -f - <<<"$(shape b 'color: blue, colour: blue')" 2>&1)"
expect "it is pruned" "" "$(as "$first" -n team get shape b -o jsonpath='{.spec.colour}')"
check "a member twice" as "$first" create --raw "/apis/$group/v1/namespaces/team/shapes?fieldValidation=Warn" -f <(echo '{"apiVersion":"'$group'/v1","kind":"Shape","metadata":{"name":"twice"},"spec":{"color":"red","color":"blue"}}')
expect "the last one counts" blue "$(as "$first" -n team get shape twice -o jsonpath='{.spec.color}')"
check "one more elsewhere" as "$first" create -f - <<<"$(shape a 'color: blue, size: 7' default)"
expect "select by a field, in a namespace" "shape.$group/b" "$(as "$first" -n team get shapes --field-selector spec.color=blue,metadata.name!=twice -o name)"
expect "in all of them" "default/a,team/b" "$(as "$first" get shapes -A --field-selector spec.color=blue,metadata.name!=twice -o json | jq -r '[.items[].metadata | .namespace + "/" + .name] | sort | join(",")')"
expect "by a number" "default/a" "$(as "$first" get shapes -A --field-selector spec.size=7 -o json | jq -r '.items[].metadata | .namespace + "/" + .name')"
check_fails "by what cannot be selected by" 'field label not supported: spec.loose' as "$first" get shapes -A --field-selector spec.loose=x
for path in "namespaces/team/shapes" shapes; do
  "$KUBECTL" --kubeconfig "$TMPDIR/$first.kubeconfig" get --raw "/apis/$group/v1/$path?watch=1&fieldSelector=spec.color%3Dred&timeoutSeconds=300" >"$TMPDIR/watch" 2>&1 &
  watch_pid=$!
  eventually "watch $path by a field" 30 grep -q '"ADDED".*"name":"a"' "$TMPDIR/watch"
  check "one becomes blue" as "$first" -n team patch shape a --type merge -p '{"spec":{"color":"blue"}}'
  eventually "and leaves" 30 grep -q '"DELETED".*"name":"a"' "$TMPDIR/watch"
  check "and comes back" as "$first" -n team patch shape a --type merge -p '{"spec":{"color":"red"}}'
  returned() { [[ $(grep -c '"ADDED".*"name":"a"' "$TMPDIR/watch") == 2 ]]; }
  eventually "as a new one" 30 returned
  expect_no_match "others are not seen" '"name":"b"' "$(<"$TMPDIR/watch")"
  kill $watch_pid 2>/dev/null
  wait $watch_pid 2>/dev/null
done
expect_match "all of them, by category" "shape.$group/a" "$(as "$first" -n team get all -o name 2>&1)"
expect_match "explain" '^ *blue$' "$(as "$first" explain shape.spec.color 2>&1)"

# ---- definitions that the platform shares
platform() {
  upstream apply -f - <<<"$(crd_manifest "$shared" gadgets Gadget Namespaced "versions: [{name: v1, served: true, storage: true, schema: $open}]")"
  upstream apply -f - <<<"$(crd_manifest "$shared" rooms Room Cluster "versions: [{name: v1, served: true, storage: true, schema: $open}]")"
  established "gadgets.$shared rooms.$shared" upstream
}
require "the platform shares two kinds" platform
room() { upstream create -f - <<<"{apiVersion: $shared/v1, kind: Room, metadata: {name: r}}"; }
eventually "a room of the platform's" 30 room
gadget="{apiVersion: $shared/v1, kind: Gadget, metadata: {name: g, namespace: team}, spec: {a: b}}"
for id in "$first" "$second"; do
  makes() { as "$id" create -f - <<<"$gadget"; }
  eventually "$id makes one" 30 makes
  expect "and sees its own" "team" "$(as "$id" get "gadgets.$shared" -A -o 'jsonpath={.items[*].metadata.namespace}')"
  expect "under the kind's own name" "$shared/v1" "$(as "$id" -n team get "gadgets.$shared" g -o 'jsonpath={.apiVersion}')"
  expect "in discovery" "$shared/v1" "$(as "$id" api-versions | grep -F "$shared")"
  in_v3() { grep -q Gadget <<<"$(as "$id" get --raw "/openapi/v3/apis/$shared/v1")"; }
  eventually "in OpenAPI" 60 in_v3
  in_v2() { grep -qF "\"/apis/$shared/v1/namespaces/{namespace}/gadgets\"" <<<"$(as "$id" get --raw /openapi/v2)"; }
  eventually "and in its version 2" 60 in_v2
  check "changes it" as "$id" -n team patch "gadgets.$shared" g --type merge -p '{"spec":{"a":"c"}}'
done
check "deletes it" as "$second" -n team delete "gadgets.$shared" g
expect "the other's stays" "gadget.$shared/g" "$(as "$first" -n team get "gadgets.$shared" -o name)"
expect "upstream has it by its name" "$first-team" "$(upstream get "gadgets.$shared" -A -o 'jsonpath={.items[*].metadata.namespace}')"
expect "the platform's cluster-scoped ones are seen" "room.$shared/r" "$(as "$first" get "rooms.$shared" -o name)"
check_fails "and read-only" 'read-only' as "$first" delete "rooms.$shared" r
check_fails "none can be made" 'read-only' as "$first" create -f - <<<"{apiVersion: $shared/v1, kind: Room, metadata: {name: s}}"
check "the definition is seen" as "$first" get crd "gadgets.$shared"
check_fails "it cannot be deleted" 'shared by the platform' as "$first" delete crd "gadgets.$shared"
check_fails "nor changed" 'shared by the platform' as "$first" patch crd "gadgets.$shared" --type merge -p '{"metadata":{"labels":{"x":"y"}}}'
check_fails "nor another one made beside it" 'no tenant may define' as "$first" create -f - <<<"$(crd_manifest "$shared" evils Evil Namespaced "versions: [{name: v1, served: true, storage: true, schema: $open}]")"
expect "deletecollection leaves it" "" "$(as "$first" delete crd --all 2>&1 | grep -F "$shared" | grep -v -e forbidden -e read-only)"
check "it is there" upstream get crd "gadgets.$shared"

# The group of snapshots, where the platform shares it, is the one that Kubernetes' source knows.
restored='{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: restored, namespace: team}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}}}'
check "a claim from a snapshot of the platform's kind" as "$first" create -f - <<<"$restored"
expect "keeps its source" "snapshot.storage.k8s.io VolumeSnapshot s" "$(as "$first" -n team get pvc restored -o 'jsonpath={.spec.dataSource.apiGroup} {.spec.dataSource.kind} {.spec.dataSource.name}')"
expect "upstream too" snapshot.storage.k8s.io "$(upstream -n "$first-team" get pvc restored -o 'jsonpath={.spec.dataSource.apiGroup}')"

for id in "$first" "$second"; do check "delete tenant $id" ctl tenant delete "$id" --wait; done
