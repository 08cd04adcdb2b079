# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: globalDefault, names of the system's classes, and pods of critical priority.
# Without the fence: every pod of the cluster would get the attacker's priority, or its own push others' off their nodes.
# Rule: globalDefault stays in an annotation; system- is reserved; system-* priority is refused in pods.
classes=/apis/scheduling.k8s.io/v1/priorityclasses
made "a class" POST $classes json '{"metadata":{"name":"evil"},"value":1,"globalDefault":true}'
fence() { stored "/apis/scheduling.k8s.io/v1/priorityclasses/$evil-evil" '.globalDefault // false'; }
expect "upstream's is none" false "$(fence)"
after_each $classes/evil false <<'P'
merge {"globalDefault":true}
merge {"globalDef\u0061ult":true}
strategic {"globalDefault":true}
patch [{"op":"add","path":"/globalDefault","value":true}]
patch [{"op":"copy","from":"/metadata/name","path":"/globalDefault"}]
apply {"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"evil"},"value":1,"globalDefault":true}
P
for name in system-node-critical system-cluster-critical; do
  try PATCH $classes/$name merge '{"description":"evil"}'
  refused "$name is not patched"
  try DELETE $classes/$name
  refused "nor deleted"
  try POST /api/v1/namespaces/team/pods json '{"metadata":{"name":"evil-'$name'"},"spec":{"priorityClassName":"'$name'","containers":[{"name":"c","image":"x"}]}}'
  refused "no pod of it"
  try POST /apis/apps/v1/namespaces/kube-system/deployments json '{"metadata":{"name":"evil-'$name'"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"'$name'"}},"template":{"metadata":{"labels":{"a":"'$name'"}},"spec":{"priorityClassName":"'$name'","containers":[{"name":"c","image":"x"}]}}}}'
  expect "nor one from a template" '[]' "$(stored "/api/v1/namespaces/$evil-kube-system/pods" '[.items[].spec.priority // 0 | select(. > 1000000000)] | tostring')"
done
try POST $classes json '{"metadata":{"name":"evil-huge"},"value":2000000000}'
refused "a value above what users may have"
would "make it everybody's" POST /apis/scheduling.k8s.io/v1/priorityclasses json '{"metadata":{"name":"'"$evil"'-direct"},"value":1000000000,"globalDefault":true}'
