#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 300
# What a tenant deploys on two real nodes: a Deployment behind a Service, a Job, a DaemonSet, a StatefulSet with volumes.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes
new_tenant id
nodes_of() { as "$id" get pods -l "app=$1" -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null) | .spec.nodeName] | unique | join(" ")'; }
names_of() { as "$id" get pods -l "app=$1" -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null) | .metadata.name] | sort | join(" ")'; }

# workload KIND NAME SPEC POD: a controller of pods with that manifest. SPEC are members of its spec.
workload() {
  jq -c --arg kind "$1" --arg name "$2" --argjson spec "$3" '{apiVersion: (if $kind == "Job" then "batch/v1" else "apps/v1" end), kind: $kind, metadata: {name: $name},
    spec: ({template: {metadata: {labels: {app: $name}}, spec: .spec}} + (if $kind == "Job" then {} else {selector: {matchLabels: {app: $name}}} end) + $spec)}' <<<"$4"
}
spread='{"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]}'
serves() { pod web "$agnhost" "$spread" "{\"env\": [{\"name\": \"EDITION\", \"value\": \"$1\"}], \"readinessProbe\": {\"httpGet\": {\"path\": \"/healthz\", \"port\": 8080}, \"periodSeconds\": 1}}" -- /agnhost netexec --http-port=8080; }
data='{"volumeMounts": [{"name": "data", "mountPath": "/data"}]}'
claims='{"replicas": 2, "serviceName": "db", "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}}]}'

check "a Deployment" create "$id" "$(workload Deployment web '{"replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": 2}}}' "$(serves first)")"
check "a Service" as "$id" expose deployment web --port=80 --target-port=8080
check "a DaemonSet" create "$id" "$(workload DaemonSet each '{}' "$(pod each "$busybox" -- sleep 3600)")"
check "a Service without an address" as "$id" create service clusterip db --clusterip=None --tcp=80
check "a StatefulSet" create "$id" "$(workload StatefulSet db "$claims" "$(pod db "$busybox" '{}' "$data" -- sh -c 'cat /data/lives 2>/dev/null; hostname >>/data/lives; sleep 3600')")"
check "a Job" create "$id" "$(workload Job sums '{"completions": 2, "parallelism": 2}' "$(pod sums "$busybox" '{"restartPolicy": "Never"}' -- sh -c 'echo $((6 * 7))')")"
check "a pod to ask from" create "$id" "$(pod client "$agnhost" -- /agnhost pause)"

# ---- Deployment
require "the Deployment is rolled out" as "$id" rollout status deployment/web --timeout=90s
expect "on both nodes" "node-1 node-2" "$(nodes_of web)"
require "the client runs" ready "$id" pod/client
asks() { inside "$id" client curl -s --max-time 5 "http://web/$1"; }
reaches_all() { for ((i = 0; i < 20; ++i)); do asks hostname && echo; done | sort -u | xargs; }
eventually "the Service leads to its pods, by its name" 30 says "$(names_of web)" reaches_all
replaced=$(names_of web)
check "it changes" applied "$id" "$(workload Deployment web '{"replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": 2}}}' "$(serves second)")"
check "and is rolled out again" as "$id" rollout status deployment/web --timeout=90s
expect_no_match "by other pods" "^($(tr ' ' '|' <<<"$replaced"))\$" "$(names_of web | xargs -n 1)"
edition() { inside "$id" deploy/web sh -c 'echo $EDITION'; }
eventually "which are as they were changed" 30 says second edition
check "and back" as "$id" rollout undo deployment/web
check "that, too" as "$id" rollout status deployment/web --timeout=90s
check "it shrinks" as "$id" scale deployment web --replicas=1
one_left() { [[ $(names_of web) == web-*([!\ ]) ]]; }
eventually "to one" 30 one_left

# ---- DaemonSet
check "the DaemonSet is rolled out" as "$id" rollout status daemonset/each --timeout=90s
expect "with a pod on each node" "node-1 node-2" "$(nodes_of each)"

# ---- Job
check "the Job completes" as "$id" wait --for=condition=Complete job/sums --timeout=90s
expect "and its pods have computed" "42 42" "$(as "$id" logs -l app=sums --prefix=false | xargs)"

# ---- StatefulSet
require "the StatefulSet is rolled out" as "$id" rollout status statefulset/db --timeout=90s
expect "with names in order" "db-0 db-1" "$(names_of db)"
expect "and a claim for each" "data-db-0 data-db-1" "$(as "$id" get pvc -o 'jsonpath={.items[*].metadata.name}')"
expect "which are names in DNS" "$(as "$id" get pod db-1 -o 'jsonpath={.status.podIP}')" "$(inside "$id" client dig +search +short db-1.db)"
uid=$(as "$id" get pod db-0 -o 'jsonpath={.metadata.uid}')
check "its first pod goes" as "$id" delete pod db-0
another() { local got; got=$(as "$id" get pod db-0 -o 'jsonpath={.metadata.uid}') && [[ $got != "$uid" ]]; }
eventually "and comes again" 60 another
check "to run" ready "$id" pod/db-0
eventually "with the data of the one before" 30 says db-0 as "$id" logs db-0
