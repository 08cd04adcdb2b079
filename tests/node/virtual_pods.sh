#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# timeout: 300
# Pods of a virtual cluster that really run: the cluster's API server reaches them and what is behind its Services, and nobody else's; a
# resize, an ephemeral container and a readiness gate come down and what kubelets say of them comes up; a host is drained, so that
# nothing else may run meanwhile.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

at_end() {
  upstream uncordon node-2 >/dev/null
  upstream delete pod "other-$$" --ignore-not-found --wait=false >/dev/null
  ctl cluster delete t1 --ignore-not-found --timeout 60s >/dev/null 2>&1
  end_keeper
}
start_clusters
require "a cluster with both nodes" ctl cluster create t1 --node node-1 --node node-2 --dns none
id=$(cluster_id t1)
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
synced() { [[ $(field t1 '[.status.conditions[] | select(.type == "Synced") | .status][0]') == True ]]; }
eventually "it is in step" 60 synced

# ---- bytes -------------------------------------------------------------------------------------------------------------

web=$(pod web "$agnhost" '{}' '{"ports": [{"containerPort": 8443}]}' -- /agnhost netexec --http-port=8443 --tls-cert-file=/localhost.crt --tls-private-key-file=/localhost.key)
plain=$(pod plain "$agnhost" '{}' '{"readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1}}' -- /agnhost netexec --http-port=8080)
check "a server with TLS" create t1 "$web"
check "one without" create t1 "$plain"
require "both run" ready t1 pod/web pod/plain
raw() { as t1 get --raw "$1"; }
eventually "a pod is reached by proxy" 30 says plain raw /api/v1/namespaces/default/pods/http:plain:8080/proxy/hostname
check "a Service of it" as t1 expose pod plain --port=80 --target-port=8080
eventually "is reached by proxy, too" 30 says plain raw /api/v1/namespaces/default/services/http:plain:80/proxy/hostname
check "a Service of the other one" as t1 expose pod web --port=443 --target-port=8443
as t1 apply -f - >/dev/null <<'YAML'
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.own.test}
spec: {group: own.test, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: web, port: 443}}
YAML
serves() { raw /apis/own.test/v1/now | says_line '^NOW: '; }
eventually "an aggregated API by its ClusterIP is served by the pod" 60 serves

check "somebody else's pod" upstream run "other-$$" --image="$agnhost" --restart=Never -- netexec --http-port=8080
require "runs" upstream wait --for=condition=Ready "pod/other-$$" --timeout=90s
other=$(upstream get pod "other-$$" -o 'jsonpath={.status.podIP}')
{ service_to sly "$other" 8080 && cat <<YAML; } | as t1 apply -f - >/dev/null
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.sly.test}
spec: {group: sly.test, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: sly, port: 443}}
YAML
says_why() { as t1 get apiservice v1.sly.test -o 'jsonpath={.status.conditions[0].message}' | says_line "$1"; }
eventually "is not reached by a Service that leads to it" 60 says_why "$other is of a pod that is not the virtual cluster's"

# ---- what kubelets do with a change ------------------------------------------------------------------------------------

status() { as t1 get pod "$1" -o json | jq -r "$2"; }
check "a pod with room" create t1 "$(pod grows "$busybox" '{}' '{"resources": {"requests": {"cpu": "20m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}}' -- sleep 3600)"
require "runs" ready t1 pod/grows
check "it is resized" as t1 patch pod grows --subresource resize --type strategic -p '{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"30m"},"limits":{"cpu":"200m"}}}]}}'
eventually "and its kubelet has done it" 60 says 200m status grows '.status.containerStatuses[0].resources.limits.cpu'
eventually "which is over in the cluster, too" 60 says "" status grows '[.status.conditions[] | select(.type | startswith("PodResize")) | .type] | join(" ")'
expect "without a restart" 0 "$(status grows '.status.containerStatuses[0].restartCount')"
check "an ephemeral container that pod security refuses" as t1 debug grows --image="$busybox" -c sly --target=main --profile=general -- sh -c 'sleep 600'
refused() { as t1 get events --field-selector involvedObject.name=grows,reason=NotSynced -o 'jsonpath={.items[*].message}' | says_line 'must not include "SYS_PTRACE"'; }
eventually "is told by an event" 60 refused
check "one that it takes" as t1 debug grows --image="$busybox" -c look --profile=baseline --target=main -- sh -c 'echo looked; sleep 600'
eventually "runs" 60 says true status grows '[.status.ephemeralContainerStatuses[]? | .state | has("running")] | any'
eventually "and its log is read" 30 says looked as t1 logs grows -c look
check "a pod that waits for a gate" create t1 "$(pod gated "$busybox" '{"readinessGates": [{"conditionType": "example.com/open"}]}' -- sleep 3600)"
eventually "runs" 60 says Running status gated .status.phase
expect "and is not ready" False "$(status gated '.status.conditions[] | select(.type == "Ready") | .status')"
check "somebody in the cluster opens it" as t1 patch pod gated --subresource status --type strategic -p '{"status":{"conditions":[{"type":"example.com/open","status":"True"}]}}'
require "and it is" ready t1 pod/gated

# ---- the platform drains a host ----------------------------------------------------------------------------------------

apart=$(pod moves "$busybox" '{"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100,
  "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "moves"}}}}]}}}' -- sleep 3600 |
  jq -c '{apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "moves"}, spec: {replicas: 2, selector: {matchLabels: {app: "moves"}}, template: {metadata: {labels: {app: "moves"}}, spec: .spec}}}')
check "a Deployment" create t1 "$apart"
require "runs" as t1 rollout status deployment/moves --timeout=90s
# moves KUBECTL...: the Deployment's pods that are not going, in the cluster or upstream. nodes_of: where such are.
moves() { "$@" get pods -l app=moves -o json | jq -c '.items[] | select(.metadata.deletionTimestamp == null)'; }
nodes_of() { jq -r .spec.nodeName | sort | xargs; }
expect "on both hosts" "node-1 node-2" "$(moves upstream -n "$id-default" | nodes_of)"
there=$(moves upstream -n "$id-default" | jq -r 'select(.spec.nodeName == "node-2") | .metadata.uid')
here=$(moves as t1 | jq -r 'select(.spec.nodeName == "node-2") | .metadata.uid')
check "the platform drains one of them" upstream drain node-2 --pod-selector=app=moves --force --timeout=90s
expect_no_match "which evicts what is there" "$there" "$(upstream get pods -n "$id-default" -o 'jsonpath={.items[*].metadata.uid}')"
cordoned() { [[ $(as t1 get node node-2 -o 'jsonpath={.spec.unschedulable}') == "$1" ]]; }
eventually "the cluster sees that nothing is scheduled on it" 30 cordoned true
expect "and that the other one is as it was" "" "$(as t1 get node node-1 -o 'jsonpath={.spec.unschedulable}')"
moved() { [[ $(moves as t1 | nodes_of) == "node-1 node-1" && $(moves upstream -n "$id-default" | nodes_of) == "node-1 node-1" ]]; }
eventually "its controllers make another pod, on the other host" 60 moved
expect_no_match "the one that was evicted is gone in the cluster, too" "$here" "$(as t1 get pods -o 'jsonpath={.items[*].metadata.uid}')"
check "the Deployment is whole again" as t1 rollout status deployment/moves --timeout=90s
check "the platform takes the host back" upstream uncordon node-2
eventually "and the cluster sees it" 30 cordoned ""
