#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters net http
# timeout: 400
# The administrator of a virtual cluster, who may do anything in it, has its API server ask for what is zood's machine's, the upstream's
# and other clusters': by webhooks, Nodes, Services, aggregated APIs, conversions, redirects; and whoever gets at the socket itself says things to
# it that two readers could understand in two ways. Nothing of it reaches a listener.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

hook_pid='' silent=''
at_end() {
  local each
  for each in $hook_pid $silent; do kill "$each" 2>/dev/null && wait "$each" 2>/dev/null; done
  end_keeper
}
# What must not be reached: whoever connects to it is written down.
silent_server treasure 0.0.0.0
treasure=$silent_port
untouched() { expect "nobody has reached the treasure ($1)" 0 "$(grep -c asked "$TMPDIR/treasure")"; }
hook_server

start_clusters "  egress_allow: [\"127.0.0.1:$hook_port\"]"
require "the attacker's cluster" ctl cluster create evil
require "somebody else's" ctl cluster create victim
for each in evil victim; do check "the kubeconfig of $each" ctl cluster connect "$each" --kubeconfig-file "$TMPDIR/$each.kubeconfig"; done
id=$(cluster_id evil)
socket=$zood_dir/clusters/$id/egress.sock
address_of() { # of the API server of a cluster
  tr '\0' '\n' </proc/"$(component_pid "$1" kube-apiserver)"/cmdline | sed -n 's/^--bind-address=//p'
}
upstream_server=$(upstream config view -o 'jsonpath={.clusters[0].cluster.server}')
own=$(hostname -I | tr ' ' '\n' | grep -m 1 -E '^[0-9.]+$')
require "this machine has an address" test -n "$own"

# ---- webhooks by URL ------------------------------------------------------------------------------------------------

hook() { as evil apply -f - < <(hook_by "url: \"$1\""); } # URL
asked() { as evil create configmap asked --dry-run=server 2>&1; }
answers() { grep -qE -- "$1" <<<"$(asked)"; }
while read -r url says; do
  require "a webhook at $url" hook "$url"
  eventually "is refused in words: $says" 30 answers "$says"
done <<T
https://127.0.0.1:$treasure/ 403.*127.0.0.1 is of loopback
https://localhost:$treasure/ 403.*localhost is of loopback
https://LOCALHOST:$treasure/ 403.*localhost is of loopback
https://[::1]:$treasure/ 403.*is of loopback
https://[::ffff:127.0.0.1]:$treasure/ 403.*has another address in it
https://0.0.0.0:$treasure/ 403.*0.0.0.0 is unspecified
https://2130706433:$treasure/ 403.*127.0.0.1 is of loopback
https://127.1:$treasure/ 403.*127.0.0.1 is of loopback
https://0x7f.0.0.1:$treasure/ 403.*127.0.0.1 is of loopback
https://$own:$treasure/ 403.*$own is of zood's own machine
https://$(hostname):$treasure/ 403.*is of (loopback|zood's own machine)
https://169.254.169.254/latest/meta-data 403.*is link-local
https://[fe80::1]/ 403.*is link-local
https://224.0.0.1/ 403.*of a group
https://100.100.100.200/ 403.*tells machines of a cloud
https://168.63.129.16/ 403.*tells machines of a cloud
https://$(address_of victim):26443/ 403.*is of loopback
https://$(address_of evil):23790/ 403.*is of loopback
${upstream_server/localhost/127.0.0.1}/api/v1/secrets 403.*is of (loopback|the upstream)
https://$zood_address/ 403.*is of loopback
https://no-such-host.invalid/ 502.*no host with the name
https://zood.internal:8443/ 403.*answered by zood alone
https://127.0.0.1:$((hook_port == 1 ? 2 : 1))/ 403.*is of loopback
T
check "one at an honest place" hook "https://127.0.0.1:$hook_port/"
eventually "is asked" 30 answers 'asked by the cluster'
check "which sends on to the treasure" hook "https://127.0.0.1:$hook_port/redirect/127.0.0.1:$treasure"
eventually "and nobody follows" 30 answers 'Internal error occurred'
check "the webhook goes" as evil delete validatingwebhookconfiguration hook
untouched webhooks

# ---- Nodes, Services, aggregated APIs -------------------------------------------------------------------------------

node() { # ADDRESS PORT
  as evil apply -f - <<'YAML' &&
apiVersion: v1
kind: Node
metadata: {name: node-1}
YAML
    as evil patch node node-1 --subresource=status --type merge \
      -p "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"$1\"}],\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":$2}}}}"
}
check "a Node at the treasure" node "$own" "$treasure"
check_fails "its kubelet is not asked" "is of zood's own machine" as evil get --raw /api/v1/nodes/node-1/proxy/pods
check_fails "nor at a port of the path" "is of zood's own machine" as evil get --raw "/api/v1/nodes/node-1:$treasure/proxy/"
check "a Node with this machine's address" node "$own" 10250
expect "has kubelets of zood's alone" ok "$(as evil get --raw /api/v1/nodes/node-1/proxy/healthz)"
for path in /containerLogs/kube-system/etcd/etcd /exec/default/p/c?command=id /run/default/p/c /configz /logs/ /metrics /debug/pprof/ \
  /stats/summary /containerLogs/..%2f..%2fdefault/p/c; do
  check_fails "which have nothing at $path" 'Error from server \((NotFound|BadRequest)\)' as evil get --raw "/api/v1/nodes/node-1/proxy$path"
done
expect "and no pods but its own" "" "$(as evil get --raw /api/v1/nodes/node-1/proxy/pods | jq -r '.items[].metadata.name')"
service() { # NAME ADDRESS PORT, and Endpoints as well
  { service_to "$@" && cat <<YAML; } | as evil apply -f -
apiVersion: v1
kind: Endpoints
metadata: {name: $1}
subsets: [{addresses: [{ip: "$2", targetRef: {kind: Pod, namespace: default, name: bait}}], ports: [{name: p, port: $3}]}]
YAML
}
check "a Service that leads to this machine" service s "$own" "$treasure"
bait() { # a pod that says it has this machine's address
  as evil apply -f - <<'YAML' &&
apiVersion: v1
kind: Pod
metadata: {name: bait}
spec:
  nodeName: node-1
  containers: [{name: c, image: none.test/c}]
YAML
    as evil patch pod bait --subresource=status --type merge -p "{\"status\":{\"podIP\":\"$own\",\"podIPs\":[{\"ip\":\"$own\"}]}}"
}
check "a pod with this machine's address" bait
for path in "services/https:s:p" "pods/https:bait:$treasure"; do
  check_fails "$path is not asked by proxy" "is of zood's own machine" as evil get --raw "/api/v1/namespaces/default/$path/proxy/"
done
as evil apply -f - >/dev/null <<'YAML'
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.evil.test}
spec: {group: evil.test, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: s, port: 443}}
YAML
unavailable() { [[ $(as evil get apiservice v1.evil.test -o 'jsonpath={.status.conditions[0].status}') == False ]]; }
eventually "an aggregated API there is not available" 60 unavailable
check_fails "and not served" 'unavailable|unable|could not find|not able' as evil get --raw /apis/evil.test/v1
check "it goes" as evil delete apiservice v1.evil.test
hook_by_service() { as evil apply -f - < <(hook_by "service: {name: $1, namespace: default, port: $2}"); } # NAME PORT
while read -r name host says; do
  check "a Service that is another name of $host" as evil create service externalname "$name" --external-name "$host" --tcp="$treasure"
  check "a webhook by it" hook_by_service "$name" "$treasure"
  eventually "is refused in words: $says" 30 answers "$says"
done <<T
local localhost localhost is of loopback
bastion $own $own is of zood's own machine
T
check "the webhook goes" as evil delete validatingwebhookconfiguration hook
converts() { # URL
  as evil apply -f - <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.evil.test}
spec:
  group: evil.test
  scope: Cluster
  names: {plural: things, singular: thing, kind: Thing}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "$1", caBundle: $(base64 -w0 <"$TMPDIR/hook.crt")}}}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
YAML
}
check "a definition with a webhook that converts" converts "https://127.0.0.1:$treasure/"
thing() { as evil apply -f - <<<'{"apiVersion": "evil.test/v1", "kind": "Thing", "metadata": {"name": "a"}}'; }
eventually "an object of it" 30 thing
converted() { grep -qE -- "$1" <<<"$(as evil get --raw /apis/evil.test/v2/things/a 2>&1)"; }
eventually "in its other version is not asked for at loopback" 30 converted '127.0.0.1 is of loopback'
check "the webhook is elsewhere" converts "https://$own:$treasure/"
eventually "nor at this machine" 30 converted "$own is of zood's own machine"
untouched "Nodes, Services, aggregated APIs, conversions"

# ---- at the socket itself -------------------------------------------------------------------------------------------

expect "nobody but zood and the cluster gets at it" "700 600" "$(stat -c %a "${socket%/*}") $(stat -c %a "$socket")"
# said BYTES: with escapes of Python; all that is answered until the end.
said() {
  python3 - "$socket" "$1" <<'P'
import socket, sys
door = socket.socket(socket.AF_UNIX)
door.settimeout(20)
door.connect(sys.argv[1])
door.sendall(sys.argv[2].encode().decode("unicode_escape").encode("latin-1"))
out = b""
try:
    while piece := door.recv(65536):
        out += piece
except ConnectionError:
    pass
print(out.decode("latin-1"))
P
}
to="CONNECT 127.0.0.1:$hook_port HTTP/1.1"
while IFS='|' read -r what status bytes; do
  answer=$(said "$bytes")
  expect_match "$what" "^HTTP/1.1 $status " "$answer"
  expect "is answered once" 1 "$(grep -c '^HTTP/1.1 ' <<<"$answer")"
done <<T
two requests in one write|400|$to\\r\\n\\r\\nCONNECT 127.0.0.1:$treasure HTTP/1.1\\r\\n\\r\\n
a request behind it|400|$to\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: 127.0.0.1:$treasure\\r\\n\\r\\n
an absolute form|405|GET http://127.0.0.1:$treasure/ HTTP/1.1\\r\\n\\r\\n
CONNECT to a URL|400|CONNECT http://127.0.0.1:$treasure/ HTTP/1.1\\r\\n\\r\\n
in lower case|405|connect 127.0.0.1:$treasure HTTP/1.1\\r\\n\\r\\n
a body|400|$to\\r\\nContent-Length: 4\\r\\n\\r\\nabcd
chunks|400|$to\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n
a folded field|400|$to\\r\\nX: a\\r\\n b\\r\\n\\r\\n
two Hosts|400|$to\\r\\nHost: a\\r\\nHost: b\\r\\n\\r\\n
ends of lines that are none|400|$to\\n\\n
a bare carriage return|400|$to\\r\\nX: a\\rb\\r\\n\\r\\n
NUL in the target|400|CONNECT 127.0.0.1:$hook_port\\x00.example:443 HTTP/1.1\\r\\n\\r\\n
NUL in a field|400|$to\\r\\nX: \\x00\\r\\n\\r\\n
somebody's name and password|400|CONNECT a:b@127.0.0.1:$treasure HTTP/1.1\\r\\n\\r\\n
a zone|400|CONNECT [fe80::1%25lo]:$treasure HTTP/1.1\\r\\n\\r\\n
a blank in the target|505|CONNECT 127.0.0.1:$hook_port 127.0.0.1:$treasure HTTP/1.1\\r\\n\\r\\n
an old version|505|CONNECT 127.0.0.1:$hook_port HTTP/1.0\\r\\n\\r\\n
HTTP/2|405|PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n
port 0|400|CONNECT 127.0.0.1:0 HTTP/1.1\\r\\n\\r\\n
a port with a zero before it|400|CONNECT 127.0.0.1:0$treasure HTTP/1.1\\r\\n\\r\\n
the treasure|403|CONNECT 127.0.0.1:$treasure HTTP/1.1\\r\\nHost: 127.0.0.1:$hook_port\\r\\n\\r\\n
T
many=$(printf 'X: y\\r\\n%.0s' $(seq 40))
expect_match "a flood of fields" '^HTTP/1.1 431 ' "$(said "$to\\r\\n$many\\r\\n")"
expect_match "a head without end" '^HTTP/1.1 431 ' "$(said "$to\\r\\nX: $(printf 'y%.0s' $(seq 5000))")"
expect_match "one that stops is ended" '^HTTP/1.1 408 ' "$(said "$to\\r\\nX: ")"
crowd() { # more than there may be, that say nothing
  python3 - "$socket" <<'P'
import socket, sys
kept = []
for _ in range(600):
    door = socket.socket(socket.AF_UNIX)
    door.connect(sys.argv[1])
    kept.append(door)
P
}
check "six hundred connections at once" crowd
served() { said "CONNECT 127.0.0.1:$treasure HTTP/1.1\\r\\n\\r\\n" | says_line '^HTTP/1.1 403 '; }
eventually "and it answers" 30 served
untouched "the socket"
# ---- Services, and what pods need: nobody has another's ------------------------------------------------------------------

require "a thief with a node" ctl cluster create thief --node kwok-1
require "and its mark" ctl cluster create mark --node kwok-2
is_synced() { [[ $(field "$1" '[.status.conditions[] | select(.type == "Synced") | .status][0]') == True ]]; }
for each in thief mark; do
  check "the kubeconfig of $each" ctl cluster connect "$each" --kubeconfig-file "$TMPDIR/$each.kubeconfig"
  eventually "$each is read" 90 is_synced "$each"
done
thief=$(cluster_id thief) mark=$(cluster_id mark)
marks() { upstream get "$1" -n "$mark-default" -o json | jq -S '[.items[] | {(.metadata.name): (.metadata.uid + .metadata.resourceVersion)}] | add'; }
check "the mark's Service" as mark create service nodeport db --tcp=5432
check "its Secret" as mark create secret generic word --from-literal=word=s3cret
check "and its pod" as mark run web --image=registry.example/x --overrides='{"spec":{"containers":[{"name":"c","image":"registry.example/x","envFrom":[{"secretRef":{"name":"word"}}]}]}}'
mark_secret() { [[ -n $(upstream get secret -n "$mark-default" word -o name --ignore-not-found) && $(upstream get secrets -n "$mark-default" -o name | grep -c zoo-token) == 1 ]]; }
eventually "are upstream" 60 mark_secret
before=$(marks services,secrets,configmaps)
steals() { as thief apply -f - 2>&1 <<<"$1"; }
address=$(as mark get service db -o 'jsonpath={.spec.clusterIP}') port=$(as mark get service db -o 'jsonpath={.spec.ports[0].nodePort}')
service() { echo "{apiVersion: v1, kind: Service, metadata: $1, spec: $2}"; }
expect_match "another's ClusterIP" 'already allocated' "$(steals "$(service '{name: a}' "{clusterIP: $address, ports: [{port: 80}]}")")"
expect_match "another's nodePort" 'already allocated' "$(steals "$(service '{name: b}' "{type: NodePort, ports: [{port: 80, nodePort: $port}]}")")"
expect_match "addresses from outside" 'external-ips' "$(steals "$(service '{name: c}' "{externalIPs: [$address], ports: [{port: 80}]}")")"
expect "none of them is in the thief's cluster" kubernetes "$(as thief get services -o json | jq -r '[.items[].metadata.name] | join(" ")')"
check "without the hook" as thief delete mutatingwebhookconfiguration zoo-services
unasked() { steals "$(service '{name: a}' "{clusterIP: $address, ports: [{port: 80}]}")"; }
eventually "nobody is asked any more" 30 unasked
taken() { as thief get events -o json | jq -r '.items[] | select(.reason == "NotSynced") | .message' | says_line "$1"; }
eventually "another's ClusterIP stays another's, and an event says so" 60 taken 'already allocated'
expect "it is not upstream" "" "$(upstream get service -n "$thief-default" a -o name --ignore-not-found)"
check "a Service by name" steals "$(service '{name: d}' "{type: ExternalName, externalName: db.$mark-default.svc.cluster.local}")"
named() { [[ $(upstream get service -n "$thief-default" d -o 'jsonpath={.spec.externalName}' --ignore-not-found) == "db.$thief-$mark-default.svc.cluster.local" ]]; }
eventually "names the thief's own namespace" 30 named
check "a Service with the marks of zood, and owners" steals "$(service "{name: e, labels: {clusters.zoo.kubezoo.io/id: $mark}, annotations: {clusters.zoo.kubezoo.io/uid: \"\", clusters.zoo.kubezoo.io/hash: x}, ownerReferences: [{apiVersion: v1, kind: ServiceAccount, name: default, uid: $(as thief get serviceaccount default -o 'jsonpath={.metadata.uid}')}]}" '{clusterIP: None}')"
own_marks() { [[ $(upstream get service -n "$thief-default" e -o json --ignore-not-found | jq -r '"\(.metadata.labels["clusters.zoo.kubezoo.io/id"]) \(.metadata.annotations["clusters.zoo.kubezoo.io/uid"]) \(.metadata.ownerReferences)"') == "$thief $(as thief get service e -o 'jsonpath={.metadata.uid}') null" ]]; }
eventually "has zood's own, and none" 30 own_marks
check "a namespace called as the mark's upstream" as thief create namespace "$mark-default"
token=$(upstream get secrets -n "$mark-default" -o name | sed -n 's|^secret/||; /^zoo-token/p')
for space in default "$mark-default"; do
  eventually "an account in $space" 30 as thief get serviceaccount default -n "$space"
  check "a pod in $space that names the mark's" as thief run "grab" -n "$space" --image=registry.example/x --overrides="{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"registry.example/x\",\"envFrom\":[{\"secretRef\":{\"name\":\"word\"}},{\"secretRef\":{\"name\":\"$token\"}},{\"configMapRef\":{\"name\":\"zoo-root-ca.crt\"}},{\"configMapRef\":{\"name\":\"kube-root-ca.crt\"}}]}]}}"
  grabs() { [[ $(upstream get pod -n "$thief-$space" grab -o json --ignore-not-found | jq -r '[.spec.containers[0].envFrom[] | (.secretRef // .configMapRef).name] | join(" ")') == "word $token.cluster zoo-root-ca.crt.cluster kube-root-ca.crt.cluster" ]]; }
  eventually "has none of it" 60 grabs
  expect "not even the Secret" "" "$(upstream get secret -n "$thief-$space" word -o name --ignore-not-found)"
done
long=$(printf 'n%.0s' $(seq 63))
hooked() { as thief get mutatingwebhookconfiguration zoo-services -o name; }
eventually "the hook is back" 60 hooked
check "a namespace whose name is too long upstream" as thief create namespace "$long"
expect_match "has no Service, and it says why" '56 characters' "$(as thief create service clusterip a --tcp=80 -n "$long" 2>&1)"
check "the longest one that may be" as thief create namespace "${long:0:56}"
check "has one" as thief create service clusterip "${long:0:63}" --tcp=80 -n "${long:0:56}"
unpack thief
check "the hook, asked about another thing" as thief apply -f - < <(hook_by 'url: "https://zood.internal/services"' misled "$TMPDIR/thief.ca")
misled() { grep -q 'asked about Services alone' <<<"$(as thief create configmap x --dry-run=server 2>&1)"; }
eventually "answers that it is" 30 misled
expect "the mark has what it had" "$before" "$(marks services,secrets,configmaps)"
check "they go" ctl cluster delete thief mark --timeout 120s

expect "the victim has not been touched" Initialized "$(field victim .status.phase)"
expect "and zood lives" "${zood_pids[$zood_dir]}" "$(jobs -rp | grep -x "${zood_pids[$zood_dir]}")"
check "both go" ctl cluster delete evil victim
