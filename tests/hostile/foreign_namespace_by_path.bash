# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the victim's objects by namespace in the path: under upstream's name, the bare prefix, traversals of it.
# Without the fence: upstream's path is the only thing that says whose an object is.
# Rule: the namespace of the path always gets the attacker's prefix; dots, slashes and percent signs are no names.
for namespace in "$victim-team" "$victim-" "$victim" kube-system "$evil-team" "zoo-system" "$evil-../$victim-team" "..%2f$victim-team" "%2e%2e/$victim-team" \
  "team%2f..%2f..%2fnamespaces%2f$victim-team" "team%252f..%252f$victim-team" "team;$victim-team" "team%00$victim-team" "team%0d%0a$victim-team" "$victim-team%3f" "team%20" "Team" \
  "team%EF%BC%8F..%EF%BC%8F$victim-team" "%74%65am%2F%2e%2e" "*" "-" "_all" "" "." "%2e" "team/" "team//" "team/.." "team/%2e%2e/$victim-team"; do
  try GET "/api/v1/namespaces/$namespace/secrets/$vault"
  refused "no secret of namespace $namespace"
  try GET "/api/v1/namespaces/$namespace/secrets"
  expect_no_match "nor a list" "$canary|$vault" "${answer//"$vault-"/}"
  try PUT "/api/v1/namespaces/$namespace/secrets/$vault" json '{"metadata":{"name":"'"$vault"'"},"stringData":{"word":"evil"}}'
  try DELETE "/api/v1/namespaces/$namespace/secrets/$vault"
  refused "nor a deletion"
done
direct GET "/api/v1/namespaces/$victim-team/secrets/$vault"
accepted "upstream would show its administrator"
