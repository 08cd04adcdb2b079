# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: a definition of two versions whose conversion webhook never answers, with an object, made and by patches.
# Without the fence: upstream's deletion of a namespace lists every kind in every version, so that nobody's namespace is deleted any
#   more; and the tenant itself cannot be deleted while its pods run.
# Rule: conversion webhooks are for the platform to allow (guards.conversion_webhooks); zood ends them before it deletes a tenant.
definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
open='{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}'
definition() { # GROUP CONVERSION
  printf '{"metadata":{"name":"holds.%s"},"spec":{"group":"%s","scope":"Namespaced","names":{"plural":"holds","kind":"Hold"},"versions":[{"name":"v1","served":true,"storage":true,"schema":%s},{"name":"v2","served":true,"storage":false,"schema":%s}]%s}}' "$1" "$1" "$open" "$open" "$2"
}
hook='"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"team","name":"nobody"}}}}'
try POST $definitions json "$(definition evil.example.com ",$hook")"
refused "a conversion by webhook" 403
expect_match "by the rule that names the way out" 'rule guards.conversion_webhooks' "$answer"
made "without one" POST $definitions json "$(definition evil.example.com '')"
fence() { stored "$definitions/holds.$evil-evil.example.com" '.spec.conversion.strategy'; }
after_each $definitions/holds.evil.example.com None <<P
merge {"spec":{$hook}}
patch [{"op":"add","path":"/spec/conversion","value":{$(sed 's/^"conversion":{//; s/}$//' <<<"$hook")}}]
patch [{"op":"replace","path":"/spec/conversion/strategy","value":"Webhook"}]
apply {"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",$(definition evil.example.com ",$hook" | sed 's/^{//')
P
curl_more=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
direct POST "$definitions?dryRun=All" json "$(definition "$evil-direct.example.com" ",$hook")"
refused "upstream alone refuses it" '403|422'
expect_match "by the policy" zoo-tenants-definitions "$answer"
would "take it" POST $definitions json "$(definition "$evil-direct.example.com" ",$hook")"
# Where it is allowed the tenant goes all the same, which the end of this script waits for.
made "an object" POST /apis/evil.example.com/v1/namespaces/team/holds json '{"apiVersion":"evil.example.com/v1","kind":"Hold","metadata":{"name":"evil","finalizers":["evil.example.com/hold"]}}'
may_fail="/apis/$evil-evil.example.com/"
terms '{"spec":{"guards":{"conversionWebhooks":true}}}'
allowed() {
  try PATCH $definitions/holds.evil.example.com merge "{\"spec\":{$hook}}"
  [[ $code == 200 ]]
}
eventually "the platform allows it" 130 allowed # zood says so in a ConfigMap that others write, too
unlisted() {
  try GET /apis/evil.example.com/v2/holds
  [[ $code != 200 ]]
}
eventually "nobody converts" 30 unlisted
