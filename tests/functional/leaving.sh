#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app http net gateway packaging
# timeout: 2400
# alone
# A zood stops and the next one starts behind HAProxy, by packaging/haproxy/haproxy.cfg, under watches and requests: clients
# notice nothing but watches that end in order. What /readyz says meanwhile; whose connection it is by the PROXY protocol;
# keepalived's configuration. In the step `all` with 200 watches and 300 requests a second, and the first of these zoods is of the build
# before (tests/before); else with fewer, and all are of one build.
. "$(dirname "$0")/../e2e/lib.sh"
. "$zoo_root/tests/upstream/go-env.sh"
. "$(dirname "$0")/leaving/report.bash"

for program in haproxy keepalived; do
  command -v "$program" >/dev/null || [[ -x /usr/sbin/$program ]] || skip "there is no $program (packaging/install-deps test)"
done
PATH=$PATH:/usr/sbin
watches=40 rate=60 rounds=2 first_build=$ZOO_BUILD
if [[ ${ZOO_STEP:-} == all ]]; then
  watches=200 rate=300 rounds=4
  first_build=$("$zoo_root/tests/before/build") || { (($? == 125)) && skip "the commit before is not there"; zoo_die "the build before could not be made"; }
fi
clients=$(go_program "$zoo_root/tests/functional/leaving") || exit 1

# Ports that are free now; zood and HAProxy have to have the same ones again.
mapfile -t ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
for each in held: print(each.getsockname()[1])')
listen=127.0.0.1:${ports[0]} front=127.0.0.1:${ports[1]} health=127.0.0.1:${ports[2]}
configuration="listen: $listen
advertise: $front
listen_proxy: {from: [127.0.0.1/32]}
health: {listen: '$health'}
drain: {delay: 3s, watches: 3s}
drain_timeout: 20s"
at_end() {
  [[ -n ${network:-} ]] && kill -KILL "$network" && wait "$network" 2>/dev/null
  [[ -n ${load:-} ]] && kill "$load" 2>/dev/null
  [[ -n ${haproxy:-} ]] && kill "$haproxy" && wait "$haproxy" 2>/dev/null
  :
}

# ---- HAProxy, by the recipe ------------------------------------------------------------------------------------------

recipe() {
  sed -E "s/192\.0\.2\.10:7443/$front/; s/192\.0\.2\.11:7443/$listen/; s/check port 7480/check addr 127.0.0.1 port ${ports[2]}/
    s/maxconn 20000/maxconn 2000/; s|^    log /dev/log.*|    log stdout format raw daemon|" "$zoo_root/packaging/haproxy/haproxy.cfg"
}
recipe >"$TMPDIR/haproxy.cfg"
expect "no address of the recipe is left" 0 "$(grep -v '^#' "$TMPDIR/haproxy.cfg" | grep -c '192\.0\.2')"
check "HAProxy takes it" haproxy -c -q -f "$TMPDIR/haproxy.cfg"
haproxy -db -f "$TMPDIR/haproxy.cfg" >"$TMPDIR/haproxy.log" 2>&1 &
haproxy=$!

ZOO_BUILD=$first_build start_zood_with "$configuration" --listen "$listen"
says() { curl -s -o /dev/null -w '%{http_code}' --max-time 5 "$@"; } # an HTTP status
ready() { [[ $(says "http://$health/readyz") == "$1" ]]; }
eventually "zood is ready" 30 ready 200
new_tenant id
unpack "$id"
expect "its kubeconfig names HAProxy" "https://$front" "$(<"$TMPDIR/$id.server")"
require "which leads to zood" as "$id" get namespaces

# ---- what is asked of whom -------------------------------------------------------------------------------------------

expect "it lives" 200 "$(says "http://$health/livez")"
expect "HEAD is taken" 200 "$(says -I "http://$health/readyz")"
expect "POST is not" 405 "$(says -X POST -d x "http://$health/readyz")"
expect "nothing else is there" 404 "$(says "http://$health/api/v1/namespaces")"
expect "by HTTP/2 neither" 000 "$(says --http2-prior-knowledge "http://$health/readyz")"
through() { curl -s -o /dev/null -w '%{http_code}' --cacert "$TMPDIR/$id.ca" --cert "$TMPDIR/$id.crt" --key "$TMPDIR/$id.key" "$@" --max-time 20; }
expect "a client through HAProxy" 200 "$(through --interface 127.0.0.2 "https://$front/api/v1/namespaces/default")"
audited() { jq -e 'select(.tenant == "'"$id"'" and .name == "default").peer | startswith("127.0.0.2:")' "$zood_dir/audit/audit.log"; }
eventually "is the peer in the audit log" 30 audited
expect "who comes from its address without a header has no way in" 000 "$(through "https://$listen/api/v1/namespaces/default")"
expect "who comes from another one is no balancer" 200 "$(through --interface 127.0.0.2 "https://$listen/api/v1/namespaces/default")"
lies() { # whether a header of a stranger's is taken for TLS, which it is not
  python3 - "${listen##*:}" <<'P'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=("127.0.0.2", 0), timeout=20)
s.sendall(b"PROXY TCP4 203.0.113.9 127.0.0.1 1 2\r\n\x16\x03\x01\x00\x05hello")
data = s.recv(100)
sys.exit(0 if data == b"" or data[:1] == b"\x15" else "answered " + repr(data))
P
}
check "nor is his header read" lies

# ---- one zood after the other ----------------------------------------------------------------------------------------

"$clients" -server "https://$front" -address "$front" -ca "$TMPDIR/$id.ca" -cert "$TMPDIR/$id.crt" -key "$TMPDIR/$id.key" \
  -watches "$watches" -rate "$rate" </dev/null >"$TMPDIR/report.json" 2>"$TMPDIR/clients.log" &
load=$!
watching() { (($(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '/^zood_watch_subscribers/ { print int($2) }') >= watches)); }
for ((round = 1; round <= rounds; round++)); do
  eventually "all watches are there ($round)" 60 watching
  pid=${zood_pids[$zood_dir]}
  kill -TERM "$pid"
  eventually "SIGTERM is heard by who asks whether it is ready ($round)" 30 ready 503
  expect "while it lives, and serves ($round)" "200 200" "$(says "http://$health/livez") $(through --interface 127.0.0.2 "https://$listen/api/v1/namespaces/default")"
  stop_zood 0 # a second signal would end it at once
  expect "it ends in order ($round)" 0 $?
  start_zood_with "$configuration" --listen "$listen"
done
eventually "all watches are there" 60 watching
clients_end "$load"
load=
check "there were requests" test "$(of .requests)" -gt $((rate * rounds * 3))
check "each round ended every watch" test "$(of .ends)" -ge $((watches * rounds))
expect "behind a bookmark" "$(of .ends)" "$(of .bookmarkedEnds)"
check "and those over WebSockets by a close frame" test "$(of .socketCloses)" -ge $((watches / 20 * rounds))
expect "nothing was cut" 0 "$(grep -c 'did not end in time' "$zood_dir.log")"

# ---- what does not end by itself -------------------------------------------------------------------------------------

slow() { curl -sN --max-time 60 --interface 127.0.0.2 --cacert "$TMPDIR/$id.ca" --cert "$TMPDIR/$id.crt" --key "$TMPDIR/$id.key" "$@"; }
pid=${zood_pids[$zood_dir]}
stop_zood
start_zood_with "${configuration/drain_timeout: 20s/drain_timeout: 2s}" --listen "$listen"
# The body of a write that is never whole.
mkfifo "$TMPDIR/body"
slow -X POST -H 'Content-Type: application/json' -H 'Expect:' -T - "https://$listen/api/v1/namespaces/default/configmaps" <"$TMPDIR/body" >/dev/null 2>&1 &
stuck=$!
exec 6>"$TMPDIR/body"
printf '{' >&6
held() { (($(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '/^zood_connections/ { print int($2) }') >= 1)); }
eventually "a request that does not end" 30 held
stop_zood
expect "holds nobody up" 0 $?
expect_match "and is counted" '1 requests on [0-9]+ connections did not end in time' "$(<"$zood_dir.log")"
exec 6>&-
wait "$stuck" 2>/dev/null

# ---- keepalived ------------------------------------------------------------------------------------------------------

track=$(sed -n 's/^ *script "\(.*\)"$/\1/p' "$zoo_root/packaging/keepalived/keepalived.conf" | sed "s/127\.0\.0\.1:7480/$health/")
check_fails "without a zood keepalived's script says no" '' eval "$track"
start_zood_with "$configuration" --listen "$listen"
eventually "with one that is ready, yes" 30 eval "$track"

# In a network of its own, with an interface that is connected to nothing and a server that is ready, or not.
((EUID == 0)) && unshare --net true 2>/dev/null || skip "needs root and a network namespace, for keepalived"
cat >"$TMPDIR/readyz.py" <<'P'
import http.server, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if os.path.exists(sys.argv[1]) else 503)
        self.end_headers()
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 7480), Answer).serve_forever()
P
sed 's/eth0/shown/' "$zoo_root/packaging/keepalived/keepalived.conf" >"$TMPDIR/keepalived.conf"
chmod go+rx "$TMPDIR"
unshare --net --pid --fork --kill-child bash -c 'cd "$1" && ip link set lo up && ip link add shown type veth peer name other && ip addr add 192.0.2.11/24 dev shown && ip link set shown up && ip link set other up &&
  { python3 readyz.py "$1/ready" & keepalived -n -l -f keepalived.conf -p "$1/k.pid" -r "$1/v.pid" >"$1/keepalived.log" 2>&1 & } &&
  while sleep 0.2; do ip -o addr show shown >addresses.new && mv addresses.new addresses; done' - "$TMPDIR" &
network=$!
has_address() { grep -q '192\.0\.2\.10/24' "$TMPDIR/addresses"; }
has_none() { [[ -s $TMPDIR/addresses ]] && ! has_address; }
refused() { grep -q 'zood_is_ready) failed' "$TMPDIR/keepalived.log"; }
eventually "keepalived asks" 30 refused
eventually "the address is not where no zood is ready" 30 has_none
touch "$TMPDIR/ready"
eventually "it comes with one" 60 has_address
rm "$TMPDIR/ready"
eventually "and goes when that is about to stop" 60 has_none
