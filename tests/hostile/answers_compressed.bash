# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to have answers in other codings and halves: gzip, deflate, ranges, HEAD, conditional requests, HTTP/1.0.
# Without the fence: a filter that reads plain JSON lets compressed bytes pass as they are.
# Rule: zood asks upstream for what it can read, and codes answers itself.
for coding in gzip deflate 'br, zstd, gzip' 'identity;q=0, gzip' '*'; do
  for path in '/api/v1/secrets?limit=500' /api/v1/namespaces /apis "/api/v1/namespaces/$victim-team/secrets" '/api/v1/secrets?watch=1&resourceVersion=0&timeoutSeconds=1'; do
    curl_more=(-H "Accept-Encoding: $coding" --max-time 5)
    try GET "$path"
    plain=$( (gzip -dc 2>/dev/null || cat) <"$TMPDIR/body" | tr -d '\0')
    observe "$path" "$plain"
    expect_no_match "$code: $path in $coding" "$canary|\"name\":\"$vault" "$plain"
  done
done
for header in 'Range: bytes=0-10' 'If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT' 'If-None-Match: W/"1"' 'If-Range: x'; do
  curl_more=(-H "$header")
  try GET '/api/v1/secrets?limit=500'
  expect_match "$header: $code" '^(200|304|4..)$' "$code"
done
for version in --http1.0 --http1.1 --http2; do
  curl_more=($version)
  try GET '/api/v1/secrets?limit=500'
  expect_match "$version: $code" '^(200|4..|505)$' "$code"
  expect_no_match "shows nothing of the victim" "$canary" "$answer"
  curl_more=($version -I)
  try HEAD "/api/v1/namespaces/$victim-team/secrets/$vault"
  refused "HEAD of the victim's"
done
curl_more=(-H 'Accept-Encoding: gzip')
direct GET '/apis/rbac.authorization.k8s.io/v1/clusterroles?pretty=true'
expect "packed, upstream's list shows no word of the victim's" 0 "$(grep -ac "$vault" "$TMPDIR/body")"
expect_match "unpacked it holds them" "\"name\": \"$victim-$vault\"" "$(gzip -dc <"$TMPDIR/body")"
