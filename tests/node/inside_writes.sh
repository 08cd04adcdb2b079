#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 400
# What zood adds to namespaces and running pods of a tenant survives what the tenant writes, and a pod can be applied twice.
. "$(dirname "$0")/lib.sh"

start_zood_for_pods
new_tenant id
given_access "$id"
folder=/var/run/secrets/kubernetes.io/serviceaccount
# It mentions what is changed on the way: its namespace in the environment and in a volume, its DNS policy, its token's volume.
settings='{"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "volumes": [{"name": "about", "downwardAPI": {"items": [
  {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}, {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}'
container='{"env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}, {"name": "API", "value": "$(KUBERNETES_SERVICE_HOST)"}],
  "volumeMounts": [{"name": "about", "mountPath": "/about"}]}'
manifest=$(pod app "$tools" "$settings" "$container" -- /agnhost pause)
check "a namespace" as "$id" create namespace shop
in_shop() { as "$id" -n shop "$@"; }
apply_it() { in_shop apply "$@" -f - <<<"$manifest"; }

# ---- applied again and again
check "a pod is applied" apply_it
require "runs" ready "$id" -n shop pod/app
expect "sees its namespace" "shop shop shop" "$(within "$id" shop app sh -c "echo \$POD_NAMESPACE \$(cat /about/namespace) \$(cat $folder/namespace)")"
expect "and its API server where it says so itself" "$(upstream -n zoo-system get service zood -o 'jsonpath={.spec.clusterIP}')" "$(within "$id" shop app sh -c 'echo $API')"
version() { in_shop get pod app -o 'jsonpath={.metadata.uid} {.metadata.generation}'; }
before=$(version)
check "applied once more" apply_it
expect "it is the one that it was" "$before" "$(version)"
check "on the server" apply_it --server-side --force-conflicts
check "there, by another manager" apply_it --server-side --force-conflicts --field-manager other
manifest=$(jq -c '.metadata.labels.color = "green"' <<<"$manifest")
check "with a label more" apply_it --server-side --force-conflicts
expect "which it has" green "$(in_shop get pod app -o 'jsonpath={.metadata.labels.color}')"

# ---- written in every way
sees() { within "$id" shop app sh -c "echo \$(cat /about/namespace) \$(cat $folder/namespace)"; }
has_color() { within "$id" shop app grep -qx "color=\"$1\"" /about/labels; }
# written WHAT COLOR COMMAND...: the volumes have been written anew when the color shows there.
written() {
  check "$1" "${@:3}"
  check "a label by which to see that volumes are written" in_shop label --overwrite pod app "color=$2"
  eventually "the label shows inside" 90 has_color "$2"
  expect "and with it the namespace" "shop shop" "$(sees)"
}
written "a pod is read and put" red put_pod "$id" shop app
written "its annotations are set to null" blue in_shop patch pod app --type merge -p '{"metadata": {"annotations": null}}'
check "it has one of its own" in_shop annotate pod app own=1
written "all of them are removed by a JSON Patch" gray in_shop patch pod app --type json -p '[{"op": "remove", "path": "/metadata/annotations"}]'
check "it has one again" in_shop annotate pod app own=1
written "they are replaced" white in_shop patch pod app --type json -p '[{"op": "replace", "path": "/metadata/annotations", "value": {"other": "2"}}]'
expect "by that one" '{"other":"2"}' "$(in_shop get pod app -o json | jq -c .metadata.annotations)"
written "its status is written" black in_shop patch pod app --subresource status --type merge \
  -p '{"metadata": {"annotations": null}, "status": {"conditions": [{"type": "example.com/seen", "status": "True"}]}}'

# ---- its namespace
put_namespace() { as "$id" get namespace shop -o json | as "$id" replace -f -; }
check "the namespace is read and put" put_namespace
check "its annotations are set to null" as "$id" patch namespace shop --type merge -p '{"metadata": {"annotations": null}}'
check "and its labels" as "$id" patch namespace shop --type merge -p '{"metadata": {"labels": null}}'
check "all ConfigMaps of it go" in_shop delete configmaps --all
check "and yet a new pod" in_shop create -f - <<<"$(jq -c '.metadata.name = "next"' <<<"$manifest")"
require "runs" ready "$id" -n shop pod/next
expect "as the first one did" shop "$(within "$id" shop next cat "$folder/namespace")"

# ---- copied into another namespace
copy() { in_shop get pod app -o json | jq -c '{apiVersion, kind, metadata: {name: .metadata.name, labels: .metadata.labels}, spec: (.spec | del(.nodeName))}'; }
check "another namespace" as "$id" create namespace other
check "the pod is copied there as it was read" as "$id" create -n other -f - <<<"$(copy)"
require "where it runs" ready "$id" -n other pod/app
expect "and knows where it is" "other other other" "$(within "$id" other app sh -c "echo \$POD_NAMESPACE \$(cat /about/namespace) \$(cat $folder/namespace)")"
expect_match "to DNS, too" '^search other\.svc\.cluster\.local\.' "$(within "$id" other app cat /etc/resolv.conf)"
expect_no_match "not where it was" 'shop' "$(within "$id" other app cat /etc/resolv.conf)"
