# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: header fields that HTTP/2 carries and HTTP/1.1 upstream would read as something else.
# Without the fence: a line break in a field, or a second :path, is a second request on zood's own connection.
# Rule: RFC 9113 8.2 and 8.3: malformed requests end their stream; the request to upstream is written anew.
secret="/api/v1/namespaces/$victim-team/secrets/$vault"
base=(:method=GET :scheme=https :authority=localhost)
attempt() { # WHAT FIELDS...
  raw_h2 "${@:2}"
  expect_no_match "$1: nothing of the victim" "$canary" "$answer"
  expect_match "$1: refused" 'RST_STREAM|GOAWAY|"code": ?4' "$answer"
}
attempt "a line break in a value" "${base[@]}" :path=/api/v1/namespaces/team/configmaps 'x=a\r\nImpersonate-User: root'
attempt "LF in a value" "${base[@]}" :path=/api/v1/namespaces/team/configmaps 'x=a\nImpersonate-User: root'
attempt "NUL in a value" "${base[@]}" :path=/api 'x=a\x00b'
attempt "a line break in a name" "${base[@]}" :path=/api 'x: a\r\nimpersonate-user=root'
attempt "a line break in the path" "${base[@]}" ":path=/api HTTP/1.1\\r\\nImpersonate-User: root\\r\\nX: "
attempt "a space in the path" "${base[@]}" ":path=$secret HTTP/1.1"
attempt "a line break in the method" ":method=GET $secret HTTP/1.1\\r\\nX: " :scheme=https :authority=x :path=/api
attempt "a space in the method" ":method=GET $secret" :scheme=https :authority=x :path=/api
attempt "two paths" "${base[@]}" :path=/api ":path=$secret"
attempt "two methods" :method=GET :method=DELETE :scheme=https :authority=x :path=/api/v1/namespaces/team
attempt "a pseudo-header after a field" :method=GET :scheme=https x=y :path=/api
attempt "an unknown pseudo-header" "${base[@]}" :path=/api :upstream=x
attempt "none" x=y
attempt "an empty path" "${base[@]}" :path=
attempt "a path without a slash" "${base[@]}" ":path=${secret#/}"
attempt "an absolute URI" "${base[@]}" ":path=https://127.0.0.1$secret"
attempt "a line break in the authority" :method=GET :scheme=https ':authority=x\r\nImpersonate-User: root' :path=/api
attempt "capitals in a name" "${base[@]}" :path=/api 'Impersonate-User=root'
attempt "connection fields" "${base[@]}" :path=/api connection=impersonate-user
attempt "transfer-encoding" :method=POST :scheme=https :authority=x :path=/api/v1/namespaces/team/configmaps transfer-encoding=chunked content-type=application/json
attempt "a length of nothing" :method=POST :scheme=https :authority=x :path=/api/v1/namespaces/team/configmaps content-length=5 content-type=application/json
attempt "two lengths" :method=POST :scheme=https :authority=x :path=/api/v1/namespaces/team/configmaps content-length=0 content-length=5 content-type=application/json
attempt "te other than trailers" "${base[@]}" :path=/api te=chunked
attempt "dot segments" "${base[@]}" ":path=/api/v1/namespaces/team/../$victim-team/secrets/$vault"
attempt "a fragment" "${base[@]}" ":path=/api/v1/namespaces/$victim-team/secrets/$vault#x"
attempt "an authority of upstream's" :method=GET :scheme=https ":authority=kubernetes.default.svc" ":path=$secret"
attempt "a scheme of one's own" :method=GET :scheme=file :authority=x ":path=$secret"
attempt "CONNECT" :method=CONNECT :authority=127.0.0.1:6443
attempt "extended CONNECT" :method=CONNECT :protocol=websocket :scheme=https :authority=x ":path=/api/v1/namespaces/$victim-team/pods/$vault/exec"
attempt "cookies of a token" "${base[@]}" ":path=$secret" cookie=a "cookie=authorization=Bearer x" 'x-remote-group=system:masters'
# The hidden request alone.
curl_more=(--http2 -H 'Impersonate-User: nobody')
direct GET "$secret"
refused "upstream itself obeys the headers" 403
curl_more=(--http2 -H 'Impersonate-User: root' -H 'Impersonate-Group: system:masters')
would "answer the hidden request" GET "$secret"
