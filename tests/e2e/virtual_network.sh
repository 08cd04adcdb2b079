#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters net
# step: all
# timeout: 900
# What of its own network a virtual cluster's API server reaches, on fake nodes: its pods by the addresses that the upstream says, what is
# behind its Services, each endpoint judged; and no other pod or Service, nor the upstream's API and nodes. That bytes come from real pods is
# shown in tests/node.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

# Its API has another address beside loopback, as the Service of its API says; and so has one of its nodes.
api=192.0.2.10 node=192.0.2.11
own_upstream --nodes 2 --apiserver-arg "--advertise-address=$api"
upstream create -f - >/dev/null <<YAML
{apiVersion: v1, kind: Node, metadata: {name: far}, spec: {unschedulable: true}, status: {addresses: [{type: InternalIP, address: $node}]}}
YAML
hook_pid='' silent=''
at_end() {
  local each
  for each in $hook_pid $silent; do kill "$each" 2>/dev/null && wait "$each" 2>/dev/null; done
  end_keeper
}
own=$(hostname -I | tr ' ' '\n' | grep -m 1 -E '^[0-9.]+$')
require "this machine has an address" test -n "$own"
silent_server treasure 0.0.0.0
treasure=$silent_port
hook_server "$own" hook.default.svc

check_fails "what is opened is judged before zood starts" "clusters.egress_allow: 'nowhere' is neither a network" \
  "$ZOO_BUILD/bin/zood" --dir "$TMPDIR/none" --upstream "$ZOO_E2E_KUBECONFIG" --check-config --config <(echo 'clusters: {egress_allow: [nowhere]}')
start_clusters "  egress_allow: [\"$own:$hook_port\"]"
require "a cluster" ctl cluster create t1 --node kwok-1 --dns none
require "somebody else's" ctl cluster create t2 --node kwok-1 --dns none
for each in t1 t2; do check "the kubeconfig of $each" ctl cluster connect "$each" --kubeconfig-file "$TMPDIR/$each.kubeconfig"; done
id=$(cluster_id t1)

# ---- pods ----------------------------------------------------------------------------------------------------------

for each in t1 t2; do check "a pod in $each" as "$each" run web --image=registry.example/web; done
runs() { [[ $(as "$1" get pod web -o 'jsonpath={.status.phase}') == Running ]]; }
for each in t1 t2; do eventually "that of $each runs" 60 runs "$each"; done
address() { as "$1" get pod web -o 'jsonpath={.status.podIP}'; }
proxied() { as t1 get --raw "/api/v1/namespaces/default/pods/$1/proxy/" --request-timeout=20s 2>&1; }
is_dialled() { local said; said=$(proxied "$1"); ! says_line -E 'egress.sock while dialing .* code 403' <<<"$said" || { echo "$said"; return 1; }; }
eventually "its own pod is dialled, which no fake pod answers" 60 is_dialled web:8080
is_refused() { local said; said=$(proxied "$1"); says_line -E "$2" <<<"$said" || { echo "$said"; return 1; }; }
check "a pod that says it has the other one's address" as t1 patch pod web --subresource=status --type merge \
  -p "{\"status\":{\"podIP\":\"$(address t2)\",\"podIPs\":[{\"ip\":\"$(address t2)\"}]}}"
eventually "is not asked there" 30 is_refused web:8080 "$(address t2) is of a (pod|Service) that is not the virtual cluster's"
check "nor one with this machine's address" as t1 patch pod web --subresource=status --type merge \
  -p "{\"status\":{\"podIP\":\"$own\",\"podIPs\":[{\"ip\":\"$own\"}]}}"
eventually "at what is not opened" 30 is_refused "https:web:$treasure" "$own is of zood's own machine"
expect "what is opened is reached" "hook at /hello" "$(as t1 get --raw "/api/v1/namespaces/default/pods/https:web:$hook_port/proxy/hello")"

# ---- Services ------------------------------------------------------------------------------------------------------

service() { service_to "$@" | as t1 apply -f -; } # NAME ADDRESS PORT
hook() { as t1 apply -f - < <(hook_by "service: {name: $1, namespace: default, path: /}"); } # SERVICE
hook_at() { as t1 apply -f - < <(hook_by "url: \"$1\""); }                                      # URL
answers() { local said; said=$(as t1 create configmap asked --dry-run=server 2>&1); grep -qE -- "$1" <<<"$said" || { echo "$said"; return 1; }; }
check "a Service at a place that is opened" service hook "$own" "$hook_port"
check "a webhook by that Service" hook hook
eventually "is asked" 30 answers 'asked by the cluster'
# Connections to a webhook stay: each of these has a name of its own.
check "a Service at the treasure" service treasure "$own" "$treasure"
check "a webhook there" hook treasure
eventually "is refused" 30 answers "$own is of zood's own machine"
check "one that leads to the other cluster's pod" service sly "$(address t2)" 443
check "a webhook there, too" hook sly
eventually "is refused, too" 30 answers 'is of a (pod|Service) that is not'
check "one without endpoints" as t1 create service clusterip empty --tcp=443:443
check "a webhook there" hook empty
eventually "says so" 30 answers 'no endpoint that is ready|no endpoints available'
check "a webhook at no Service" hook nothing
eventually "is none" 30 answers 'service "nothing" not found'
for each in "$api" "$node"; do
  check "a webhook by URL at $each" hook_at "https://$each:6443/"
  eventually "is refused as the upstream's" 90 answers "$each is of the upstream's API or of one of its nodes"
done
check "the webhook goes" as t1 delete validatingwebhookconfiguration hook
aggregated() { # SERVICE
  as t1 apply -f - <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.own.test}
spec: {group: own.test, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: $1, port: 443}}
YAML
}
check "a Service for an aggregated API" service api "$own" "$hook_port"
check "the API" aggregated api
served() { [[ $(as t1 get --raw /apis/own.test/v1/things) == "hook at /apis/own.test/v1/things" ]]; }
eventually "is served" 60 served
expect "nobody has reached the treasure" 0 "$(grep -c asked "$TMPDIR/treasure")"
expect_match "what was refused is counted" "zood_virtual_cluster_egress_refused_total\{id=\"$id\"\} [1-9]" \
  "$(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics)"
check "both go" ctl cluster delete t1 t2 --timeout 120s
