#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: replicas store gateway app
# timeout: 300
# Three zoods with one etcd: 180 creates of namespaces at once, sixty at each, at a ceiling of fifty make exactly fifty. Of twelve watches that a
# tenant may have, all at one zood leave the others four each.
. "$(dirname "$0")/../e2e/lib.sh"
etcd=$zoo_root/tests/upstream/etcd
at_end() { "$etcd" stop --dir "$TMPDIR/etcd"; }

endpoint=$("$etcd" start --dir "$TMPDIR/etcd" --tls) || zoo_die "etcd did not start"
declare -A addresses=()
on() { zood_dir=$TMPDIR/$1; } # whom ctl asks
run_zood() { # NAME
  on "$1"
  start_zood --config "$TMPDIR/$1.yaml"
  addresses[$1]=$zood_address
}
cat >"$TMPDIR/a.yaml" <<YAML
store: {driver: etcd, etcd: {endpoints: ["$endpoint"], prefix: /zood/three/, ca: etcd/pki/ca.crt, certificate: etcd/pki/client.crt, key: etcd/pki/client.key}}
replicas: {name: a}
YAML
run_zood a
new_tenant id
check "its ceiling is fifty namespaces" ctl tenant apply -f - <<<'{"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","metadata":{"name":"'"$id"'"},"spec":{"quota":{"namespaces":50},"flow":{"maxLongRunning":12}}}'
check "an invitation" ctl replica invite -o "$TMPDIR/invitation"
for name in b c; do
  expect_match "$name joins" 'start it with' "$("$ZOO_BUILD/bin/zood" --join "$TMPDIR/invitation" --dir "$TMPDIR/$name" 2>&1)"
  { sed "s|etcd/|$TMPDIR/$name/etcd/|" "$TMPDIR/$name/zood.yaml" && echo "replicas: {name: $name}"; } >"$TMPDIR/$name.yaml"
  run_zood "$name"
done
unpack "$id"

# creates COUNT NAME...: so many namespaces, at all these zoods at once; says how many answers there were of each status. What is told to
# come again later does.
creates() {
  local name where=()
  for name in "${@:2}"; do where+=("${addresses[$name]}"); done
  python3 - "$TMPDIR/$id" "$1" "${where[@]}" <<'PYTHON'
import collections, http.client, json, ssl, sys, threading, time
files, count, *addresses = sys.argv[1:]
context = ssl.create_default_context(cafile=files + ".ca")
context.load_cert_chain(files + ".crt", files + ".key")
body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "room-"}})
statuses, lock, gate = collections.Counter(), threading.Lock(), threading.Barrier(int(count))
def create(number):
    gate.wait()
    status, end = 429, time.monotonic() + 120
    while status == 429 and time.monotonic() < end:
        try:
            connection = http.client.HTTPSConnection(addresses[number % len(addresses)], context=context, timeout=60)
            connection.request("POST", "/api/v1/namespaces", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, later = answer.status, answer.headers.get("Retry-After")
            answer.read()
            connection.close()
        except OSError:
            status, later = 0, None
        if status == 429:
            time.sleep(float(later or 1))
    with lock:
        statuses[status] += 1
threads = [threading.Thread(target=create, args=(number,)) for number in range(int(count))]
for each in threads: each.start()
for each in threads: each.join()
print(*(f"{status}={number}" for status, number in sorted(statuses.items())))
PYTHON
}
rooms() { upstream get namespaces -o name | grep -c "^namespace/$id-room-"; }

expect "of 180 at once fifty are made" "201=50 403=130" "$(creates 180 a b c)"
expect "upstream has these" 50 "$(rooms)"
check "one goes" "$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" delete "$("$KUBECTL" --kubeconfig "$TMPDIR/$id.kubeconfig" get namespaces -o name | grep -m 1 /room-)"
expect "and makes room for one, at any zood" "201=1 403=5" "$(creates 6 c b a)"
expect "upstream has fifty again" 50 "$(rooms)"

# ---- what is told of requests in flight ------------------------------------------------------------------------------

# watches NAME: opens watches there, until one is refused, says how many it has, and holds them until its standard input ends.
watches() {
  python3 -c '
import http.client, ssl, sys
files, address = sys.argv[1:]
context = ssl.create_default_context(cafile=files + ".ca")
context.load_cert_chain(files + ".crt", files + ".key")
held = []
while len(held) < 50:
    connection = http.client.HTTPSConnection(address, context=context, timeout=30)
    connection.request("GET", "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=280")
    answer = connection.getresponse()
    if answer.status == 429:
        break
    assert answer.status == 200, answer.status
    held.append((connection, answer))
print(len(held), flush=True)
sys.stdin.read()' "$TMPDIR/$id" "${addresses[$1]}"
}
lets_in() { [[ $(watches "$1" </dev/null) == "$2" ]]; }
coproc holder { watches a; }
read -r -u "${holder[0]}" count
expect "one zood gives all of twelve watches where the others have none" 12 "$count"
eventually "another one hears of it, and gives its even part" 30 lets_in b 4
eventually "so does the third" 30 lets_in c 4
eval "exec ${holder[1]}>&-"
wait "$holder_PID"
eventually "all is free again, for any of them" 30 lets_in b 12
