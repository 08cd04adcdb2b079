# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: names, labels and selectors in other cases and alphabets: full width, Cyrillic, combining marks, marks of direction, NUL.
# Without the fence: one reader folds what the other compares byte for byte.
# Rule: names are compared by bytes, and what is no name upstream is refused by upstream; nothing is folded.
upper=${victim^^}
for name in "$upper-team" "${victim^}-team" $'\u200b'"$victim-team" "$victim"$'\u2010'"team" "$victim"$'\uff0d'"team" $'\ufeff'"team" "te"$'\u0430'"m" "tea"$'\u006d\u0301' $'\u202e'"maet" "team"$'\u0000' "team%00" "team%E2%80%8B" "tEam" "TEAM" "team."; do
  encoded=$(jq -rn --arg x "$name" '$x | @uri' | sed 's/%25/%/g')
  try GET "/api/v1/namespaces/$encoded/secrets/$vault"
  [[ $name == team ]] || refused "namespace ${encoded:0:40}" '4..'
  try POST /api/v1/namespaces json "$(jq -cn --arg x "$name" '{metadata: {name: $x}}')"
  if [[ $code == 2* ]]; then expect "it is below the prefix" "$evil-$name" "$(stored "/api/v1/namespaces/$evil-$name" .metadata.name)"; fi
done
for label in TENANT.kubezoo.io/id tenant.KUBEZOO.io/id tenant.kubezoo.io/ID "tenant.kubezoo.io/id " "tenant.kubezoo.io%2Fid" tenant.kubezoo.io/id/ ./tenant.kubezoo.io/id; do
  try PATCH /api/v1/namespaces/team merge '{"metadata":{"labels":{"'"$label"'":"'"$victim"'"}}}'
  expect "$code: label $label changes nothing" "$evil" "$(stored "/api/v1/namespaces/$evil-team" '.metadata.labels["tenant.kubezoo.io/id"]')"
done
for key in Metadata METADATA metaData "metadata\\u0000" "\\u006detadata\\u0020"; do
  try POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-case-'"$RANDOM"'"},"'"$key"'":{"namespace":"'"$victim-team"'","name":"'"$vault"'"}}'
  expect_no_match "$code: $key is not metadata" "\"namespace\": ?\"$victim" "$(stored "/api/v1/namespaces/$evil-team/configmaps" '[.items[] | .metadata | {namespace, name}] | tostring')"
done
for key in Namespace NAMESPACE nameSpace "n\\u0061mespace" "namespace\\u0000"; do
  try POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-ns-'"$RANDOM"'","'"$key"'":"'"$victim-team"'"}}'
  expect "$code: $key puts nothing elsewhere" 0 "$(stored "/api/v1/namespaces/$victim-team/configmaps" '[.items[].metadata.name | select(startswith("evil"))] | length')"
done
direct POST "/api/v1/namespaces/$victim-team/configmaps?dryRun=All" json '{"metadata":{"name":"evil-direct"}}'
accepted "upstream would let its administrator"
