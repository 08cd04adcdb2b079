# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: paths that zood and upstream could read differently: dot segments, encoded slashes, doubled ones, absolute URIs.
# Without the fence: a path proven as the attacker's would be served as the victim's.
# Rule: a path is decoded once, strictly; dot segments, empty ones and encoded slashes are refused before anything else.
secret=$victim-team/secrets/$vault
for path in "/api/v1/namespaces/team/../$secret" "/api/v1/namespaces/team/%2e%2e/$secret" "/api/v1/namespaces/team/.%2e/$secret" "/api/v1/namespaces/team%2f..%2f$secret" \
  "/api/v1/namespaces/team%252f..%252f$secret" "/api/v1/namespaces//$secret" "//api/v1/namespaces/$secret" "/api/v1/./namespaces/$secret" "/api/v1/namespaces/team/secrets/..%2f..%2f$secret" \
  "/api/v1/namespaces/team\\..\\$secret" "/api/v1/namespaces/team/pods/x/proxy/../../../../$secret" "/api/v1/namespaces/team/pods/x/proxy/%2e%2e/%2e%2e/%2e%2e/$secret" \
  "/api/v1/namespaces/team/services/x/proxy/..%2f..%2f..%2f..%2f$secret" "/apis/../api/v1/namespaces/$secret" "/api/v1/namespaces/$secret;a" "/api/v1/namespaces/$secret%23" \
  "/api/v1/%6eamespaces/$secret" "/api/v1/namespaces/%5$secret" "/api/v1/namespaces/%C0%AE%C0%AE/$secret" "/api/v1/namespaces/%u002e/$secret" "/api/v1/proxy/namespaces/$secret" \
  "/api/V1/namespaces/$secret" "/API/v1/namespaces/$secret" "/api/v1/namespaces/team/secrets/$vault/../../../$secret" "/apis/v1/namespaces/$secret" "/api/v1/namespaces/team/%3F/../$secret"; do
  try GET "$path"
  refused "$path"
  try DELETE "$path"
  refused "nor deleted"
done
try GET "/api/v1/watch/namespaces?timeoutSeconds=1"
try GET "/api/v1/watch/secrets?timeoutSeconds=1"
expect_no_match "the old watch paths show nothing" "$canary" "$answer"
for path in "$victim-team/secrets" "$secret" "$victim-team"; do
  try GET "/api/v1/watch/namespaces/$path?timeoutSeconds=1"
  expect_no_match "nor of $path" "$canary|$victim-team-|$vault" "$answer"
done
would "show the victim's, by an encoded path too" GET "/api/v1/%6eamespaces/$victim-team/secrets/$vault"
