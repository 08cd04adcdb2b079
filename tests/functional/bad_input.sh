#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app cli common admin http net gateway
# Each mistake, accident or attack on the way in gets one clear answer, and nothing is left half-done.
. "$(dirname "$0")/../e2e/lib.sh"

zood=$ZOO_BUILD/bin/zood

# ---- administrators: a sentence and an exit status ------------------------------------------------------------------

printf 'listn: 127.0.0.1:0\nlimits:\n  body: many\n' >"$TMPDIR/wrong.yaml"
check_status "a wrong configuration" 64 "$zood" --config "$TMPDIR/wrong.yaml" --check-config
says=$("$zood" --config "$TMPDIR/wrong.yaml" --check-config 2>&1)
expect_match "an unknown key: line, column, suggestion" "wrong.yaml:1:1: unknown key 'listn', did you mean 'listen'" "$says"
expect_match "a wrong type: line and column" 'wrong.yaml:3:9' "$says"
"$zood" --print-config >"$TMPDIR/example.yaml"
check_fails "what it prints as an example lacks the upstream alone" 'no upstream is named' "$zood" --config "$TMPDIR/example.yaml" --check-config
check "and is good with it" "$zood" --config "$TMPDIR/example.yaml" --upstream "$ZOO_E2E_KUBECONFIG" --check-config
check_fails "a kubeconfig that is not there" 'nope' "$zood" --config "$TMPDIR/example.yaml" --upstream /nope --check-config
check_fails "a name to listen on" 'nosuch.invalid:1.* is not an address to listen on' timeout 60 "$zood" --dir "$TMPDIR/n" --upstream "$ZOO_E2E_KUBECONFIG" --listen nosuch.invalid:1
check "makes nothing" test ! -e "$TMPDIR/n"
for each in 0.0.0.0:7443 '[::]:7443' '[0::0]:7443'; do
  check_fails "to listen on $each says nothing of where tenants connect" "listen: '.*stands for every address .* set advertise" \
    "$zood" --dir "$TMPDIR/n" --upstream "$ZOO_E2E_KUBECONFIG" --listen "$each" --check-config
  check "with advertise it does" "$zood" --dir "$TMPDIR/n" --upstream "$ZOO_E2E_KUBECONFIG" --listen "$each" --advertise 192.0.2.7:7443 --check-config
done
check_status "which is wrong usage, at the start too" 64 timeout 60 "$zood" --dir "$TMPDIR/n" --upstream "$ZOO_E2E_KUBECONFIG" --listen 0.0.0.0:0
check_fails "nor can it be advertised" "advertise: '0.0.0.0:1' stands for every address" \
  "$zood" --dir "$TMPDIR/n" --upstream "$ZOO_E2E_KUBECONFIG" --advertise 0.0.0.0:1 --check-config
check "and nothing is made" test ! -e "$TMPDIR/n"
check_status "no directory" 64 "$zood"
check_status "an unknown option" 64 "$zood" --dirr x
check_fails "says what was meant" "there is no option '--dirr', did you mean '--dir'" "$zood" --dirr x
check_fails "a word too many" "zood takes options alone, not 'start'" "$zood" start

broken() { # WHAT STATUS CONTENT
  printf '%s' "$3" >"$TMPDIR/broken.kubeconfig"
  check_status "kubeconfig: $1" "$2" timeout 60 "$zood" --dir "$TMPDIR/b" --upstream "$TMPDIR/broken.kubeconfig" --listen 127.0.0.1:0
}
broken "empty" 65 ''
broken "no YAML" 65 'clusters: ['
broken "no context" 65 'apiVersion: v1
kind: Config'
broken "nobody listens there" 69 'apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x'
broken "an upstream that is not verified" 65 'apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x'
check_fails "and what to do is told before the start" "cluster 'c' has insecure-skip-tls-verify.*certificate-authority-data.*broken.kubeconfig" \
  "$zood" --dir "$TMPDIR/b" --upstream "$TMPDIR/broken.kubeconfig" --check-config
check_status "kubeconfig: not there" 4 timeout 60 "$zood" --dir "$TMPDIR/b" --upstream "$TMPDIR/none" --listen 127.0.0.1:0

start_zood
check_fails "a second zood on the same directory" "holds|another zood" timeout 60 "$zood" --dir "$zood_dir" --upstream "$ZOO_E2E_KUBECONFIG" --listen 127.0.0.1:0
check_fails "a taken port" "$zood_port.*(taken|in use)" timeout 60 "$zood" --dir "$TMPDIR/c" --upstream "$ZOO_E2E_KUBECONFIG" --listen "127.0.0.1:$zood_port"

# ---- tenants: a Status ----------------------------------------------------------------------------------------------

new_tenant a
unpack a "$TMPDIR/$a.kubeconfig"

# ask CODE WHAT CURL-ARGUMENTS... PATH: the answer is a Status of that code, over both protocols.
ask() {
  local code=$1 what=$2 version answer path=${*: -1}
  shift 2
  for version in ${versions:---http1.1 --http2}; do
    answer=$(curl -s --max-time 20 "$version" --path-as-is --cacert "$TMPDIR/a.ca" --cert "$TMPDIR/a.crt" --key "$TMPDIR/a.key" \
      -w '\n%{http_code}' "${@:1:$#-1}" "https://$zood_address$path" 2>&1)
    expect "$what ($version)" "$code" "${answer##*$'\n'}"
    expect "$what: a Status ($version)" "Status $code" "$(jq -r '"\(.kind) \(.code)"' <<<"${answer%$'\n'*}" 2>&1)"
  done
}
json=(-X POST -H 'Content-Type: application/json')
cms=/api/v1/namespaces/default/configmaps

ask 400 "dot segments" /api/v1/namespaces/default/../kube-system/secrets
ask 400 "encoded dot segments" /api/v1/namespaces/%2e%2e/secrets
ask 400 "an encoded slash" /api/v1/namespaces/default%2fpods
ask 400 "an empty segment" /api/v1//pods
ask 400 "NUL" /api/v1/namespaces/default%00/pods
ask 405 "an unknown method" -X BREW /api/v1/pods
ask 404 "an unknown resource" /api/v1/podz
ask 404 "an unknown path" /nothing
ask 400 "a wrong limit" '/api/v1/pods?limit=many'
ask 400 "a forged continue" '/api/v1/pods?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0Ijoia3ViZS1zeXN0ZW0vIn0'
ask 400 "truncated JSON" "${json[@]}" -d '{"metadata":{"name":"x"' $cms
ask 400 "no JSON" "${json[@]}" -d 'name=x' $cms
ask 400 "text that is not UTF-8" "${json[@]}" --data-binary $'{"metadata":{"name":"\xff"}}' $cms
ask 400 "metadata of a wrong type" "${json[@]}" -d '{"apiVersion":"v1","kind":"ConfigMap","metadata":7}' $cms
ask 400 "a namespace of a wrong type" "${json[@]}" -d '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":[]}}' $cms
ask 400 "a name given twice" "${json[@]}" -d '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default","namespace":"kube-system"}}' $cms
ask 400 "the same, escaped" "${json[@]}" -d '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default","namespac\u0065":"kube-system"}}' $cms
ask 400 "another namespace than the path's" "${json[@]}" -d '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"kube-system"}}' $cms
python3 -c 'print("["*20000)' >"$TMPDIR/deep.json"
ask 400 "20,000 levels" "${json[@]}" --data-binary "@$TMPDIR/deep.json" $cms
head -c 4194304 /dev/zero | tr '\0' 'x' >"$TMPDIR/large"
# Over HTTP/2 the answer is followed by RST_STREAM(NO_ERROR), which RFC 9113 8.1 asks for; curl 7.88 then forgets the answer.
versions=--http1.1 ask 413 "4 MiB" "${json[@]}" -H 'Expect:' --data-binary "@$TMPDIR/large" $cms
ask 415 "an unknown media type" -X POST -H 'Content-Type: application/cbor' -d x $cms
ask 415 "a PATCH of no kind" -X PATCH -H 'Content-Type: text/plain' -d x $cms/x
ask 403 "impersonation" -H 'Impersonate-User: root' /api/v1/pods
long=$(head -c 102400 /dev/zero | tr '\0' 'h')
expect "a header of 100 KiB (--http1.1)" 431 "$(curl -s --http1.1 --max-time 20 --cacert "$TMPDIR/a.ca" --cert "$TMPDIR/a.crt" --key "$TMPDIR/a.key" \
  -o /dev/null -w '%{http_code}' -H "X-Long: $long" "https://$zood_address/api")"
expect "no certificate" 401 "$(curl -s --cacert "$TMPDIR/a.ca" "https://$zood_address/api" | jq -r .code)"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/OU=$a/O=zoo:cluster-admins/CN=admin" \
  -keyout "$TMPDIR/own.key" -out "$TMPDIR/own.crt" 2>/dev/null
expect "a certificate of one's own making" 401 "$(curl -s --cacert "$TMPDIR/a.ca" --cert "$TMPDIR/own.crt" --key "$TMPDIR/own.key" "https://$zood_address/api" | jq -r .code)"
expect "nothing was created" "" "$(as "$a" get configmaps -o name | grep -v kube-root-ca.crt)"

# ---- accidents ------------------------------------------------------------------------------------------------------

stop_zood KILL
start_zood --listen "$zood_address"
expect "a tenant survives kill -9 of zood" Ready "$(ctl tenant get "$a" -o json | jq -r .status.phase)"
check "and works" as "$a" get pods -A
kill -HUP "${zood_pids[$zood_dir]}"
eventually "SIGHUP reloads" 30 grep -q 'app: reloaded' "$zood_dir.log"
check "and it goes on" as "$a" get pods -A
# What was left out, or came of a variable that is not set, is not the default.
check_fails "an option without its value" '--user has no value' ctl kubeconfig export --user= "$a"
check_fails "an empty user is no administrator" 'the value of --user is empty' ctl kubeconfig export "$a" --user ''
check_fails "an empty tenant" 'an argument is empty' ctl tenant describe ''
check_fails "an option of zooctl's behind kubectl's tenant" '--user stands before the tenant' ctl kubectl "$a" --user jane -- get pods
check "another tenant" ctl tenant create zzzzzz
check "delete the tenants" ctl tenant delete "$a" zzzzzz --wait
check_fails "its certificate is worth nothing any more" 'Unauthorized|logged in' as "$a" get pods
stop_zood
expect "SIGTERM drains and ends with 0" 0 $?
# An upstream that takes connections and says nothing: zood waits for it, and ends when it is told to.
silent_server silent
sed -E "s|https://127.0.0.1:[0-9]+|https://127.0.0.1:$silent_port|" "$ZOO_E2E_KUBECONFIG" >"$TMPDIR/silent.kubeconfig"
"${ZOO_ZOOD:-$ZOO_BUILD/bin/zood}" --dir "$TMPDIR/waits" --upstream "$TMPDIR/silent.kubeconfig" --listen 127.0.0.1:0 2>"$TMPDIR/waits.log" &
waits=$!
eventually "it is asked" 30 grep -q asked "$TMPDIR/silent"
kill -TERM "$waits"
wait "$waits"
expect "SIGTERM ends a start at once" 143 $?
expect_match "and it is said" 'ended by signal 15' "$(cat "$TMPDIR/waits.log")"
end_silent_server
