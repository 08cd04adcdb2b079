#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters app net
# step: verify
# timeout: 300
# Service Creation in Virtual Control Plane, and their external functionality, on fake nodes: the proposal's second test case. A Service
# has the same ClusterIP and nodePort on both sides; upstream's EndpointSlices lead to the pods; a load balancer's address comes up;
# Services without selector lead where their EndpointSlices say; headless ones and ExternalName; changes of type; names that are made up;
# what is tried only; zood away, and the hook taken away; NetworkPolicies; two clusters with the same names.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 3
at_end() { end_keeper; }
start_clusters 'shared: {storage_classes: ["fast"]}'

# here NAME SERVICE POINTER, there ID SERVICE POINTER: of a Service of namespace default, in the cluster and upstream.
here() { in_cluster "$1" get service "$2" -o json --ignore-not-found | jq -cr "$3"; }
there() { upstream get service -n "$1-default" "$2" -o json --ignore-not-found | jq -cr "$3"; }
addresses='[.spec.clusterIP, .spec.clusterIPs, .spec.ipFamilies, .spec.ipFamilyPolicy, .spec.healthCheckNodePort, (.spec.ports | map([.port, .targetPort, .nodePort]))]'
same() { local one; one=$(here "$1" "$3" "$addresses") && [[ -n $one && $one == "$(there "$2" "$3" "$addresses")" ]]; }
owned() { [[ $(there "$2" "$3" '.metadata.annotations["clusters.zoo.kubezoo.io/uid"]') == "$(here "$1" "$3" .metadata.uid)" ]]; }
gone_there() { [[ -z $(there "$1" "$2" .metadata.name) ]]; }

require "a cluster with two nodes of the upstream" ctl cluster create t1 --node kwok-1 --node kwok-2
eventually "both sides were read" 90 condition_is t1 Synced "True Synced"
id1=$(cluster_id t1)

# ---- the second test case ---------------------------------------------------------------------------------------------

require "a Deployment" in_cluster t1 create deployment web --image=registry.example/nginx:1 --replicas=2
check "is available in the cluster" in_cluster t1 wait --for=condition=Available deployment/web --timeout=90s
require "Service Creation in Virtual Control Plane" in_cluster t1 expose deployment web --type=NodePort --port=80 --target-port=8080
expect "it is upstream at once, with the same addresses and ports" "$(here t1 web "$addresses")" "$(there "$id1" web "$addresses")"
check "ClusterIP and nodePort were given out" test "$(here t1 web '.spec.clusterIP != null and .spec.ports[0].nodePort >= 30000')" = true
eventually "it is known whose it is" 30 owned t1 "$id1" web
pods() { upstream get pods -n "$id1-default" -l app=web -o json | jq -c '[.items[] | select(.metadata.deletionTimestamp == null) | .status.podIP] | sort'; }
leads() { upstream get endpointslices -n "$id1-default" -l "kubernetes.io/service-name=$1" -o json | jq -c '[.items[].endpoints[]? | select(.conditions.ready != false) | .addresses[]] | sort'; }
leads_to() { [[ $(leads "$1") == "$2" ]]; }
eventually "upstream it leads to the pods" 30 leads_to web "$(pods)"
expect "as it does in the cluster" "$(pods)" "$(in_cluster t1 get endpointslices -l kubernetes.io/service-name=web -o json | jq -c '[.items[].endpoints[] | .addresses[]] | sort')"
check "its EndpointSlices are upstream's own there" test "$(upstream get endpointslices -n "$id1-default" -l kubernetes.io/service-name=web -o json | jq '.items | length')" = 1
check "scaled" in_cluster t1 scale deployment web --replicas=3
more() { [[ $(pods | jq length) == 3 ]] && leads_to web "$(pods)"; }
eventually "it leads to all of them" 60 more

# ---- changes -------------------------------------------------------------------------------------------------------------

port=$(here t1 web '.spec.ports[0].nodePort')
check "another port beside it" in_cluster t1 patch service web --type=json -p '[{"op":"replace","path":"/spec/ports/0/name","value":"http"},{"op":"add","path":"/spec/ports/-","value":{"name":"more","port":81}}]'
expect "is the same on both sides" "$(here t1 web "$addresses")" "$(there "$id1" web "$addresses")"
expect "and the first one stays" "$port" "$(here t1 web '.spec.ports[0].nodePort')"
check "a selector" in_cluster t1 patch service web --type=merge -p '{"spec":{"selector":{"color":"blue"}}}'
expect "follows" blue "$(there "$id1" web .spec.selector.color)"
check "no nodePort any more" in_cluster t1 patch service web --type=merge -p '{"spec":{"type":"ClusterIP"}}'
expect "upstream, neither" "$(here t1 web "$addresses")" "$(there "$id1" web "$addresses")"
check "a name outside" in_cluster t1 patch service web --type=merge -p '{"spec":{"type":"ExternalName","externalName":"web.example.com"}}'
external() { [[ $(there "$id1" web '[.spec.type, .spec.externalName, .spec.clusterIP]') == '["ExternalName","web.example.com",null]' ]]; }
eventually "follows, too" 30 external
check "and back" in_cluster t1 patch service web --type=merge -p '{"spec":{"type":"ClusterIP","externalName":null}}'
expect "with an address that both have" "$(here t1 web .spec.clusterIP)" "$(there "$id1" web .spec.clusterIP)"
check "a label and an annotation" in_cluster t1 annotate service web note=mine
noted() { [[ $(there "$id1" web .metadata.annotations.note) == mine ]]; }
eventually "follow" 30 noted
check "it goes" in_cluster t1 delete service web
eventually "upstream, too" 30 gone_there "$id1" web

# ---- kinds of Services ---------------------------------------------------------------------------------------------------

in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: balanced}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: ExternalName, externalName: other.side.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: byhand}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: byhand}
subsets: [{addresses: [{ip: 192.0.2.7}], ports: [{name: http, port: 8080}]}]
YAML
eventually "a load balancer's ports are the same" 30 same t1 "$id1" balanced
check "with the one for its health" test "$(there "$id1" balanced '.spec.healthCheckNodePort >= 30000')" = true
check "upstream gives it an address" upstream patch service -n "$id1-default" balanced --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.4"}]}}}'
has_address() { [[ $(here t1 balanced '.status.loadBalancer.ingress[0].ip // ""') == "$1" ]]; }
eventually "which the cluster shows" 30 has_address 198.51.100.4
check "and another one" upstream patch service -n "$id1-default" balanced --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.5"}]}}}'
eventually "that, too" 30 has_address 198.51.100.5
check "what the cluster says of it" in_cluster t1 patch service balanced --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}}'
expect "upstream does not hear" 198.51.100.5 "$(there "$id1" balanced '.status.loadBalancer.ingress[0].ip')"
check "none any more" upstream patch service -n "$id1-default" balanced --subresource=status --type=merge -p '{"status":{"loadBalancer":null}}'
eventually "neither in the cluster" 30 has_address ""
eventually "a headless one is upstream" 30 same t1 "$id1" headless
expect "without an address" None "$(there "$id1" headless .spec.clusterIP)"
eventually "and leads to the pods" 30 leads_to headless "$(pods)"
is_outside() { [[ $(there "$id1" outside .spec.externalName) == "other.$id1-side.svc.cluster.local" ]]; }
eventually "a name of the cluster's is that of its own namespace upstream" 30 is_outside
eventually "one without selector leads where its Endpoints say" 60 leads_to byhand '["192.0.2.7"]'
check "these are changed" in_cluster t1 patch endpoints byhand --type=merge -p '{"subsets":[{"addresses":[{"ip":"192.0.2.8"}],"ports":[{"name":"http","port":8080}]}]}'
eventually "upstream follows" 60 leads_to byhand '["192.0.2.8"]'
in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: early-1, labels: {kubernetes.io/service-name: early}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.9]}]
ports: [{name: http, port: 8080}]
YAML
eventually "Endpoints created before Service" 30 leads_to early '["192.0.2.9"]'
check "Service after Endpoints" in_cluster t1 create service clusterip early --tcp=80:8080
expect "has the same address" "$(here t1 early .spec.clusterIP)" "$(there "$id1" early .spec.clusterIP)"

# ---- made up, tried, taken ------------------------------------------------------------------------------------------------

named=$(in_cluster t1 create -o name -f - <<'YAML'
apiVersion: v1
kind: Service
metadata: {generateName: some-}
spec: {ports: [{port: 80}]}
YAML
)
named=${named#service/}
expect_match "a name that is made up" '^some-[a-z0-9]{5}$' "$named"
expect "is the same upstream" "$(here t1 "$named" .spec.clusterIP)" "$(there "$id1" "$named" .spec.clusterIP)"
check "a Service is tried" in_cluster t1 create service nodeport tried --tcp=80 --dry-run=server
expect "upstream has none of it" "" "$(there "$id1" tried .metadata.name)"
check_fails "the host's own address is nobody else's" 'already allocated|is invalid' \
  in_cluster t1 create service clusterip greedy --tcp=80 --clusterip="$(upstream get service kubernetes -o 'jsonpath={.spec.clusterIP}')"
expect "and is not in the cluster" "" "$(here t1 greedy .metadata.name)"
require "a second cluster" ctl cluster create t2 --node kwok-3
eventually "is read" 90 condition_is t2 Synced "True Synced"
id2=$(cluster_id t2)
taken=$(here t1 balanced '.spec.ports[0].nodePort')
in_cluster t2 create -f - >"$TMPDIR/taken" 2>&1 <<YAML
apiVersion: v1
kind: Service
metadata: {name: taken}
spec: {type: NodePort, ports: [{port: 80, nodePort: $taken}]}
YAML
expect_match "a nodePort of another cluster's is refused" 'already allocated' "$(<"$TMPDIR/taken")"
expect_no_match "in the cluster's words" "$id1|$id2" "$(<"$TMPDIR/taken")"
check "the same name in the other one" in_cluster t2 create service clusterip balanced --tcp=80
check "is another Service" test "$(there "$id1" balanced .spec.clusterIP)" != "$(there "$id2" balanced .spec.clusterIP)"
check_fails "addresses from outside are nobody's to take" 'external-ips' in_cluster t2 apply -f - <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: thief}
spec: {externalIPs: [192.0.2.1], ports: [{port: 80}]}
YAML

# ---- so many and no more ----------------------------------------------------------------------------------------------------

ports_of() { in_cluster "$1" get services -A -o json | jq '[.items[].spec | (.ports // [])[] | select(.nodePort != null)] + [.items[].spec | select(.healthCheckNodePort != null)] | length'; }
check "a cluster may have two nodePorts more than it has" ctl cluster limit t1 --node-ports $(($(ports_of t1) + 2))
limited() { in_cluster t1 create service nodeport first --tcp=80 --tcp=81 --dry-run=server && ! in_cluster t1 create service nodeport many --tcp=80 --tcp=81 --tcp=82 --dry-run=server 2>/dev/null; }
eventually "three are too many, and two are not" 60 limited
check "it takes them" in_cluster t1 create service nodeport first --tcp=80 --tcp=81
check_fails "a third one is refused, with what to do" 'needs 1 nodePorts more, and 0 are left .*ask the platform' in_cluster t1 create service nodeport third --tcp=80
check "one without is made" in_cluster t1 create service clusterip third --tcp=80
check_fails "and cannot become one with" 'needs 1 nodePorts more' in_cluster t1 patch service third --type=merge -p '{"spec":{"type":"NodePort"}}'
check_fails "in another namespace, neither" 'needs 1 nodePorts more' in_cluster t1 create service nodeport -n kube-system third --tcp=80
check "the other cluster takes one" in_cluster t2 create service nodeport third --tcp=80
check "the first gives one back" in_cluster t1 patch service first --type=json -p '[{"op":"remove","path":"/spec/ports/1"}]'
check "and another one has it" in_cluster t1 patch service third --type=merge -p '{"spec":{"type":"NodePort"}}'
check "somebody takes the hook away" in_cluster t1 delete mutatingwebhookconfiguration zoo-services
eventually "and makes one more" 30 in_cluster t1 create service nodeport unwanted --tcp=80
says_why() { in_cluster t1 get events --field-selector "involvedObject.name=$1,reason=NotSynced" -o 'jsonpath={.items[*].message}' | says_line "$2"; }
eventually "which an event refuses" 60 says_why unwanted 'nodePorts more, and 0 are left'
expect "upstream has none of it" "" "$(there "$id1" unwanted .metadata.name)"
check "one goes" in_cluster t1 delete service first
eventually "then there is room" 90 same t1 "$id1" unwanted
check "a number of Services" ctl cluster limit t1 --services 1 --node-ports 100
refused_service() { grep -q 'may have 1 Services' <<<"$(in_cluster t1 create service clusterip more --tcp=80 --dry-run=server 2>&1)"; }
eventually "holds, too" 60 refused_service
expect_match "describe tells of it" '^Limits: +services=1 nodePorts=100$' "$(ctl cluster describe t1)"
check "as many as before" ctl cluster limit t1 --services 1000
check "they go" in_cluster t1 delete service third unwanted
restored() { in_cluster t1 get mutatingwebhookconfiguration zoo-services -o name; }
eventually "the hook is back" 60 restored

# ---- without zood, without the hook -----------------------------------------------------------------------------------------

check "somebody takes the hook away" in_cluster t1 delete mutatingwebhookconfiguration zoo-services
check "a Service meanwhile" in_cluster t1 create service clusterip unasked --tcp=80
eventually "is upstream with the address that the cluster has chosen" 60 same t1 "$id1" unasked
stop_zood KILL
check "one while zood is away" at_plane "$id1" create service nodeport alone --tcp=80
check "one is deleted" at_plane "$id1" delete service "$named"
check "and made anew" at_plane "$id1" create service clusterip "$named" --tcp=81
check "one goes" at_plane "$id1" delete service early
start_clusters 'shared: {storage_classes: ["fast"]}'
eventually "zood catches up" 90 same t1 "$id1" alone
eventually "with the one that was made anew" 60 owned t1 "$id1" "$named"
eventually "and the one that has gone" 60 gone_there "$id1" early
eventually "the hook is back" 60 restored
eventually "all is well" 60 condition_is t1 Synced "True Synced"
upstream apply -n "$id1-default" -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: foreign}
spec: {ports: [{port: 80}]}
YAML
check_fails "a name that somebody has upstream is refused" "not the cluster's" in_cluster t1 create service clusterip foreign --tcp=80
upstream delete service -n "$id1-default" foreign >/dev/null
check "a Service is deleted upstream" upstream delete service -n "$id1-default" byhand
eventually "and comes back with its address" 60 same t1 "$id1" byhand
in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-ghosts}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}]}
  validations: [{expression: "object.metadata.name != 'ghost'", message: no ghosts}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-ghosts}
spec: {policyName: no-ghosts, validationActions: [Deny]}
YAML
no_ghosts() { grep -q 'no ghosts' <<<"$(in_cluster t1 create service clusterip ghost --tcp=80 --dry-run=server 2>&1)"; }
eventually "a policy of the cluster's stands" 60 no_ghosts
check_fails "a Service that the cluster does not store after all" 'no ghosts' in_cluster t1 create service clusterip ghost --tcp=80
check "was upstream for a moment" test "$(there "$id1" ghost '.metadata.annotations["clusters.zoo.kubezoo.io/uid"]')" = unborn
eventually "goes upstream, too" 90 gone_there "$id1" ghost

# ---- Events, classes ---------------------------------------------------------------------------------------------------------

one=$(in_cluster t1 get pods -l app=web -o json | jq -r '.items[0].metadata.name')
event() { # NAME UID MESSAGE
  upstream create -n "$id1-default" -f - >/dev/null <<YAML
apiVersion: v1
kind: Event
metadata: {name: $1}
involvedObject: {apiVersion: v1, kind: Pod, namespace: $id1-default, name: $one, uid: "$2"}
type: Warning
reason: Failed
message: "$3"
source: {component: kubelet}
YAML
}
event hidden.1 00000000-0000-0000-0000-000000000000 "of another pod"
event shown.1 "$(upstream get pod -n "$id1-default" "$one" -o 'jsonpath={.metadata.uid}')" "in $id1-default"
shown() { [[ $(in_cluster t1 get event shown.1 -o json --ignore-not-found | jq -r '"\(.message) \(.involvedObject.uid)"') == "in default $(in_cluster t1 get pod "$one" -o 'jsonpath={.metadata.uid}')" ]]; }
eventually "an Event of a pod comes up, in the cluster's words" 30 shown
expect "one of another pod does not" "" "$(in_cluster t1 get event hidden.1 -o name --ignore-not-found)"
share_class t1 '{csi.storage.k8s.io/provisioner-secret-name: secret-of-the-host}'
expect_no_match "without what its drivers alone read" secret-of-the-host "$(in_cluster t1 get storageclass fast -o yaml)"

# ---- NetworkPolicies ----------------------------------------------------------------------------------------------------------

in_cluster t1 apply -f - >/dev/null <<'YAML'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: own}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{namespaceSelector: {}}]}]
YAML
fenced() { [[ $(upstream get networkpolicy -n "$id1-default" own -o json --ignore-not-found | jq -r '.spec.ingress[0].from[0].namespaceSelector.matchLabels["tenant.kubezoo.io/id"]') == "$id1" ]]; }
eventually "a NetworkPolicy is upstream, and lets in the cluster's own namespaces alone" 30 fenced
check "a namespace with a label" in_cluster t1 create -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"color":"blue","pod-security.kubernetes.io/enforce":"privileged"}}}'
check "of which something is upstream" in_cluster t1 create service clusterip -n team any --tcp=80
labels_there() { upstream get namespace "$id1-team" -o json | jq -r '.metadata.labels | "\(.color // "") \(.["pod-security.kubernetes.io/enforce"])"'; }
label_is() { [[ $(labels_there) == "$1" ]]; }
eventually "has the label there, by which policies choose it, and the platform's level" 60 label_is "blue baseline"
check "the label is another one" in_cluster t1 label namespace team --overwrite color=red pod-security.kubernetes.io/enforce=restricted
eventually "there, too" 60 label_is "red baseline"
check "the platform has one of its own" upstream label namespace "$id1-team" bill=infra
check "the cluster has another of that name" in_cluster t1 label namespace team bill=nobody shape=round
round() { [[ $(upstream get namespace "$id1-team" -o 'jsonpath={.metadata.labels.shape}') == round ]]; }
eventually "others of its labels come" 60 round
expect "and the platform's stays" infra "$(upstream get namespace "$id1-team" -o 'jsonpath={.metadata.labels.bill}')"
check "the label goes" in_cluster t1 label namespace team color-
eventually "there, too" 60 label_is " baseline"
check "it goes" in_cluster t1 delete networkpolicy own
no_policy() { [[ -z $(upstream get networkpolicy -n "$id1-default" own -o name --ignore-not-found) ]]; }
eventually "upstream, too" 30 no_policy

# ---- PodDisruptionBudgets -----------------------------------------------------------------------------------------------------

check "a Deployment in the other cluster" in_cluster t2 create deployment web --image=registry.example/nginx:1 --replicas=2
check "runs" in_cluster t2 wait --for=condition=Available deployment/web --timeout=90s
in_cluster t2 apply -f - >/dev/null <<'YAML'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
YAML
budgets_are() { [[ $(upstream get pdb -n "$id2-default" -o name) == "$1" ]]; }
check "another Service of it" in_cluster t2 create service clusterip after --tcp=80
after_is_there() { [[ $(there "$id2" after .metadata.name) == after ]]; }
eventually "is upstream" 30 after_is_there
expect "its budget is not" "" "$(upstream get pdb -n "$id2-default" -o name)"
set_budgets() { "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" patch virtualcluster t2 --type merge -p "{\"spec\":{\"sync\":{\"podDisruptionBudgets\":$1}}}"; }
check "the platform wants it" set_budgets true
eventually "then it is upstream" 60 budgets_are poddisruptionbudget.policy/web
held() { upstream get pdb -n "$id2-default" web -o json | jq -e '.status.currentHealthy == 2' >/dev/null; }
eventually "where its pods are counted" 60 held
one=$(upstream get pods -n "$id2-default" -l app=web -o 'jsonpath={.items[0].metadata.name}')
evict() { upstream create --raw "/api/v1/namespaces/$id2-default/pods/$1/eviction" -f - <<<"{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"$1\",\"namespace\":\"$id2-default\"}}"; }
check_fails "and a drain heeds it" 'disruption budget' evict "$one"
eventually "all is in step" 60 condition_is t2 Synced "True Synced"
check "the platform does not want it any more" set_budgets false
eventually "then it goes there" 60 budgets_are ""
expect "and stays in the cluster" poddisruptionbudget.policy/web "$(in_cluster t2 get pdb -o name)"

# ---- the end --------------------------------------------------------------------------------------------------------------------

expect_match "metrics count them" "zood_virtual_cluster_objects\{id=\"$id1\",resource=\"services\"\} [1-9]" "$(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics)"
check "the clusters go" ctl cluster delete t1 t2 --timeout 120s
expect "upstream has nothing of either" "" "$(upstream get ns -o name | grep -E "$id1|$id2")"
expect_no_match "zood took nothing for an error of its own" ' (error|critical) ' "$(grep -v 'cannot be told' "$zood_dir.log")"
