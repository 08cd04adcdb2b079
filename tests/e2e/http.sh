#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway http net translate
# What browsers and HTTP libraries need, beside upstream's own answers: watches over WebSocket, answers that come before the
# request is complete (curl and httpx, over HTTP/2 and HTTP/1.1), and links and redirects of services behind the proxy.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/python/lib.sh"

start_zood
new_tenant id
unpack "$id"
unpack upstream "$ZOO_E2E_KUBECONFIG"

# ---- watches over WebSocket
require "a ServiceAccount that may look" as "$id" create clusterrolebinding looks --clusterrole view --serviceaccount default:default
eventually "has a token" 30 as "$id" create token default
check "watches over WebSocket, as upstream's" python sockets.py "$TMPDIR/$id" "$TMPDIR/upstream" "$(as "$id" create token default)"
expect_match "are 101 in the audit log" '^101$' "$(ctl audit "$id" --verb watch --since 1h --limit 1000 -o json | jq '.items[].code')"
admin_watch() { # FIELDS...: of the admin API
  curl -sS --max-time 20 -i --http1.1 -N --unix-socket "$zood_dir/zood.sock" -H 'Connection: Upgrade' -H 'Upgrade: websocket' \
    -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "$@" \
    "http://zood/apis/$(ctl tenant get "$id" -o json | jq -r .apiVersion)/tenants?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D$id" | tr -d '\0'
}
answer=$(admin_watch -H 'Origin: https://x' -H 'Sec-WebSocket-Protocol: base64.binary.k8s.io')
expect_match "the admin API's, too" '^HTTP/1.1 101 ' "$answer"
expect_match "with its handshake" '^Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK.xOo=' "${answer//$'\r'/}"
expect_match "and its events" '"type":"ADDED"' "$answer"
expect_match "who sends no Origin is told" '^HTTP/1.1 403 ' "$(admin_watch)"

# ---- answers before the request is complete
head -c $((4 << 20)) /dev/zero | tr '\0' x >"$TMPDIR/4M"
head -c $((20 << 20)) /dev/zero | tr '\0' x >"$TMPDIR/20M"
certificate=(--cert "$TMPDIR/$id.crt" --key "$TMPDIR/$id.key")
early() { # VERSION FILE CURL'S ARGUMENTS...: status, and the kind of the answer
  curl -sS --max-time 60 "--$1" --cacert "$TMPDIR/$id.ca" -X POST -H 'Content-Type: application/json' -o "$TMPDIR/answer" -w '%{http_code} ' \
    --data-binary "@$2" "${@:3}" "https://$zood_address/api/v1/namespaces/default/configmaps" 2>&1
  jq -r .kind "$TMPDIR/answer"
  rm -f "$TMPDIR/answer"
}
for version in http2 http1.1; do
  for size in 4M 20M; do
    expect "curl, $version, $size: 413" "413 Status" "$(early $version "$TMPDIR/$size" "${certificate[@]}")"
    expect "the same without its length" "413 Status" "$(early $version "$TMPDIR/$size" "${certificate[@]}" -H 'Transfer-Encoding: chunked')"
    expect "without 100-continue" "413 Status" "$(early $version "$TMPDIR/$size" "${certificate[@]}" -H 'Expect:')"
    expect "who is nobody is told, too" "401 Status" "$(early $version "$TMPDIR/$size" -H 'Expect:')"
  done
done
check "httpx reads them" python early.py "$TMPDIR/$id"

# ---- services behind the proxy
# Upstream's proxy leads to addresses of pods alone, and never to loopback: a bridge of this script's own has one.
device=zooh$RANDOM address=10.97.$((RANDOM % 256)).$((RANDOM % 254 + 1))
require "a bridge" ip link add "$device" type bridge
at_end() { ip link delete "$device"; }
require "with an address" ip address add "$address/32" dev "$device"
require "is up" ip link set "$device" up
python pages.py "$address" >"$TMPDIR/pages.port" &
pages=$!
at_end() {
  kill "$pages"
  ip link delete "$device"
}
eventually "the service listens" 30 test -s "$TMPDIR/pages.port"
port=$(<"$TMPDIR/pages.port")
require "a pod" as "$id" run web --image none.test/c --port "$port"
require "gets an address" as "$id" wait --for=condition=Ready pod/web --timeout 60s
require "which is ours" upstream -n "$id-default" patch pod web --subresource status --type merge -p "{\"status\":{\"podIP\":\"$address\",\"podIPs\":[{\"ip\":\"$address\"}]}}"
require "a Service without a selector" as "$id" create -f - <<YAML
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80, targetPort: $port}]}}
YAML
require "leads there" upstream create -f - <<YAML
{apiVersion: v1, kind: Endpoints, metadata: {name: web, namespace: $id-default}, subsets: [{ports: [{port: $port}],
  addresses: [{ip: $address, targetRef: {kind: Pod, namespace: $id-default, name: web}}]}]}
YAML
there=/api/v1/namespaces/default/services/web:80/proxy
above=/api/v1/namespaces/$id-default/services/web:80/proxy
eventually "through the proxy" 30 as "$id" get --raw "$there/page"
page=$(as "$id" get --raw "$there/page")
want=$(upstream get --raw "$above/page")
expect_match "upstream puts its path in front of links" "href=\"$above/login" "$want"
for link in "href=\"$there/login?to=/x&amp;y\"" "href=\"$there/\"" "href=\"$there/style.css\"" "src=\"$there/app.js\"" "background=\"$there/tile.png\"" \
  "href=\"$there/host\"" "href=\"$there/forwarded\"" "action=\"$there/form\"" "src=\"$there/image.png\"" 'href="relative"' 'href="https://other.example/x"'; do
  if [[ $page == *"$link"* ]]; then passed "$link"; else failed "$link" <<<"$page"; fi
done
for kept in "<a href=\"$above/script\">" "<a href=\"$above/comment\">" "title=\"$above/title\"" "&lt;a href=\"$above/text\"&gt; $above"; do
  if [[ $page == *"$kept"* ]]; then passed "stays: $kept"; else failed "stays: $kept" <<<"$page"; fi
done
proxied() { curl -sS --max-time 60 --cacert "$TMPDIR/$id.ca" "${certificate[@]}" "$@"; }
base=https://$zood_address$there
expect "over HTTP/1.1 the same" "$page" "$(proxied --http1.1 "$base/page")"
expect "compressed, for who takes it" "$page" "$(proxied -H 'Accept-Encoding: gzip, deflate' "$base/gzip")"
expect "which is opened here" "" "$(proxied -H 'Accept-Encoding: gzip' -D - -o /dev/null "$base/gzip" | grep -i '^content-encoding')"
expect "a long one, which was short" "400000 400000" \
  "$(proxied -H 'Accept-Encoding: gzip' "$base/large" | awk -v want="href=\"$there/x\"" 'index($0, want) { n++ } END { print n, NR }')"
expect "what is no HTML stays" "$(upstream get --raw "$above/text")" "$(as "$id" get --raw "$there/text")"
expect "an error's page is a page" "404 yes" "$(proxied -o "$TMPDIR/page" -w '%{http_code} ' "$base/missing"; grep -q "href=\"$there/login" "$TMPDIR/page" && echo yes)"
expect "deflate is not asked for" "gzip, br" "$(proxied -H 'Accept-Encoding: gzip, deflate, br' "$base/encodings")"
header() { proxied -o /dev/null -D - "$2" | tr -d '\r' | sed -n "s/^$1: //Ip"; }
expect "a redirect" "$there/login?a=b" "$(header location "$base/redirect")"
expect "cookies stay" "a=b; Path=/" "$(header set-cookie "$base/redirect")"
expect "a redirect to the host" "$there/login/" "$(header location "$base/redirect-host")"
expect "a redirect to elsewhere" "https://other.example$above/x" "$(header location "$base/redirect-away")"
expect "upstream's own to the directory" "$there/?a=b" "$(header location "$base?a=b")"

expect_match "a pod's page" 'href="/api/v1/namespaces/default/pods/web:'"$port"'/proxy/login' "$(as "$id" get --raw "/api/v1/namespaces/default/pods/web:$port/proxy/page")"
