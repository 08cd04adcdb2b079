#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 300
# NetworkPolicies of tenants on real nodes: isolation within one tenant, between its namespaces, and from another tenant
# whose pods carry the same labels.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes
new_tenant a
new_tenant b
check "a second namespace of the tenant's" as "$a" create namespace team
server() { pod server "$agnhost" "{\"nodeSelector\": {\"kubernetes.io/hostname\": \"$1\"}}" -- /agnhost netexec --http-port=8080; }
client() { pod "$1" "$agnhost" "{\"nodeSelector\": {\"kubernetes.io/hostname\": \"$2\"}}" -- /agnhost pause; }
check "a server" create "$a" "$(server node-1)"
check "a client beside it" create "$a" "$(client near node-1)"
check "one on the other node" create "$a" "$(client far node-2)"
check "one in another namespace" as "$a" create -n team -f - <<<"$(client friend node-2)"
check "another tenant's server" create "$b" "$(server node-2)"
check "its client, with a name of the first one's" create "$b" "$(client near node-1)"
check "and in a namespace of that name" as "$b" create namespace team
check "a client" as "$b" create -n team -f - <<<"$(client friend node-1)"
require "all run" ready "$a" pod --all
require "there" ready "$a" pod/friend -n team
require "and those of the other" ready "$b" pod --all
require "all" ready "$b" pod/friend -n team
ip_of() { as "$1" get pod server -o 'jsonpath={.status.podIP}'; }
a_server=$(ip_of "$a") b_server=$(ip_of "$b")

# reaches TENANT CLIENT ADDRESS: CLIENT is POD or POD -n NAMESPACE. cannot: it gets no connection.
reaches() { as "$1" exec $2 -- curl -s --max-time 3 "http://$3:8080/hostname"; }
cannot() {
  local status
  reaches "$@"
  status=$?
  ((status == 28)) || { echo "curl ended with $status, not by its time"; return 1; }
}
policy() { jq -cn --arg name "$1" --argjson spec "$2" '{apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: {name: $name}, spec: $spec}'; }

# ---- without a policy
check "a near client reaches the server" reaches "$a" near "$a_server"
check "a far one" reaches "$a" far "$a_server"
check "and so does another tenant's, for the network is one" reaches "$b" near "$a_server"

# ---- within a tenant
check "a policy that admits one client" create "$a" "$(policy server '{"podSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "near"}}}]}]}')"
eventually "shuts out the far one" 30 cannot "$a" far "$a_server"
check "admits the near one" reaches "$a" near "$a_server"
check "not the other namespace's" cannot "$a" "friend -n team" "$a_server"
check "nor another tenant's with the same label" cannot "$b" near "$a_server"

# ---- between namespaces, which have the same names at both tenants
check "it admits a namespace by its name" as "$a" patch networkpolicy server --type merge \
  -p '{"spec": {"ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}}]}]}}'
eventually "whose client gets in" 30 reaches "$a" "friend -n team" "$a_server"
eventually "the near one does not any more" 30 cannot "$a" near "$a_server"
check "nor does the client of the other tenant's namespace of that name" cannot "$b" "friend -n team" "$a_server"
check "it admits all namespaces" as "$a" patch networkpolicy server --type merge -p '{"spec": {"ingress": [{"from": [{"namespaceSelector": {}}]}]}}'
eventually "then all of the tenant's get in" 30 reaches "$a" near "$a_server"
check "of both namespaces" reaches "$a" "friend -n team" "$a_server"
check "and nobody of the other tenant's" cannot "$b" near "$a_server"
check "from none of its namespaces" cannot "$b" "friend -n team" "$a_server"

# ---- outwards
check "before, the tenant reaches the other's server" reaches "$a" near "$b_server"
check "a policy for what leaves" create "$a" "$(policy inside '{"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [{"namespaceSelector": {}}]}]}')"
eventually "then it does not" 30 cannot "$a" near "$b_server"
check "its own one it does" reaches "$a" near "$a_server"
check "the other tenant is not touched by that" reaches "$b" near "$b_server"

# ---- and back
check "the policies go" as "$a" delete networkpolicy --all
eventually "and all is open again" 30 reaches "$a" far "$a_server"
eventually "outwards, too" 30 reaches "$a" near "$b_server"
