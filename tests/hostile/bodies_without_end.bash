# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bodies larger than allowed by length, by chunks, and that stop; heads larger than allowed; a body where none belongs.
# Without the fence: each holds megabytes in zood, or a connection upstream.
# Rule: 3 MiB a body (413), 64 KiB a head (431), 16 KiB a target (414); what is too long is refused before it is read.
head -c 5000000 /dev/zero | tr '\0' ' ' >"$TMPDIR/large"
for path in /api/v1/namespaces/team/configmaps /apis/apps/v1/namespaces/team/deployments /apis/authorization.k8s.io/v1/selfsubjectaccessreviews /apis/rbac.authorization.k8s.io/v1/clusterroles; do
  curl_more=(-H 'Content-Type: application/json' --data-binary "@$TMPDIR/large" -H 'Expect:')
  try POST $path
  refused "five megabytes of spaces at $path" '413'
  curl_more=(-H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' --data-binary "@$TMPDIR/large" --http1.1 -H 'Expect:')
  try POST $path
  refused "in chunks" '413'
done
raw "POST /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n{"
expect_match "a length of 100 GB is refused at once" '^HTTP/1.1 413' "$answer"
raw "POST /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n"
expect_no_match "nor asked for" '^HTTP/1.1 100' "$answer"
raw "GET /$(printf 'a%.0s' {1..20000}) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
expect_match "a target of 20 KB" '^HTTP/1.1 414' "$answer"
raw "GET /api HTTP/1.1\r\nHost: x\r\n$(printf 'X-Y: z\\r\\n%.0s' {1..400})\r\n"
expect_match "400 fields" '^HTTP/1.1 431' "$answer"
for method in GET DELETE HEAD; do
  curl_more=(-H 'Content-Type: application/json' --data-binary "@$TMPDIR/large" --http1.1)
  [[ $method == HEAD ]] && curl_more+=(--max-time 5)
  try $method /api/v1/namespaces/team/configmaps/none
  expect_match "$method with five megabytes: $code" '^(4..|000)$' "$code"
done
# Upstream's own listener takes such heads, and a body where none belongs.
curl_more=(--http1.1)
for _ in {1..400}; do curl_more+=(-H 'X-Y: z'); done
would "read 400 fields" GET /api
would "read a target of 20 KB" GET "/api?x=$(printf 'a%.0s' {1..20000})"
curl_more=(-H 'Content-Type: application/json' --data-binary "@$TMPDIR/large" --http1.1)
would "take five megabytes with a GET" GET "/api/v1/namespaces/$evil-team/configmaps"
rm -f "$TMPDIR/large"
