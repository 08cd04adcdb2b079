# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: continue tokens as upstream reads them, pointing at the victim's keys; the victim's own; one for another path.
# Without the fence: {"start":"<victim>-"} reads on at the victim's objects.
# Rule: tokens that leave zood are sealed over tenant, UID, path and selector; no other is taken.
forge() { printf %s "$1" | base64 -w0 | tr '+/' '-_' | tr -d '='; }
for text in '{"v":"meta.k8s.io/v1","rv":-1,"start":"'"$victim"'-"}' '{"v":"meta.k8s.io/v1","rv":-1,"start":"'"$victim"'-\u0000"}' '{"v":"meta.k8s.io/v1","rv":-1,"start":"'"$victim"'-team/\u0000"}' \
  '{"v":"meta.k8s.io/v1","rv":-1,"start":"../'"$victim"'-team/"}' '{"v":"meta.k8s.io/v1","rv":1,"start":"a"}'; do
  for path in /api/v1/secrets /api/v1/namespaces /apis/storage.k8s.io/v1/storageclasses /apis/apiextensions.k8s.io/v1/customresourcedefinitions; do
    try GET "$path?limit=5&continue=$(forge "$text")"
    refused "$path from ${text:30}" '400|410'
  done
  # In one namespace, and for what all share, upstream's own tokens are used: it looks for no key outside.
  for path in /api/v1/namespaces/team/secrets /api/v1/nodes; do
    try GET "$path?limit=5&continue=$(forge "$text")"
    expect_no_match "$path from ${text:30}" "$vault|$canary" "$answer"
  done
  said "$text"
done
for n in 1 2 3 4; do made "an object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-'$n'"}}'; done
token_of() { jq -r '.metadata.continue // empty' <<<"$answer"; }
send "$victim" "https://$zood_address" GET '/api/v1/configmaps?limit=1'
victims=$(token_of)
expect_match "the victim has one" . "$victims"
try GET "/api/v1/configmaps?limit=1&continue=$victims"
refused "and it is no use to others" '400|410'
made "a page" GET '/api/v1/configmaps?limit=1'
own=$(token_of)
expect_match "has a token" . "$own"
for path in /api/v1/secrets /api/v1/namespaces /api/v1/pods; do
  try GET "$path?limit=1&continue=$own"
  refused "not for $path" '400|410'
done
try GET "/api/v1/namespaces/team/configmaps?limit=1&continue=$own&continue=$(forge '{"v":"meta.k8s.io/v1","rv":-1,"start":"'"$victim"'-"}')"
expect_no_match "given twice" "$vault" "$answer"
middle=$((${#own} / 2))
flipped=${own:middle:1}
[[ $flipped == A ]] && flipped=B || flipped=A
try GET "/api/v1/configmaps?limit=1&continue=${own:0:middle}$flipped${own:middle+1}"
refused "a bit turned" '400|410'
try DELETE "/api/v1/namespaces/team/configmaps?limit=1&continue=$(forge '{"v":"meta.k8s.io/v1","rv":-1,"start":"'"$victim"'-"}')"
expect_no_match "nor to delete from there" "$vault" "$answer"
direct GET "/api/v1/secrets?limit=5&continue=$(forge '{"v":"meta.k8s.io/v1","rv":-1,"start":"'"$victim"'-\u0000"}')"
expect_match "upstream would read on at the victim" "\"$victim-" "$answer"
