#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# timeout: 300
# What becomes of pods of a virtual cluster after they were made, on fake nodes: resize, ephemeral containers, readiness gates; upstream
# has no room; pod security refuses the pods of a ReplicaSet.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 2
at_end() { end_keeper; }
start_clusters
require "a cluster with a node and a share" ctl cluster create t1 --node kwok-1 --cpu 4 --memory 8Gi --dns none
eventually "it is in step" 60 condition_is t1 Synced "True Synced"
id=$(cluster_id t1)
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
pod_with() { # NAME CPU [MEMBERS of its spec]
  as t1 apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: $2}}}]
  ${3:-}
YAML
}
there() { upstream get pod -n "$id-default" "$1" -o json | jq -r "$2"; }
there_is() { [[ $(there "$1" "$2") == "$3" ]]; }
here_is() { [[ $(as t1 get pod "$1" -o json | jq -r "$2") == "$3" ]]; }

# ---- the fence of its share --------------------------------------------------------------------------------------------

check "a pod without wishes" as t1 run plain --image=registry.example/x
eventually "runs" 60 there_is plain .status.phase Running
expect "in the class that it has without the quota" BestEffort "$(there plain .status.qosClass)"
quota() { upstream get resourcequota -n "$id-default" "$1" -o json | jq -r "$2"; }
expect "the upstream holds the share, too" "4 8Gi" "$(quota zoo-share '.spec.hard | "\(.["requests.cpu"]) \(.["requests.memory"])"')"
expect "and the number of pods" 500 "$(quota zoo-share .spec.hard.pods)"
check_fails "should zood's own count be wrong" 'exceeded quota: zoo-share' upstream --as "zoo:$id" --as-group zoo:tenants run fat -n "$id-default" \
  --image=registry.example/x --overrides='{"spec":{"containers":[{"name":"fat","image":"registry.example/x","resources":{"requests":{"cpu":"5","memory":"1Mi"}}}]}}'
check "it goes" as t1 delete pod plain --timeout=60s

# ---- resize ----------------------------------------------------------------------------------------------------------

check "a pod" pod_with grows 500m
eventually "runs upstream" 60 there_is grows .status.phase Running
check "on a kubelet that resizes" upstream patch pod grows -n "$id-default" --subresource status --type strategic \
  -p '{"status":{"containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]}}'
eventually "as the cluster hears" 60 here_is grows '.status.containerStatuses[0].resources.requests.cpu' 500m
check "it is resized" as t1 patch pod grows --subresource resize --type strategic -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}]}}'
eventually "upstream, too" 60 there_is grows '.spec.containers[0].resources.requests.cpu' 1500m
check "another pod" pod_with takes 1
eventually "runs" 60 there_is takes .status.phase Running
check "the first one is resized beyond what is left of the share" as t1 patch pod grows --subresource resize --type strategic -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3500m"}}}]}}'
says_why() { as t1 get events --field-selector "involvedObject.name=$1,reason=NotSynced" -o 'jsonpath={.items[*].message}' | says_line -E "$2"; }
eventually "is refused, with an event" 60 says_why grows '2 of cpu more, and 1500m are left'
expect "upstream's is as it was" 1500m "$(there grows '.spec.containers[0].resources.requests.cpu')"
check "and back" as t1 patch pod grows --subresource resize --type strategic -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}'
eventually "is upstream, too" 60 there_is grows '.spec.containers[0].resources.requests.cpu' 1
check "the other one goes" as t1 delete pod takes --timeout=60s
eventually "and all is well" 60 condition_is t1 Synced "True Synced"

# ---- ephemeral containers, readiness gates -----------------------------------------------------------------------------

check "an ephemeral container" as t1 patch pod grows --subresource ephemeralcontainers --type strategic \
  -p '{"spec":{"ephemeralContainers":[{"name":"look","image":"registry.example/debug","targetContainerName":"c"}]}}'
eventually "is upstream" 60 there_is grows '[.spec.ephemeralContainers[]? | "\(.name) \(.image)"] | join(",")' "look registry.example/debug"
check "a pod with a gate" pod_with gated 100m 'readinessGates: [{conditionType: example.com/ready}]'
eventually "runs" 60 there_is gated .status.phase Running
check "somebody in the cluster says what its gate waits for" as t1 patch pod gated --subresource status --type strategic \
  -p '{"status":{"conditions":[{"type":"example.com/ready","status":"False","reason":"Warming","message":"not yet"}]}}'
gate='[.status.conditions[] | select(.type == "example.com/ready") | "\(.status) \(.reason)"] | join(",")'
eventually "upstream hears of it" 60 there_is gated "$gate" "False Warming"
check "and that it is over" as t1 patch pod gated --subresource status --type strategic \
  -p '{"status":{"conditions":[{"type":"example.com/ready","status":"True","reason":"Warm","message":""}]}}'
eventually "of that, too" 60 there_is gated "$gate" "True Warm"
expect "in the cluster it is what was said there" "True Warm" "$(as t1 get pod gated -o json | jq -r "$gate")"
versions() { { upstream get pods -n "$id-default" -o json; as t1 get pods -o json; } | jq -r '.items[] | "\(.metadata.namespace) \(.metadata.name) \(.metadata.resourceVersion)"' | sort; }
before=$(versions)
stop_zood KILL
patrols=$(grep -c "$id: patrol: " "$zood_dir.log")
start_clusters
ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
patrolled() { (($(grep -c "$id: patrol: " "$zood_dir.log") > patrols)); }
eventually "zood that was killed reads both sides" 90 patrolled
eventually "and is in step" 60 condition_is t1 Synced "True Synced"
expect "and writes nothing that is there" "$before" "$(versions)"

# ---- upstream has no room ------------------------------------------------------------------------------------------------

full=$(upstream get node kwok-1 -o json | jq -r '.status.allocatable.cpu')
upstream apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: greedy, namespace: default}
spec:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [kwok-1]}]}]}}}
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: "$((full - 2))"}}}]
YAML
check "somebody else takes the host" upstream wait --for=condition=PodScheduled pod/greedy -n default --timeout=60s
check "a pod that nobody would make anew, past the scheduler" as t1 apply -f - <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec: {nodeName: kwok-1, containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: "2"}}}]}
YAML
eventually "has no room upstream" 60 there_is alone '[.status.conditions[]? | select(.type == "PodScheduled") | .reason] | join("")' Unschedulable
eventually "it fails in half a minute, as on a kubelet" 90 here_is alone '"\(.status.phase) \(.status.reason)"' "Failed OutOfcpu"
none_there() { [[ -z $(upstream get pod -n "$id-default" "$1" -o name --ignore-not-found) ]]; }
eventually "and upstream tries no more" 30 none_there alone
expect "it stays to be looked at" Failed "$(as t1 get pod alone -o 'jsonpath={.status.phase}')"
check "and goes when it is deleted" as t1 delete pod alone --timeout=60s
as t1 apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: again}
spec:
  replicas: 1
  selector: {matchLabels: {app: again}}
  template:
    metadata: {labels: {app: again}}
    spec: {nodeName: kwok-1, containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: "2"}}}]}
YAML
first() { as t1 get pods -l app=again -o 'jsonpath={.items[0].metadata.uid}'; }
has_first() { [[ -n $(first) ]]; }
eventually "a pod that a controller has made" 30 has_first
uid=$(first)
anew() { [[ -n $(first) && $(first) != "$uid" ]]; }
eventually "is made anew" 90 anew
expect "one at a time" 1 "$(as t1 get pods -l app=again -o json | jq '[.items[] | select(.metadata.deletionTimestamp == null)] | length')"
check "room is made" upstream delete pod greedy -n default --wait=false
again_runs() { [[ $(as t1 get pods -l app=again -o 'jsonpath={.items[*].status.phase}') == Running ]]; }
eventually "and it runs" 90 again_runs

# ---- what is refused makes no loop -----------------------------------------------------------------------------------------

as t1 create deployment mighty --image=registry.example/x --replicas=2 --dry-run=client -o json | jq '.spec.template.spec.hostNetwork = true' | as t1 apply -f - >/dev/null
refused() { (($(as t1 get events --field-selector reason=NotSynced -o json | jq '[.items[] | select(.involvedObject.name | startswith("mighty-")) | .involvedObject.name] | unique | length') == 2)); }
eventually "each pod that pod security refuses says so" 60 refused
# made OWNER: how many pods controllers whose names begin so have made.
made() { as t1 get events -o json | jq --arg owner "$1" '[.items[] | select(.reason == "SuccessfulCreate" and (.involvedObject.name | startswith($owner))) | .count // 1] | add'; }
expect "they stay Pending" "Pending Pending" "$(as t1 get pods -l app=mighty -o 'jsonpath={.items[*].status.phase}')"
expect "with a condition in the cluster's words" "False False" "$(as t1 get pods -l app=mighty -o json | jq -r '[.items[].status.conditions[] | select(.type == "zoo/Synced") | .status] | join(" ")')"
# tries NAME: how often it was tried to make pods whose names begin so upstream, of that which was tried least, and of how many.
tries() { grep -oE "$id: pod default/$1[a-z0-9-]*: create" "$zood_dir.log" | sort | uniq -c | awk '{ n++; if (least == 0 || $1 < least) least = $1 } END { print n + 0, least + 0 }'; }
tried() { local count least; read -r count least < <(tries "$1"); ((count == $2 && least >= 3)); }
eventually "each is tried again" 60 tried mighty- 2
expect "and their controller has made two, and no more" 2 "$(made mighty-)"
metrics() { curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics; }
expect_match "metrics count them" "^zood_virtual_cluster_pods_refused\{id=\"$id\"\} 2$" "$(metrics)"
expect_match "and all" "^zood_virtual_cluster_pods\{id=\"$id\"\} 5$" "$(metrics)"
as t1 apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: sly}
spec:
  replicas: 1
  selector: {matchLabels: {app: sly}}
  template:
    metadata: {labels: {app: sly}}
    spec: {nodeName: kwok-1, containers: [{name: c, image: registry.example/x, resources: {requests: {cpu: "5"}}}]}
YAML
eventually "a pod that is larger than the share, past the scheduler, is tried again and again" 60 tried sly- 1
expect "it stays Pending" Pending "$(as t1 get pods -l app=sly -o 'jsonpath={.items[*].status.phase}')"
sly=$(as t1 get pods -l app=sly -o 'jsonpath={.items[0].metadata.name}')
check "and an event says what it lacks" says_why "$sly" 'it needs 5 of cpu, and [0-9m.]+ are left'
expect "its controller has made one, and no more" 1 "$(made sly)"
check "it goes" ctl cluster delete t1 --timeout 120s
