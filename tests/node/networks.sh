#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants gateway app
# timeout: 300
# guards.network on real nodes: pods of an isolated tenant reach each other, pods of another tenant do not reach them, what the
# platform names does; and all of that ends where the Tenant is open again.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes 'guards: {network: isolated, network_from: ["kubernetes.io/metadata.name=zoo-ingress"]}'
new_tenant a
new_tenant b
at_end() {
  remove_tenants
  upstream delete namespace zoo-ingress --wait=false --ignore-not-found >/dev/null
}
check "a second namespace of the tenant's" as "$a" create namespace team
check "and the other's, with what the platform's is called" as "$b" create namespace zoo-ingress
server() { pod server "$agnhost" "{\"nodeSelector\": {\"kubernetes.io/hostname\": \"$1\"}}" -- /agnhost netexec --http-port=8080; }
client() { pod "$1" "$agnhost" "{\"nodeSelector\": {\"kubernetes.io/hostname\": \"$2\"}}" -- /agnhost pause; }
check "a server, which the node probes" create "$a" "$(server node-1 | jq -c '.spec.containers[0].readinessProbe = {httpGet: {path: "/hostname", port: 8080}, periodSeconds: 1}')"
check "a client beside it" create "$a" "$(client near node-1)"
check "one of another namespace, on the other node" as "$a" create -n team -f - <<<"$(client friend node-2)"
check "another tenant's server" create "$b" "$(server node-2)"
check "its client" create "$b" "$(client near node-1)"
check "and one in the namespace of that name" as "$b" create -n zoo-ingress -f - <<<"$(client poser node-1)"
check "the platform's namespace" upstream create namespace zoo-ingress
eventually "which has its ServiceAccount" 60 upstream get serviceaccount default -n zoo-ingress
check "with a client" upstream create -n zoo-ingress -f - <<<"$(client gate node-2)"
require "all run, for probes come from the node" ready "$a" pod --all
require "there" ready "$a" pod/friend -n team
require "and those of the other" ready "$b" pod --all
require "all" ready "$b" pod/poser -n zoo-ingress
require "the platform's, too" upstream wait -n zoo-ingress --for=condition=Ready --timeout=90s pod/gate
ip_of() { as "$1" get pod server -o 'jsonpath={.status.podIP}'; }
a_server=$(ip_of "$a") b_server=$(ip_of "$b")

# reaches TENANT CLIENT ADDRESS: CLIENT is POD or POD -n NAMESPACE. cannot: it gets no connection.
reaches() { as "$1" exec $2 -- curl -s --max-time 3 "http://$3:8080/hostname"; }
from_platform() { upstream exec -n zoo-ingress gate -- curl -s --max-time 3 "http://$1:8080/hostname"; }
cannot() {
  local status
  reaches "$@"
  status=$?
  ((status == 28)) || { echo "curl ended with $status, not by its time"; return 1; }
}

# ---- both are isolated
eventually "another tenant's pod does not reach the server" 30 cannot "$b" near "$a_server"
check "nor from a namespace with the platform's name" cannot "$b" "poser -n zoo-ingress" "$a_server"
check "one of the tenant's own does" reaches "$a" near "$a_server"
check "from its other namespace, too" reaches "$a" "friend -n team" "$a_server"
check "and so does the platform's" from_platform "$a_server"
check "the other tenant is closed as well" cannot "$a" near "$b_server"
check "its own pods reach each other" reaches "$b" near "$b_server"
check "port-forward comes from the node" eval '{ as "$a" port-forward pod/server :8080 & } >"$TMPDIR/forward" 2>&1; forward=$!; eventually "it listens" 30 grep -q "Forwarding from 127" "$TMPDIR/forward"; curl -s --max-time 5 "http://127.0.0.1:$(grep -oPm1 "127.0.0.1:\K[0-9]+" "$TMPDIR/forward")/hostname"; status=$?; kill "$forward"; ((status == 0))'

# ---- one opens its door, and one alone
check "the tenant lets in addresses by a policy of its own" create "$a" '{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"door"},"spec":{"podSelector":{"matchLabels":{"app":"server"}},"ingress":[{"from":[{"ipBlock":{"cidr":"0.0.0.0/0"}}]}]}}'
eventually "then the other tenant's pod reaches it" 30 reaches "$b" near "$a_server"
check "which opens nobody else's" cannot "$a" near "$b_server"
check "it closes it again" as "$a" delete networkpolicy --all
eventually "and it is closed" 30 cannot "$b" near "$a_server"

# ---- the platform opens it
isolates() { curl -sSf --unix-socket "$zood_dir/zood.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' -o /dev/null -d '{"spec":{"guards":{"network":'"$2"'}}}' "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$1"; }
check "the Tenant is open" isolates "$a" '"open"'
eventually "then the other tenant's pod reaches the server" 60 reaches "$b" near "$a_server"
check "and the other tenant stays closed" cannot "$a" near "$b_server"
check "it is isolated again" isolates "$a" null
eventually "then it does not" 60 cannot "$b" near "$a_server"
check "and its own do" reaches "$a" "friend -n team" "$a_server"
