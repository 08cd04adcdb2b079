#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate
# timeout: 300
# What no cluster takes for a name, a group or a label's value, a tenant is refused in upstream's own words, with the fields:
# each request goes to the upstream itself and as the tenant, and the two answers are the same.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant a
unpack "$a"
unpack direct "$ZOO_E2E_KUBECONFIG"

ask() { # NAME METHOD PATH TYPE BODY: the answer, sorted, and the status
  local code
  code=$(curl -s --max-time 20 --cacert "$TMPDIR/$1.ca" --cert "$TMPDIR/$1.crt" --key "$TMPDIR/$1.key" -w '%{http_code}' \
    -X "$2" -H "Content-Type: $4" --data-binary "$5" -o "$TMPDIR/$1.answer" "$(<"$TMPDIR/$1.server")$3")
  jq -S . "$TMPDIR/$1.answer"
  echo "$code"
}
# alike WHAT PATH BODY: the answer to a POST is the same. None of these is ever stored.
alike() {
  local direct tenant
  direct=$(ask direct POST "$2" application/json "$3")
  tenant=$(ask "$a" POST "$2" application/json "$3")
  expect "$1" "$direct" "$tenant"
  expect_match "which is a refusal" '^4[0-9][0-9]$' "$direct"
}
# alike_applied WHAT PATH BODY: the same of an apply to PATH.
alike_applied() {
  local direct tenant
  direct=$(ask direct PATCH "$2?fieldManager=t" application/apply-patch+yaml "$3")
  tenant=$(ask "$a" PATCH "$2?fieldManager=t" application/apply-patch+yaml "$3")
  expect "$1, applied" "$direct" "$tenant"
  expect_match "which is a refusal" '^4[0-9][0-9]$' "$direct"
}
# both WHAT PATH NAME BODY: to the collection and to the object.
both() {
  alike "$1" "$2" "$4"
  alike_applied "$1" "$2/$3" "$4"
}
meta() { printf '"metadata":{"name":"%s"%s}' "$1" "${2:-}"; }

long=$(printf 'a%.0s' {1..64})
space() { printf '{"apiVersion":"v1","kind":"Namespace",%s}' "$(meta "$@")"; }
for name in Team -x x- a.b a_b "$long"; do both "namespace $name" /api/v1/namespaces "$name" "$(space "$name")"; done
for label in enforce=bogus enforce-version=v2 enforce-version=v1.01 audit=none; do
  both "pod security $label" /api/v1/namespaces labelled "$(space labelled ',"labels":{"pod-security.kubernetes.io/'"${label%=*}"'":"'"${label#*=}"'"}')"
done
both "a label's value" /api/v1/namespaces labelled "$(space labelled ',"labels":{"a":"b c"}')"
alike "no name" /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{}}'

class() { printf '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",%s,"value":%s}' "$(meta "$1")" "${2:-1}"; }
for name in Team -x system-own; do both "priority class $name" /apis/scheduling.k8s.io/v1/priorityclasses "$name" "$(class "$name")"; done
both "a priority that is the system's" /apis/scheduling.k8s.io/v1/priorityclasses high "$(class high 1000000001)"
for name in -x X; do
  both "storage class $name" /apis/storage.k8s.io/v1/storageclasses "$name" '{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",'"$(meta "$name")"',"provisioner":"kubernetes.io/no-provisioner"}'
  both "webhooks $name" /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations "$name" '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",'"$(meta "$name")"'}'
done
alike "a cluster role" /apis/rbac.authorization.k8s.io/v1/clusterroles '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",'"$(meta a/b)"'}'
alike "a cluster role of dots" /apis/rbac.authorization.k8s.io/v1/clusterroles '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",'"$(meta ..)"'}'

definition() { # NAME GROUP [PLURAL]
  printf '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",%s,"spec":{"group":"%s","scope":"Namespaced","names":{"plural":"%s","singular":"thing","kind":"Thing","listKind":"ThingList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}' \
    "$(meta "$1")" "$2" "${3:-things}"
}
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
for group in nodots apps batch -x.example.com X.example.com x_y.example.com; do both "group $group" $crds "things.$group" "$(definition "things.$group" "$group")"; done
both "a name of another plural" $crds others.x.example.com "$(definition others.x.example.com x.example.com)"
both "a plural" $crds Things.x.example.com "$(definition Things.x.example.com x.example.com Things)"
alike "a name without a dot" $crds "$(definition things x.example.com)"
alike "no group" $crds "$(definition things. '')"

# Names of namespaces where they are values.
policy() {
  printf '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",%s,"spec":{"podSelector":{},"ingress":[{"from":[{"namespaceSelector":{%s}}]}]}}' "$(meta n)" "$1"
}
policies=/apis/networking.k8s.io/v1/namespaces/default/networkpolicies
for value in "a b" -x "$long"; do
  both "a namespace selected by '$value'" $policies n "$(policy '"matchLabels":{"kubernetes.io/metadata.name":"'"$value"'"}')"
  both "and by an expression" $policies n "$(policy '"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["'"$value"'"]}]')"
done
settings() { printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"%s"}}' "$1"; }
alike "an object of another namespace" /api/v1/namespaces/default/configmaps "$(settings Team)"
both "in a namespace that cannot be" /api/v1/namespaces/Team/configmaps c "$(settings Team)"
