# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: definitions with the names of upstream's kinds: pods, secrets, namespaces, categories and short names of everybody's;
# large schemas; a group that the platform shares.
# Without the fence: kubectl get secrets of the victim would ask for the attacker's kind.
# Rule: the group is the attacker's own; discovery is each tenant's own; a shared group is the platform's.
definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
definition() { # GROUP PLURAL KIND NAMES SCHEMA
  printf '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.%s"},"spec":{"group":"%s","scope":"Namespaced","names":{"plural":"%s","singular":"%s","kind":"%s"%s},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"%s}}}]}}' "$2" "$1" "$1" "$2" "${3,,}" "$3" "${4:-}" "${5:-}"
}
for kind in secrets:Secret pods:Pod namespaces:Namespace clusterroles:ClusterRole nodes:Node; do
  made "a kind ${kind#*:}" POST $definitions json "$(definition shadow.example.com "${kind%:*}" "${kind#*:}" ',"shortNames":["po","ns","secret"],"categories":["all"]')"
done
check "the victim's secrets are its own" grep -q "$vault" <(as "$victim" -n team get secrets -o name 2>&1)
expect_no_match "its discovery knows nothing of them" 'shadow' "$(as "$victim" api-resources 2>&1)"
schema=$(python3 -c 'import json; print("," + json.dumps({"properties": {"p%d" % n: {"type": "string", "description": "x" * 400} for n in range(2000)}})[1:-1])')
printf %s "$(definition large.example.com larges Large '' "$schema")" >"$TMPDIR/large"
curl_more=(-H 'Content-Type: application/json' --data-binary "@$TMPDIR/large")
try POST $definitions
expect_match "a schema of a megabyte: $code" '^(201|4..)$' "$code"
deep=$(python3 -c 'print(",\"properties\":{\"a\":" + "{\"type\":\"object\",\"properties\":{\"a\":" * 50 + "{\"type\":\"string\"}" + "}}" * 50 + "}")')
try POST $definitions json "$(definition deep.example.com deeps Deep '' "$deep")"
expect_match "a deep one: $code" '^(201|4..)$' "$code"
for path in /openapi/v2 /openapi/v3/apis/deep.example.com/v1 /openapi/v3/apis/large.example.com/v1 /apis; do
  try GET "$path"
  expect_match "$path is answered: $code" '^(200|404)$' "$code"
done
send "$victim" "https://$zood_address" GET /openapi/v2
expect "the victim's document" 200 "$code"
expect_no_match "has none of it" 'shadow.example|deep.example|large.example' "$answer"
for group in apiextensions.k8s.io tenant.kubezoo.io metrics.k8s.io snapshot.storage.k8s.io gateway.networking.k8s.io; do
  try POST $definitions json "$(definition $group evils Evil '')"
  if [[ $code == 2* ]]; then
    expect "$group is the attacker's own upstream" "$evil-$group" "$(stored "$definitions/evils.$evil-$group" .spec.group)"
  else
    refused "group $group"
  fi
done
would "define everybody's secrets anew" POST $definitions json "$(definition shadow.example.com secrets Secret ',"shortNames":["po","ns"],"categories":["all"]')"
told() { [[ "$(stored "/apis/$evil-shadow.example.com/v1" '.resources[] | .name + " " + .kind')" == *"secrets Secret"* ]]; }
eventually "upstream's own discovery tells everybody of the attacker's" 30 told
served() { [[ "$(stored "/apis/$evil-shadow.example.com/v1/namespaces/$victim-team/secrets" .kind)" == SecretList ]]; }
eventually "and serves them in the victim's namespace" 30 served
