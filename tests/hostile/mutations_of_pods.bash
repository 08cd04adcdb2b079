# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to let its own mutating policies, and a webhook's patch as it would come, give pods what a request for a pod is refused:
#   a node, a priority of the system's, an affinity towards the victim's pods, a container runtime or a StorageClass that is not
#   shared, the victim's trust bundle; in pods of its own and in those of controllers.
# Without the fence: upstream mutates after zood's proof; anti-affinity with {} keeps the victim off a node, a system priority
#   evicts it, a node name goes past taints.
# Rule: a policy upstream holds pods in tenants' namespaces to it, whoever makes them (docs/decisions/087).
group=/apis/admissionregistration.k8s.io/v1
pods=/api/v1/namespaces/team/pods
pod='{"metadata":{"generateName":"evil-","labels":{"LABEL":"yes"}},"spec":{"containers":[{"name":"c","image":"x"}]}}'
term='{"topologyKey":"kubernetes.io/hostname","labelSelector":{},"namespaceSelector":{}}'
theirs='{"topologyKey":"kubernetes.io/hostname","labelSelector":{},"namespaces":["'$victim-team'"]}'
own='{"topologyKey":"kubernetes.io/hostname","labelSelector":{},"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'$evil'"}}}'
affinity() { printf '"affinity":{"pod%s":{"%sDuringSchedulingIgnoredDuringExecution":[%s]}}' "$1" "$2" "$3"; }
platforms=platform-$evil # a RuntimeClass that the platform does not share
direct POST /apis/node.k8s.io/v1/runtimeclasses json '{"metadata":{"name":"'$platforms'"},"handler":"runc"}'
accepted "the platform's own class of pods"
declare -A wishes=(
  [node]='"nodeName":"kwok-1"'
  [system]='"priorityClassName":"system-node-critical"'
  [anti]=$(affinity AntiAffinity required "$term")
  [anti-weak]=$(affinity AntiAffinity preferred '{"weight":1,"podAffinityTerm":'"$term"'}')
  [near]=$(affinity Affinity required "$theirs")
  [runtime]='"runtimeClassName":"'$platforms'"'
  [ephemeral]='"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"evil-gold","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]'
  [annotated]='"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"evil-gold"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]'
  [near-weak]=$(affinity Affinity preferred '{"weight":1,"podAffinityTerm":'"$theirs"'}')
)
# Where upstream has them (feature gate ClusterTrustBundleProjection).
wishes[bundle]='"volumes":[{"name":"v","projected":{"sources":[{"clusterTrustBundle":{"name":"'$victim'-'$vault'","path":"ca"}}]}}]'
wishes[signer]='"volumes":[{"name":"v","projected":{"sources":[{"clusterTrustBundle":{"signerName":"'$victim'-example.com/x","labelSelector":{},"path":"ca"}}]}}]'
direct POST '/api/v1/namespaces/default/pods?dryRun=All' json "${pod/\"spec\":\{/\"spec\":\{${wishes[bundle]},}"
[[ $(jq '.spec.volumes[0].projected.sources[0] | has("clusterTrustBundle")' <<<"$answer") == true ]] || unset 'wishes[bundle]' 'wishes[signer]'
# What a tenant may have all the same.
harmless='"nodeSelector":{"none":"such"},'$(affinity AntiAffinity required "$own")

# Upstream's own refusal of such a pod, by the strongest identity that it holds to the fence: any webhook's patch ends there.
as_controller=(-H 'Impersonate-User: system:serviceaccount:kube-system:replicaset-controller' -H 'Impersonate-Group: system:serviceaccounts'
  -H 'Impersonate-Group: system:serviceaccounts:kube-system' -H 'Impersonate-Group: system:authenticated')
# The terms are of all zoods in front of this upstream, and each writes its own once a minute, so that each look comes with them.
terms=/api/v1/namespaces/zoo-system/configmaps/zoo-pods key=nodeNames.$evil
before=$(stored $terms '.data | tojson')
answered() { # CODE WISH TERMS
  direct PATCH $terms merge '{"data":'"$3"'}'
  curl_more=("${as_controller[@]}")
  direct POST "/api/v1/namespaces/$evil-team/pods?dryRun=All" json "${pod/\"spec\":\{/\"spec\":\{${wishes[$2]},}"
  [[ $code =~ ^($1)$ ]]
}
strict='{"'$key'":"false","priorityClasses":"","runtimeClasses":"","storageClasses":""}'
by_the_policy() {
  answered '403|422' "$1" "$strict" && [[ $answer =~ zoo-tenants-(pods|claims) ]] || { echo "$code: ${answer:0:600}"; return 1; }
}
for wish in "${!wishes[@]}"; do
  body=${pod/\"spec\":\{/\"spec\":\{${wishes[$wish]},}
  eventually "a controller's pod with $wish is refused, by the policy" 30 by_the_policy "$wish"
  would "make a pod with $wish" POST "/api/v1/namespaces/$evil-team/pods" json "$body"
done
curl_more=("${as_controller[@]}")
direct POST "/api/v1/namespaces/$evil-team/pods?dryRun=All" json "${pod/\"spec\":\{/\"spec\":\{$harmless,}"
accepted "a controller's pod with an affinity within the tenant"
curl_more=("${as_controller[@]}")
direct POST "/api/v1/namespaces/default/pods?dryRun=All" json "${pod/\"spec\":\{/\"spec\":\{${wishes[anti]},}"
accepted "the platform's own pods are as they were"

# What zood.yaml and Tenants may allow, as zood would write it.
eventually "a RuntimeClass that is shared is free" 30 answered 201 runtime '{"runtimeClasses":"a '$platforms'"}'
eventually "a tenant that may name nodes does" 30 answered 201 node '{"'"$key"'":"true"}'
eventually "one that may not, where others may, does not" 30 answered '403|422' node '{"nodeNames":"true","'"$key"'":"false"}'
eventually "a class that is shared is free" 30 answered 201 system '{"priorityClasses":"low system-node-critical"}'
eventually "a part of its name is none" 30 answered '403|422' system '{"priorityClasses":"low system-node"}'
direct DELETE /apis/node.k8s.io/v1/runtimeclasses/$platforms
direct PATCH $terms merge '{"data":'"$(jq -c --arg key "$key" '.[$key] = null' <<<"$before")"'}'
everybodys() { jq -S 'with_entries(select(.key | contains(".") | not))' <<<"$1"; } # other tenants come and go
expect "the terms are as they were" "$(everybodys "$before")" "$(everybodys "$(stored $terms '.data | tojson')")"
expect "and the attacker's own are none" null "$(stored $terms ".data[\"$key\"]")"

try GET $group/mutatingadmissionpolicies
if [[ $code == 200 ]]; then
  for wish in node class priority anti near works; do
    case $wish in
    node) cel='[JSONPatch{op: "add", path: "/spec/nodeName", value: "kwok-1"}]' ;;
    class) cel='[JSONPatch{op: "remove", path: "/spec/priority"}, JSONPatch{op: "add", path: "/spec/priorityClassName", value: "system-node-critical"}]' ;;
    priority) cel='[JSONPatch{op: "add", path: "/spec/priority", value: 2000001000}]' ;;
    anti) cel='[JSONPatch{op: "add", path: "/spec/affinity", value: {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": dyn("kubernetes.io/hostname"), "labelSelector": dyn({}), "namespaceSelector": dyn({})}]}}}]' ;;
    near) cel='[JSONPatch{op: "add", path: "/spec/affinity", value: {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": dyn("kubernetes.io/hostname"), "labelSelector": dyn({}), "namespaces": dyn(["'$victim-team'"])}]}}}]' ;;
    works) cel='[JSONPatch{op: "add", path: "/metadata/labels/mutated", value: "yes"}]' ;;
    esac
    policy=$(jq -nc --arg name "evil-$wish" --arg cel "$cel" '{metadata: {name: $name}, spec: {failurePolicy: "Fail", reinvocationPolicy: "IfNeeded",
      matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: ["CREATE"], resources: ["pods"]}]},
      matchConditions: [{name: "wished", expression: ("has(object.metadata.labels) && \"" + $name + "\" in object.metadata.labels")}],
      mutations: [{patchType: "JSONPatch", jsonPatch: {expression: $cel}}]}}')
    made "a policy evil-$wish" POST $group/mutatingadmissionpolicies json "$policy"
    made "its binding" POST $group/mutatingadmissionpolicybindings json '{"metadata":{"name":"evil-'$wish'"},"spec":{"policyName":"evil-'$wish'"}}'
  done
  works() {
    try POST $pods json "${pod/LABEL/evil-works}"
    [[ $(jq -r .metadata.labels.mutated <<<"$answer") == yes ]]
  }
  eventually "mutation of pods works" 30 works
  for wish in node class priority anti near; do
    in_force() {
      try POST "$pods?dryRun=All" json "${pod/LABEL/evil-$wish}"
      [[ $code != 2* ]]
    }
    eventually "a pod that is given $wish is refused" 30 in_force
    try POST $pods json "${pod/LABEL/evil-$wish}"
    refused "and not made" '403|422'
    expect "nothing is stored" 0 "$(stored "/api/v1/namespaces/$evil-team/pods?labelSelector=evil-$wish" '.items | length')"
  done
  made "a deployment whose pods it would change" POST /apis/apps/v1/namespaces/team/deployments json \
    '{"metadata":{"name":"evil-pods"},"spec":{"replicas":1,"selector":{"matchLabels":{"evil-anti":"yes"}},"template":'"${pod/LABEL/evil-anti}"'}}'
  told() { [[ $(stored "/apis/apps/v1/namespaces/$evil-team/deployments/evil-pods" '[.status.conditions[]? | select(.type == "ReplicaFailure")] | length') == 1 ]]; }
  eventually "makes none" 120 told
  expect "none at all" 0 "$(stored "/api/v1/namespaces/$evil-team/pods?labelSelector=evil-anti" '.items | length')"
  try DELETE /apis/apps/v1/namespaces/team/deployments/evil-pods
  try DELETE "$pods?labelSelector=evil-works"
  try DELETE $group/mutatingadmissionpolicybindings
  try DELETE $group/mutatingadmissionpolicies
fi
