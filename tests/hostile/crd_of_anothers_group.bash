# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: definitions in the victim's group, in upstream's own groups, with names that do not fit, and conversion by a foreign webhook.
# Without the fence: a second definition of a group shadows the first; a conversion webhook reads and rewrites all objects.
# Rule: the group always gets the attacker's prefix; a conversion webhook's service is the tenant's own; URLs are refused.
definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
definition() { # GROUP NAME MORE
  printf '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s"},"spec":{"group":"%s","scope":"Cluster","names":{"plural":"evils","singular":"evil","kind":"Evil"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]%s}}' "$2" "$1" "$3"
}
for group in "$victim-vaults.example.com" apps rbac.authorization.k8s.io tenant.kubezoo.io zoo.kubezoo.io evil.k8s.io "$victim-" "../$victim-vaults.example.com" ""; do
  try POST $definitions json "$(definition "$group" "evils.$group" '')"
  if [[ $code == 2* ]]; then
    expect "group $group is the attacker's upstream" "$evil-$group" "$(stored "$definitions/evils.$evil-$group" .spec.group)"
  fi
  refused "group $group" '4..|2..'
done
try POST $definitions json "$(definition evil.example.com "evils.$victim-vaults.example.com" '')"
refused "a name of another group"
try POST $definitions json "$(definition "$victim-vaults.example.com" "safes.$victim-vaults.example.com" '')"
refused "the victim's own name, with names that differ" '4..'
try GET "$definitions/safes.$victim-vaults.example.com"
refused "the victim's is not read" 404
try PATCH "$definitions/safes.vaults.example.com" merge '{"spec":{"names":{"categories":["all"]}}}'
refused "nor patched" 404
try DELETE "$definitions/safes.vaults.example.com"
refused "nor deleted" 404
hook='"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":'
try POST $definitions json "$(definition hooked.example.com evils.hooked.example.com ",$hook"'{"url":"https://127.0.0.1:1/"}}}')"
refused "a conversion by URL"
try POST $definitions json "$(definition hooked.example.com evils.hooked.example.com ",$hook"'{"service":{"namespace":"'"$victim-team"'","name":"'"$vault"'"}}}}')"
expect_no_match "a conversion by the victim's Service" "^$victim" "$(stored "$definitions/evils.$evil-hooked.example.com" '.spec.conversion.webhook.clientConfig.service.namespace // "none"')"
made "a definition" POST $definitions json "$(definition own.example.com evils.own.example.com '')"
fence() { stored "$definitions/evils.$evil-own.example.com" '.spec.group + " " + (.spec.conversion.webhook.clientConfig.service.namespace // .spec.conversion.webhook.clientConfig.url // "none" | if startswith("'"$evil"'-") then "none" else . end)'; }
after_each $definitions/evils.own.example.com "$evil-own.example.com none" <<P
merge {"spec":{"group":"$victim-vaults.example.com"}}
patch [{"op":"replace","path":"/spec/group","value":"apps"}]
patch [{"op":"add","path":"/metadata/annotations","value":{"g":"$victim-vaults.example.com"}},{"op":"copy","from":"/metadata/annotations/g","path":"/spec/group"}]
merge {"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}}}
patch [{"op":"add","path":"/spec/conversion","value":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"$victim-team","name":"$vault"}}}}}]
P
# A group of that spelling is the attacker's own by now; the victim's kinds are not in it.
for path in "/apis/$victim-vaults.example.com/v1/safes" "/apis/$victim-vaults.example.com/v1/namespaces/team/safes/$vault" "/apis/vaults.example.com/v1/safes" /openapi/v3/apis/vaults.example.com/v1; do
  try GET "$path"
  refused "$path is not served"
done
for path in "/apis/$victim-vaults.example.com" "/apis/$victim-vaults.example.com/v1" "/openapi/v3/apis/$victim-vaults.example.com/v1"; do
  try GET "$path"
  expect_no_match "$path does not speak of them" "safes|Safe|$canary" "$answer"
done
direct GET "/apis/$victim-vaults.example.com/v1/safes"
expect_match "upstream would show its administrator" "$canary" "$answer"
try DELETE $definitions
