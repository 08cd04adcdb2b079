# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: spec.nodeName in pods and in every kind that makes pods, by every way to write it.
# Without the fence: the pod goes past the scheduler, its taints and priorities, onto the node that holds the victim's pods.
# Rule: guards.node_names: refused when a pod is made and in templates always (docs/decisions/120-guards.md).
spec='"containers":[{"name":"c","image":"x"}]'
there="\"nodeName\":\"kwok-1\",$spec"
template='"template":{"metadata":{"labels":{"a":"b"}},"spec":{'
declare -A makers=(
  [/api/v1 pods]='"spec":{SPEC}'
  [/api/v1 podtemplates]="${template}SPEC}}"
  [/api/v1 replicationcontrollers]='"spec":{"replicas":0,"selector":{"a":"b"},'"${template}SPEC}}}"
  [/apis/apps/v1 deployments]='"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},'"${template}SPEC}}}"
  [/apis/apps/v1 replicasets]='"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},'"${template}SPEC}}}"
  [/apis/apps/v1 statefulsets]='"spec":{"replicas":0,"serviceName":"s","selector":{"matchLabels":{"a":"b"}},'"${template}SPEC}}}"
  [/apis/apps/v1 daemonsets]='"spec":{"selector":{"matchLabels":{"a":"b"}},'"${template}\"nodeSelector\":{\"none\":\"such\"},SPEC}}}"
  [/apis/apps/v1 controllerrevisions]='"revision":1,"data":{"spec":{'"${template}SPEC}}}}"
  [/apis/batch/v1 jobs]='"spec":{"suspend":true,'"${template}\"restartPolicy\":\"Never\",SPEC}}}"
  [/apis/batch/v1 cronjobs]='"spec":{"suspend":true,"schedule":"0 0 1 1 *","jobTemplate":{"spec":{'"${template}\"restartPolicy\":\"Never\",SPEC}}}}}"
)
for maker in "${!makers[@]}"; do
  read -r api resource <<<"$maker"
  path=$api/namespaces/team/$resource
  object() { printf '{"metadata":{"name":"%s"},%s}' "$1" "${makers[$maker]/SPEC/$2}"; }
  would "make $resource on a node" POST "$api/namespaces/$evil-team/$resource" json "$(object evil "$there")"
  for body in "$(object evil "$there")" "$(object evil "${there/nodeName/node\\u004eame}")" "$(object evil "\"nodeName\":\"\",$there")"; do
    try POST "$path" json "$body"
    refused "$resource with a node: ${body:0:40}" '400|403|422'
  done
  try POST "$path?dryRun=All" json "$(object evil "$there")"
  refused "$resource as a dry run"
  direct GET "$api"
  kind=$(jq -r --arg r "$resource" '.resources[] | select(.name == $r) | .kind' <<<"$answer")
  version=${api#/apis/} version=${version#/api/}
  try PATCH "$path/evil-applied?fieldManager=e" apply "$(jq -c --arg kind "$kind" --arg version "$version" '.apiVersion = $version | .kind = $kind' <<<"$(object evil-applied "$there")")"
  refused "$resource by an apply"
  [[ $resource == pods || $resource == controllerrevisions ]] && continue
  made "$resource without a node" POST "$path" json "$(object evil-plain "$spec")"
  at=/spec/template/spec
  [[ $resource == podtemplates ]] && at=/template/spec
  [[ $resource == cronjobs ]] && at=/spec/jobTemplate/spec/template/spec
  try PATCH "$path/evil-plain" patch '[{"op":"add","path":"'$at'/nodeName","value":"kwok-1"}]'
  refused "$resource by a patch" '4..'
  try PATCH "$path/evil-plain" patch '[{"op":"add","path":"/metadata/annotations","value":{"n":"kwok-1"}},{"op":"copy","from":"/metadata/annotations/n","path":"'$at'/nodeName"}]'
  refused "$resource by a copy" '4..'
  expect "no node in $resource" null "$(stored "$api/namespaces/$evil-team/$resource/evil-plain" "$(tr / . <<<"$at").nodeName")"
  try DELETE "$path/evil-plain"
done
for kind in pods deployments; do
  group=api/v1
  [[ $kind == deployments ]] && group=apis/apps/v1
  expect "nothing of $kind was made" 0 "$(stored "/$group/namespaces/$evil-team/$kind" '[.items[] | select(.metadata.name | startswith("evil")) | select(.metadata.deletionTimestamp == null)] | length')"
done
