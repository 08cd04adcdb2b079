# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to watch each version of each of its own kinds in each encoding, which nobody else can share.
# Without the fence: each is a connection upstream, of which there are as many as all tenants together may have.
# Rule: these streams are counted for the tenant whose kinds they are, with its logs and tunnels: a quarter of a loop's connections.
versions=$(jq -cn '[range(1; 17) | {name: "v\(.)", served: true, storage: (. == 1), schema: {openAPIV3Schema: {type: "object"}}}]')
for n in {1..40}; do
  made "definition $n" POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions json '{"metadata":{"name":"things.own'$n'.example"},"spec":{"group":"own'$n'.example","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},"versions":'"$versions"'}}'
done
served() { lists "$evil" "https://$zood_address/apis/own40.example/v16/things" | says_line ThingList; }
eventually "the last one is served" 60 served
# Upstream knows of each what has changed since it was first asked for: at a version before that a watch is told 410 and begins anew, and
# where its tenant has all that it may by then, it ends instead of being refused.
for n in {1..640}; do
  printf 'url = "%s"\noutput = "/dev/null"\n' "https://$zood_address/apis/own$(((n - 1) / 16 + 1)).example/v$(((n - 1) % 16 + 1))/things?resourceVersion=0"
done >"$TMPDIR/to_ask"
ask_the_others() {
  lists "$evil" -K "$TMPDIR/to_ask" -w '%{http_code} %{url}\n' >"$TMPDIR/asked"
  (($(wc -l <"$TMPDIR/asked") * 2 == $(wc -l <"$TMPDIR/to_ask"))) || return 1
  sed -n '/^200 /!s/^[0-9]* \(.*\)/url = "\1"\noutput = "\/dev\/null"/p' "$TMPDIR/asked" >"$TMPDIR/to_ask"
  [[ ! -s $TMPDIR/to_ask ]]
}
eventually "upstream serves each of them from its cache" 240 ask_the_others
version=$(lists "$evil" "https://$zood_address/apis/own1.example/v1/things" | jq -r .metadata.resourceVersion)
busy() { curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '/^zood_upstream_connections.*busy/ { print $2 }'; }
while sleep 0.5; do busy; done >"$TMPDIR/busy" &
asking=$!
flood watches_of_own_kinds 20 "/apis/own{}.example/v{}/things?watch=1&resourceVersion=$version"
kill "$asking"
wait "$asking" 2>/dev/null
read -r watches _ refused _ <"$TMPDIR/flood"
expect "each is watched or refused" 1280 $((watches + refused))
# Each begins with a list, for a moment, and comes after the others: what is held is what was seen most often, with zood's own watches.
held=$(sort -n "$TMPDIR/busy" | uniq -c | sort -n | awk 'END { print $2 }')
if ((refused > 0 && held > 900 && held < 1050)); then
  passed "of two loops' 4,000 connections it has a quarter at most"
else
  failed "of two loops' 4,000 connections it has a quarter at most" <<<"$refused refused; $held were busy"
fi
would "watch each of them" GET "/apis/$evil-own40.example/v16/things?watch=1&timeoutSeconds=1"
