#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# timeout: 240
# Probes of a tenant's pods: one that fails restarts a container, another one takes a pod out of its Service.
. "$(dirname "$0")/lib.sh"

start_zood_of_nodes
new_tenant id
exists() { jq -cn --arg probe "$1" --arg file "$2" '{($probe): {exec: {command: ["cat", $file]}, periodSeconds: 1, failureThreshold: 1}}'; }
restarts() { as "$id" get pod lives -o 'jsonpath={.status.containerStatuses[0].restartCount}'; }
is_ready() { as "$id" get pod waits -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'; }
# Addresses of the Service that are ready.
served() { as "$id" get endpointslices -l kubernetes.io/service-name=waits -o json | jq -r '[.items[].endpoints[]? | select(.conditions.ready) | .targetRef.name] | join(" ")'; }

check "a pod that has to prove that it lives" create "$id" "$(pod lives "$busybox" '{}' "$(exists livenessProbe /tmp/alive)" -- \
  sh -c 'touch /tmp/alive; echo "life of $(cat /proc/sys/kernel/random/uuid)"; sleep 3600')"
check "one that says when it is ready" create "$id" "$(pod waits "$busybox" '{}' "$(exists readinessProbe /tmp/ready)" -- sleep 3600)"
check "and its Service" as "$id" expose pod waits --port=80
eventually "both run" 60 says "Running Running" as "$id" get pods -o 'jsonpath={.items[*].status.phase}'

# ---- liveness
require "the first one is well" ready "$id" pod/lives
expect "and was never restarted" 0 "$(restarts)"
first=$(as "$id" logs lives)
check "it stops proving it" inside "$id" lives rm /tmp/alive
eventually "and is restarted" 60 says 1 restarts
eventually "its logs begin anew" 30 fails says "$first" as "$id" logs lives
expect "those of its first life can be read" "$first" "$(as "$id" logs lives --previous)"
tells() { as "$id" get events --field-selector involvedObject.name="$1" -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}' | says_line "$2"; }
eventually "why is told by an event" 30 tells lives 'Liveness probe failed'

# ---- readiness
expect "the second one is not ready" False "$(is_ready)"
expect "nor in its Service" "" "$(served)"
check "it says so" inside "$id" waits touch /tmp/ready
require "then it is" ready "$id" pod/waits
eventually "and in its Service" 30 says waits served
check "it takes it back" inside "$id" waits rm /tmp/ready
eventually "then it is not" 30 says False is_ready
eventually "nor in its Service" 30 says "" served
expect "without a restart" 0 "$(as "$id" get pod waits -o 'jsonpath={.status.containerStatuses[0].restartCount}')"
