# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: YAML that two readers understand differently: anchors, merge keys, tags, several documents, YAML 1.1's words, JSON as YAML.
# Without the fence: zood proves what one reader sees and upstream stores what the other does; aliases fill the memory.
# Rule: YAML is read once, with bounded expansion, and goes upstream as JSON.
bindings=/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings
head='apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: evil-yaml, annotations: {a: &a "system:authenticated"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
'
for subjects in 'subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: *a}]' 'subjects: [{<<: {kind: Group, name: *a}}]' 'subjects: [{<<: [{name: x}, {name: *a, kind: Group}], kind: Group}]' \
  'subjects: [{kind: Group, name: x, "name": *a}]' '? subjects
: [{kind: Group, name: *a}]' '!!str subjects: [{kind: Group, name: *a}]' '"subjects": [{kind: Group, "n\x61me": *a}]' 'subjects: &s [{kind: Group, name: *a}]
x: *s' 'subjects: !!seq [!!map {kind: Group, name: !!binary c3lzdGVtOmF1dGhlbnRpY2F0ZWQ=}]' 'subjects: [{kind: Group, name: x}]
---
metadata: {name: evil-yaml}
subjects: [{kind: Group, name: "system:masters"}]'; do
  for way in "POST $bindings yaml" "PATCH $bindings/evil-yaml?fieldManager=x&force=true apply"; do
    # shellcheck disable=SC2086
    try $way "$head$subjects"
    expect "$code: ${way%% *} ${subjects:0:70} is inert" 0 "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings/evil-yaml" '[(.subjects // [])[] | (.namespace // .name) | select(startswith("zoo:inert:'"$evil"':") | not)] | length')"
    try DELETE $bindings/evil-yaml
  done
done
bomb='a: &a [x,x,x,x,x,x,x,x,x]'
last=a
for next in b c d e f g h i; do
  bomb+=$'\n'"$next: &$next [*$last,*$last,*$last,*$last,*$last,*$last,*$last,*$last,*$last]"
  last=$next
done
try POST /api/v1/namespaces/team/configmaps yaml "$bomb"
refused "a billion laughs"
try POST /api/v1/namespaces/team/configmaps yaml 'a: &a {b: *a}'
refused "an alias of itself"
try POST /api/v1/namespaces/team/configmaps yaml 'metadata: {name: evil, namespace: &n '"$victim-team"'}'
refused "a foreign namespace"
try POST /api/v1/namespaces/team/configmaps yaml $'metadata: {name: evil}\n---\nmetadata: {name: evil2, namespace: '"$victim-team}"
expect_match "a second document is not read as one" '^(2|4)' "$code"
would "read aliases" POST "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings" yaml "${head/evil-yaml/evil-direct}subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: *a}]"
expect "as they are" system:authenticated "$(jq -r '.subjects[0].name' <<<"$answer")"
