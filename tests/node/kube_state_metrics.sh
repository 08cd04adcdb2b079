#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream tenants
# timeout: 300
# kube-state-metrics as its project installs it, at two tenants at the same time: it watches some thirty kinds through zood, and
# tells of the objects of its own tenant alone.
. "$(dirname "$0")/lib.sh"

kustomization=$("$zoo_root/tests/node/up" manifests)/kube-state-metrics
start_zood_for_pods
new_tenant a
new_tenant b
given_access "$a" "$b"
for id in "$a" "$b"; do
  check "it is applied at $id" as "$id" apply -k "$kustomization"
  check "a pod to be told of" create "$id" "$(pod "of-$id" "$tools" -- /agnhost pause)"
done
for id in "$a" "$b"; do
  require "it is rolled out at $id" as "$id" -n kube-system rollout status deployment/kube-state-metrics --timeout=120s
  require "the pod runs" ready "$id" "pod/of-$id"
done
metrics() { inside "$1" "of-$1" curl -s --max-time 10 "http://$(as "$1" get -n kube-system endpointslices -l kubernetes.io/service-name=kube-state-metrics -o 'jsonpath={.items[0].endpoints[0].addresses[0]}'):8080/metrics"; }
tells() { metrics "$1" | says_line "^kube_pod_status_ready{namespace=\"default\",pod=\"of-$1\",.*condition=\"true\"} 1"; }
for id in "$a" "$b"; do
  eventually "it tells of the pod of $id, in the tenant's namespace" 60 tells "$id"
  metrics "$id" >"$TMPDIR/metrics-$id"
  expect "of its own Deployment" "kube_deployment_status_replicas_available{namespace=\"kube-system\",deployment=\"kube-state-metrics\"} 1" \
    "$(grep '^kube_deployment_status_replicas_available{namespace="kube-system"' "$TMPDIR/metrics-$id")"
  expect "of all namespaces that the tenant has" "$(as "$id" get namespaces -o json | jq -r '.items[].metadata.name' | sort | xargs)" \
    "$(sed -n 's/^kube_namespace_created{namespace="\([^"]*\)"} .*/\1/p' "$TMPDIR/metrics-$id" | sort | xargs)"
  expect "no watch has failed" "" "$(inside "$id" "of-$id" curl -s --max-time 10 "http://$(as "$id" get pods -n kube-system -l app.kubernetes.io/name=kube-state-metrics -o 'jsonpath={.items[0].status.podIP}'):8081/metrics" |
    grep -E '^kube_state_metrics_(list|watch)_total\{.*result="error"' | sed 's/{.*resource="\*v1\.\([A-Za-z]*\)".*/ \1/')"
  expect_no_match "nothing that zood keeps" 'zoo-root-ca|zoo-tenant|zoo-baseline|kubezoo' "$(cat "$TMPDIR/metrics-$id")"
done
expect_no_match "the first tenant's has nothing of the second" "$b" "$(cat "$TMPDIR/metrics-$a")"
expect_no_match "nor the other way" "$a" "$(cat "$TMPDIR/metrics-$b")"
check "a pod comes" as "$a" run late --image="$tools" --restart=Never -- true
late() { metrics "$a" | says_line 'pod="late"'; }
eventually "and is told of" 30 late
