# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: line ends and quotes in headers that zood sends on or writes down: User-Agent, Accept, Content-Type, names in Status
# messages and Warnings; and answers split by names of objects.
# Without the fence: a header becomes two upstream, a line of the log becomes two, an answer is split.
# Rule: headers upstream are an allow-list, written anew; a log line is one JSON object, whatever is in it.
log=$zood_dir.log
before=$(wc -l <"$log")
mark=mark$RANDOM$RANDOM
for agent in "$mark\"}{\"level\":\"fatal\"" "$mark%0d%0aX: y" "$mark\\n{\"tenant\":\"$evil\"}" "$mark"$'\t'"tab" "$mark \${jndi:ldap://127.0.0.1/}" "$mark"$'\xff\xfe' "$mark $(printf 'a%.0s' {1..9000})" "$mark %s%n%x" "<script>$mark</script>"; do
  curl_more=(-A "$agent")
  try GET /api/v1/namespaces/team/configmaps/none
  expect_match "$code: agent ${agent:0:40} is answered" '^(404|4..)$' "$code"
done
raw "GET /api/v1/namespaces/team/configmaps/none HTTP/1.1\r\nHost: x\r\nUser-Agent: $mark\x1b[31mred\x07\r\nConnection: close\r\n\r\n"
for path in "/api/v1/namespaces/team/configmaps/%22%7d%0a$mark" "/api/v1/namespaces/team/configmaps/$mark%0d%0aSet-Cookie:%20a=b" "/api/v1/namespaces/team/configmaps?labelSelector=$mark%0d%0aX:%20y" "/api/v1/namespaces/team/configmaps?fieldManager=%0d%0a$mark" "/$mark%1b%5b31m"; do
  try GET "$path"
  expect_no_match "$code: no header comes of ${path:0:60}" '^(set-cookie|x):' "$(tr 'A-Z' 'a-z' <"$TMPDIR/headers")"
  try POST "$path" json '{"metadata":{"name":"evil\r\nset-cookie: a=b"}}'
  expect_no_match "$code: nor when it is written" '^(set-cookie|x):' "$(tr 'A-Z' 'a-z' <"$TMPDIR/headers")"
done
lines=$(tail -n +$((before + 1)) "$log")
expect_no_match "no control characters in the log" $'[\x01-\x08\x0b-\x1f\x7f]' "$lines"
expect_no_match "no line of the attacker's own making" '^(\{"level":"fatal"|\{"tenant":|red|X: y)' "$lines"
expect "each access line is one JSON object" 0 "$(grep -a "^{" <<<"$lines" | { n=0; while read -r line; do jq -e . <<<"$line" >/dev/null 2>&1 || n=$((n + 1)); done; echo $n; })"
for header in 'Accept: application/json
Impersonate-User: root' 'Content-Type: application/json; x="
y"'; do
  raw "GET /api/v1/namespaces/$victim-team/secrets/$vault HTTP/1.1\r\nHost: x\r\n${header//$'\n'/\\n}\r\nConnection: close\r\n\r\n"
  expect_no_match "a line end in ${header%%:*}" "$canary|HTTP/1.1 200" "$answer"
done
for header in 'X-Forwarded-For: 10.0.0.1' 'Via: 1.1 x' 'Cookie: a=b' 'Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' 'X-Request-Id: evil' 'Accept-Language: ../../etc/passwd' 'Range: bytes=0-1' 'If-None-Match: *' 'If-Match: "x"' 'Max-Forwards: 0' 'Keep-Alive: timeout=1' 'Prefer: respond-async' 'Date: x' 'Host: kubernetes.default.svc' 'X-Kubernetes-Pf-Prioritylevel-Uid: x' 'Accept: */*;q=99999' 'Accept: ,,,,' 'Accept: application/json;as=Table;as=PartialObjectMetadata' 'Accept-Encoding: gzip;q=0, *'; do
  curl_more=(-H "$header")
  try GET "/api/v1/secrets?limit=500"
  expect_no_match "$header: $code" "$canary" "$answer"
  expect_match "is answered" '^([24]..|304)$' "$code"
done
# What a header that arrives there is worth.
curl_more=(-H 'Impersonate-User: nobody')
direct GET "/api/v1/namespaces/$victim-team/secrets/$vault"
refused "upstream itself obeys such a header" 403
curl_more=(-H 'Impersonate-User: root' -H 'Impersonate-Group: system:masters')
would "show the victim's to whom it names" GET "/api/v1/namespaces/$victim-team/secrets/$vault"
