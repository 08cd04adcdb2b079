#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 240
# Eviction by a tenant, within its PodDisruptionBudget; and a drain, which is the platform's, as a tenant sees it. It cordons
# node-2 for a moment: nothing else may run meanwhile.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes
new_tenant id
new_tenant other
at_end() {
  upstream uncordon node-2 >/dev/null
  remove_tenants
}
# check_says WHAT TEXT COMMAND...: it prints TEXT, however it ends.
check_says() { expect_match "$1" "$2" "$("${@:3}" 2>&1)"; }
pods_of() { as "$1" get pods -l app=web -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null)] | map(.metadata.name) | sort | join(" ")'; }
deploys() { # ID
  jq -c '{apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "web"}, spec: {replicas: 2, selector: {matchLabels: {app: "web"}}, template: {metadata: {labels: {app: "web"}}, spec: .spec}}}' \
    <<<"$(pod web "$busybox" '{"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100,
      "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}}]}}}' -- sleep 3600)" | as "$1" create -f -
}
evict() { as "$id" create --raw "/api/v1/namespaces/${2:-default}/pods/$1/eviction" -f - <<<"{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\", \"metadata\": {\"name\": \"$1\"}}"; }

check "a Deployment" deploys "$id"
check "another tenant's" deploys "$other"
require "is rolled out" as "$id" rollout status deployment/web --timeout=90s
require "as well" as "$other" rollout status deployment/web --timeout=90s
on_node() { as "$1" get pods -l app=web -o json | jq -r --arg node "$2" '[.items[] | select(.metadata.deletionTimestamp == null and .spec.nodeName == $node)] | map(.metadata.name) | join(" ")'; }

# ---- eviction
check "a budget that leaves nothing" as "$id" create pdb web --selector=app=web --min-available=2
counted() { as "$id" get pdb web -o 'jsonpath={.status.currentHealthy}'; }
eventually "is counted" 30 says 2 counted
read -r first _ < <(pods_of "$id")
check_fails "then a pod cannot be evicted" "Cannot evict pod as it would violate the pod's disruption budget" evict "$first"
expect "and stays" "" "$(as "$id" get pod "$first" -o 'jsonpath={.metadata.deletionTimestamp}')"
check "the budget gives way" as "$id" patch pdb web --type merge -p '{"spec": {"minAvailable": 1}}'
allowed() { as "$id" get pdb web -o 'jsonpath={.status.disruptionsAllowed}'; }
eventually "by one" 30 says 1 allowed
check "then it can" evict "$first"
is_gone() { ! as "$id" get pod "$first"; }
eventually "and goes" 30 is_gone
check "another one takes its place" as "$id" rollout status deployment/web --timeout=90s
theirs=$(pods_of "$other")
check_fails "nobody evicts another tenant's" 'not found' evict "${theirs% *}"
check_fails "nor by its namespace's name upstream" 'not found|forbidden' evict "${theirs% *}" "$other-default"
expect "they stay" "$theirs" "$(pods_of "$other")"

# ---- drain
# kubectl says that it cannot cordon the node, and goes on.
mine=$(on_node "$id" node-2) theirs=$(pods_of "$other")
check_says "a tenant cannot cordon a node" 'serves the pods of all tenants' as "$id" cordon node-2
check_says "nor when it drains it" 'serves the pods of all tenants' as "$id" drain node-2 --pod-selector=app=web --timeout=60s
expect "the node is as before" "" "$(upstream get node node-2 -o 'jsonpath={.spec.unschedulable}')"
expect "its own pods there were evicted" "" "$(for pod in $mine; do as "$id" get pod "$pod" --ignore-not-found -o name; done)"
expect "and nobody else's" "$theirs" "$(pods_of "$other")"
check "its Deployment is whole again" as "$id" rollout status deployment/web --timeout=90s
check "the platform drains the node" upstream drain node-2 --pod-selector=app=web --timeout=90s
expect "the tenant sees that nothing is scheduled there" true "$(as "$id" get node node-2 -o 'jsonpath={.spec.unschedulable}')"
for tenant in "$id" "$other"; do
  check "its Deployment is whole again" as "$tenant" rollout status deployment/web --timeout=90s
  expect "on the other node" "$(pods_of "$tenant")" "$(on_node "$tenant" node-1)"
done
check "the platform takes the node back" upstream uncordon node-2
