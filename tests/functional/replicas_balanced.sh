#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: replicas store gateway app packaging
# timeout: 2400
# alone
# Three zoods behind HAProxy, by packaging/haproxy/haproxy.cfg, with an etcd of three members that waits for the disk. They are restarted one after
# the other under watches and requests, and no request fails; then one after the other is killed under a hundred informers of client-go, while
# kubectl and Helm work: each informer has what upstream has, and none had to list again. In the step `all` with 200 watches and 300 requests a
# second, and a zood killed every twenty seconds for ten minutes; else with fewer, for less than half a minute.
. "$(dirname "$0")/../e2e/lib.sh"
. "$zoo_root/tests/upstream/go-env.sh"
. "$(dirname "$0")/leaving/report.bash"

[[ -x /usr/sbin/haproxy ]] || command -v haproxy >/dev/null || skip "there is no haproxy (packaging/install-deps test)"
PATH=$PATH:/usr/sbin
watches=40 rate=60 informers=40 seconds=24 pause=8
[[ ${ZOO_STEP:-} == all ]] && watches=200 rate=300 informers=100 seconds=600 pause=20
seconds=${ZOO_SECONDS:-$seconds}
leaving=$(go_program "$zoo_root/tests/functional/leaving") || exit 1
clients=$(go_test_binary "$zoo_root/tests/e2e/clients") || exit 1
helm=$(go_program "$zoo_root/packaging/helm") || exit 1
etcd=$zoo_root/tests/upstream/etcd
at_end() {
  local each
  for each in ${following:-} ${load:-} ${haproxy:-}; do kill "$each" && wait "$each"; done
  "$etcd" stop --dir "$TMPDIR/etcd"
} 2>/dev/null

# ---- three of them, and HAProxy by the recipe -------------------------------------------------------------------------

mapfile -t ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(7)]
for each in held: print(each.getsockname()[1])')
front=127.0.0.1:${ports[0]}
names=(a b c)
declare -A listen=([a]=${ports[1]} [b]=${ports[2]} [c]=${ports[3]}) health=([a]=${ports[4]} [b]=${ports[5]} [c]=${ports[6]})
endpoints=$("$etcd" start --dir "$TMPDIR/etcd" --members 3 --tls) || zoo_die "etcd did not start"

recipe() {
  local name servers=''
  for name in "${names[@]}"; do servers+="    server $name 127.0.0.1:${listen[$name]} check addr 127.0.0.1 port ${health[$name]}\\n"; done
  sed -E "s/192\.0\.2\.10:7443/$front/; s/^ *server zood-1 .*/$servers/; s/192\.0\.2\.11:7443/127.0.0.1:${listen[a]}/
    s/maxconn 20000/maxconn 2000\n    stats socket $(sed 's/[/&]/\\&/g' <<<"$TMPDIR/haproxy.sock")/; s|^    log /dev/log.*|    log stdout format raw daemon|" "$zoo_root/packaging/haproxy/haproxy.cfg"
}
recipe >"$TMPDIR/haproxy.cfg"
check "HAProxy takes its recipe with three of them" haproxy -c -q -f "$TMPDIR/haproxy.cfg"
haproxy -db -f "$TMPDIR/haproxy.cfg" >"$TMPDIR/haproxy.log" 2>&1 &
haproxy=$!
# sends_to NAME: HAProxy's own word that new connections go there.
sends_to() {
  python3 - "$TMPDIR/haproxy.sock" "$1" <<'P'
import csv, io, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
asked.sendall(b"show stat\n")
said = b"".join(iter(lambda: asked.recv(65536), b"")).decode().lstrip("# ")
sys.exit(0 if any(row["svname"] == sys.argv[2] and row["status"].startswith("UP") for row in csv.DictReader(io.StringIO(said))) else 1)
P
}

on() { zood_dir=$TMPDIR/$1; } # whom ctl asks
configuration() { # NAME, below what --join has written
  cat <<YAML
replicas: {name: $1}
advertise: $front
listen_proxy: {from: [127.0.0.1/32]}
health: {listen: '127.0.0.1:${health[$1]}'}
drain: {delay: 3s, watches: 3s}
drain_timeout: 20s
YAML
}
{ configuration a; echo "store: {driver: etcd, etcd: {endpoints: [$endpoints], prefix: /zood/balanced/, ca: etcd/pki/ca.crt, certificate: etcd/pki/client.crt, key: etcd/pki/client.key}}"; } >"$TMPDIR/a.yaml"
run_zood() {
  on "$1"
  start_zood --config "$TMPDIR/$1.yaml" --listen "127.0.0.1:${listen[$1]}"
}
run_zood a
check "an invitation" ctl replica invite -o "$TMPDIR/invitation"
for name in b c; do
  expect_match "$name joins" 'start it with' "$("$ZOO_BUILD/bin/zood" --join "$TMPDIR/invitation" --dir "$TMPDIR/$name" 2>&1)"
  { sed "s|etcd/|$TMPDIR/$name/etcd/|" "$TMPDIR/$name/zood.yaml" && configuration "$name"; } >"$TMPDIR/$name.yaml"
  run_zood "$name"
done
for name in "${names[@]}"; do eventually "HAProxy sends to $name" 30 sends_to "$name"; done
new_tenant id
unpack "$id"
expect "its kubeconfig names HAProxy" "https://$front" "$(<"$TMPDIR/$id.server")"
require "which leads to a zood" as "$id" get namespaces

# ---- one after the other is restarted ---------------------------------------------------------------------------------

"$leaving" -server "https://$front" -address "$front" -ca "$TMPDIR/$id.ca" -cert "$TMPDIR/$id.crt" -key "$TMPDIR/$id.key" \
  -watches "$watches" -rate "$rate" </dev/null >"$TMPDIR/report.json" 2>"$TMPDIR/leaving.log" &
load=$!
metric_of() { curl -s --unix-socket "$TMPDIR/$1/zood.sock" http://zood/metrics | awk -v name="$2" '$1 == name { print int($2); found = 1 } END { if (!found) print 0 }'; }
watching() {
  local name count=0
  for name in "${names[@]}"; do count=$((count + $(metric_of "$name" zood_watch_subscribers))); done
  ((count >= watches))
}
for name in "${names[@]}"; do
  eventually "all watches are there, before $name is restarted" 60 watching
  on "$name"
  stop_zood
  expect "$name ends in order" 0 $?
  run_zood "$name"
  eventually "HAProxy sends to $name again" 30 sends_to "$name"
done
eventually "all watches are there" 60 watching
clients_end "$load"
load=
check "there were requests" test "$(of .requests)" -gt $((rate * 10))
check "each watch was ended" test "$(of .ends)" -ge "$watches"
expect "behind a bookmark" "$(of .ends)" "$(of .bookmarkedEnds)"

# ---- one after the other is killed ------------------------------------------------------------------------------------

export HELM_CACHE_HOME=$TMPDIR/helm HELM_CONFIG_HOME=$TMPDIR/helm HELM_DATA_HOME=$TMPDIR/helm
deploys() { "$helm" --kubeconfig "$TMPDIR/$id.kubeconfig" upgrade --install web "$zoo_root/tests/e2e/chart" --set "greeting=hello-$1"; }
# Its definition counts against a ceiling, at which a zood that is killed may have the turn for a minute (docs/decisions/290).
check "Helm installs a chart" deploys all
ZOO_ADMIN=$ZOO_E2E_KUBECONFIG ZOO_TENANT_A=$TMPDIR/$id.kubeconfig ZOO_TENANT_A_ID=$id ZOO_INFORMERS=$informers \
  ZOO_STEADY=$TMPDIR/steady ZOO_ENDS=$TMPDIR/ends "$clients" -test.v -test.timeout 25m -test.run '^TestReplicas$' </dev/null >"$TMPDIR/clients.log" 2>&1 &
following=$!
over() { ! kill -0 "$following" 2>/dev/null; }
steady_or_over() { [[ -e $TMPDIR/steady ]] || over; }
eventually "$informers informers have synced" 180 steady_or_over
RANDOM=$$
note "seed $$"
end=$((SECONDS + seconds)) kills=0 helms=0
until ((SECONDS >= end)) || over; do
  begun=$SECONDS
  name=${names[RANDOM % 3]}
  on "$name"
  stop_zood KILL
  kills=$((kills + 1))
  # Who comes now is led to one that lives.
  check "kubectl writes without $name ($kills)" as "$id" create configmap "behind-$kills"
  check "and reads" as "$id" get configmap "behind-$kills"
  if ((kills % 5 == 2)); then
    helms=$((helms + 1))
    check "and Helm upgrades" deploys "$kills"
  fi
  run_zood "$name"
  eventually "HAProxy sends to $name again" 30 sends_to "$name"
  # All three live for a while, so that each may be the next to have most of the watches.
  until ((SECONDS >= begun + pause)) || over; do sleep 0.2; done
done
touch "$TMPDIR/ends"
wait "$following"
status=$?
following=
cat "$TMPDIR/clients.log"
expect "each informer has what upstream has, and never went back or listed again" 0 "$status"
check "zoods were killed" test "$kills" -ge 2
check "and Helm was at work" test "$helms" -ge 1
on a
expect "all three live" 3 "$(ctl replica list -o json | jq '.replicas | length')"
