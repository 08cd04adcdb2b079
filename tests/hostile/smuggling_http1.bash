# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: messages whose end zood and upstream could see in different places, with a second request hidden in the first.
# Without the fence: the hidden request would go upstream on zood's connection, under zood's own credential.
# Rule: RFC 9112 6.3 strictly: one length, chunked alone, no folded lines, no spaces before colons; and every request
# to upstream is written anew from what was understood.
secret="/api/v1/namespaces/$victim-team/secrets/$vault"
hidden="GET $secret HTTP/1.1\r\nHost: x\r\nImpersonate-User: root\r\nImpersonate-Group: system:masters\r\nConnection: close\r\n\r\n"
length=$(printf '%b' "$hidden" | wc -c)
post="POST /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
chunked="0\r\n\r\n$hidden"
bare='{}'
attempt() { # WHAT BYTES
  raw "$2"
  expect_no_match "$1: nothing of the victim" "$canary" "$answer"
  expect_match "$1: refused" '^HTTP/1.1 [45]|^$|Error' "$(head -n 1 <<<"$answer")"
}
attempt "two lengths" "${post}Content-Length: 2\r\nContent-Length: $length\r\n\r\n$hidden"
attempt "two lengths in one" "${post}Content-Length: 2, $length\r\n\r\n$hidden"
attempt "length and chunks" "${post}Content-Length: $length\r\nTransfer-Encoding: chunked\r\n\r\n$chunked"
attempt "chunks and length" "${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n$chunked"
attempt "two encodings" "${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n$chunked"
attempt "an unknown encoding" "${post}Transfer-Encoding: xchunked\r\n\r\n$chunked"
attempt "chunked, not last" "${post}Transfer-Encoding: chunked, gzip\r\n\r\n$chunked"
attempt "a tab before it" "${post}Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n\r\n$chunked"
attempt "a vertical tab before it" "${post}Transfer-Encoding: \x0bchunked\r\n\r\n$chunked"
attempt "a space before the colon" "${post}Content-Length : 2\r\n\r\n$hidden"
attempt "a folded line" "${post}X: y\r\n Content-Length: 2\r\n\r\n$hidden"
attempt "a folded encoding" "${post}Transfer-Encoding:\r\n chunked\r\nContent-Length: 4\r\n\r\n$chunked"
attempt "a sign" "${post}Content-Length: +2\r\n\r\n$bare$hidden"
attempt "a minus" "${post}Content-Length: -1\r\n\r\n$hidden"
attempt "hexadecimal" "${post}Content-Length: 0x2\r\n\r\n$bare$hidden"
attempt "a length that overflows" "${post}Content-Length: 18446744073709551618\r\n\r\n$bare$hidden"
attempt "a chunk that overflows" "${post}Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n$bare\r\n$chunked"
attempt "a chunk with a sign" "${post}Transfer-Encoding: chunked\r\n\r\n+2\r\n$bare\r\n$chunked"
attempt "a chunk ended by LF" "${post}Transfer-Encoding: chunked\r\n\r\n2\n$bare\n0\n\n$hidden"
attempt "a chunk's data too long" "${post}Transfer-Encoding: chunked\r\n\r\n1\r\n$bare\r\n$chunked"
attempt "lines ended by LF" "${post//\\r/}Content-Length: 2\n\n$hidden"
attempt "CR alone" "${post}X: a\rContent-Length: 2\r\n\r\n$hidden"
attempt "NUL in a header" "${post}X: a\0b\r\nContent-Length: 2\r\n\r\n$hidden"
attempt "no host" "GET $secret HTTP/1.1\r\nConnection: close\r\n\r\n"
attempt "two hosts" "GET /api HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"
attempt "a header without a name" "${post}: x\r\nContent-Length: 2\r\n\r\n$hidden"
attempt "an absolute URI" "GET https://127.0.0.1$secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
attempt "a path of another host" "GET //127.0.0.1$secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
attempt "CONNECT" "CONNECT 127.0.0.1:6443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
attempt "HTTP/0.9" "GET $secret\r\n\r\n"
attempt "HTTP/1.2" "GET $secret HTTP/1.2\r\nHost: x\r\nConnection: close\r\n\r\n"
attempt "the preface of HTTP/2" "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
attempt "a space and more" "GET $secret /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
attempt "an encoded end of line" "GET /api/v1/namespaces/team/configmaps%20HTTP/1.1%0d%0aImpersonate-User:%20root%0d%0aX:%20 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
raw "${post}Transfer-Encoding: chunked\r\n\r\n2;ext=\"\r\n\";a=b\r\n$bare\r\n$chunked"
expect_no_match "chunk extensions" "$canary" "$answer"
raw "GET /api/v1/namespaces/team/configmaps/x HTTP/1.1\r\nHost: x\r\nContent-Length: $length\r\nConnection: close\r\n\r\n$hidden"
expect_no_match "a GET with a body" "$canary" "$answer"
expect "is one request" 1 "$(grep -c '^HTTP/1.1 ' <<<"$answer")"
raw "POST /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Impersonate-User\r\nConnection: close\r\n\r\n2\r\n$bare\r\n0\r\nImpersonate-User: root\r\nContent-Length: 5\r\n\r\n"
expect_no_match "trailers are no headers" "$canary|HTTP/1.1 201" "$answer"
raw "GET /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\n\r\n$hidden"
expect_no_match "in a pipeline each is proven" "$canary" "$answer"
raw "GET /api/v1/namespaces/team/pods/x/exec?command=a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n$hidden"
expect_no_match "after an upgrade that upstream refuses nothing is passed on" "$canary" "$answer"
# The hidden request alone: its headers are obeyed, and upstream answers it behind the first on a connection of the administrator's.
curl_more=(--http1.1 -H 'Impersonate-User: nobody')
direct GET "$secret"
refused "upstream itself obeys the headers" 403
curl_more=(--http1.1 -H 'Impersonate-User: root' -H 'Impersonate-Group: system:masters')
would "answer the hidden request" GET "$secret"
answer=$(printf '%b' "${post}Content-Length: 2\r\n\r\n$bare$hidden" | python3 "$hostile/tools/raw.py" "${upstream_server#https://}" "$TMPDIR/upstream."{ca,crt,key} 2>&1 | tr -d '\0')
expect "and each of two" 2 "$(grep -c '^HTTP/1.1 ' <<<"$answer")"
expect_match "the second with the victim's" "$(printf %s "$canary" | base64)" "$answer"
