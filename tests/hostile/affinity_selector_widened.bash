# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: pod affinity towards other tenants' pods: namespaces by name, namespaceSelector {}, in pods and deep in templates.
# Without the fence: anti-affinity with {} keeps the victim's pods off every node, and shows where they run.
# Rule: namespaces are prefixed, namespaceSelector is fenced, wherever a pod template is; patches are proven by result.
term='{"topologyKey":"kubernetes.io/hostname","labelSelector":{},"namespaceSelector":{},"namespaces":["'$victim-team'"]}'
affinity='{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":['$term'],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":'$term'}]}}'
pod='{"metadata":{"labels":{"a":"b"}},"spec":{"affinity":'$affinity',"restartPolicy":"Always","containers":[{"name":"c","image":"x"}]}}'
unfenced='[.. | objects | select(has("topologyKey")) | select((.namespaceSelector != null and .namespaceSelector.matchLabels["tenant.kubezoo.io/id"] != "'$evil'" and
  all(.namespaceSelector.matchExpressions[]?; .key != "tenant.kubezoo.io/id" or .values != ["'$evil'"]))
  or any(.namespaces[]?; startswith("'$evil'-") | not))] | length'
made "a deployment" POST /apis/apps/v1/namespaces/team/deployments json '{"metadata":{"name":"evil"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":'"$pod"'}}'
fence() { stored "/apis/apps/v1/namespaces/$evil-team/deployments/evil" "$unfenced"; }
expect "upstream has the fence" 0 "$(fence)"
at=/spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0
after_each /apis/apps/v1/namespaces/team/deployments/evil 0 <<P
patch [{"op":"replace","path":"$at/namespaceSelector","value":{}}]
patch [{"op":"copy","from":"$at/labelSelector","path":"$at/namespaceSelector"}]
patch [{"op":"remove","path":"$at/namespaceSelector/matchExpressions"}]
patch [{"op":"remove","path":"$at/namespaceSelector/matchLabels"}]
patch [{"op":"add","path":"/metadata/annotations","value":{"a":"$victim-team"}},{"op":"copy","from":"/metadata/annotations/a","path":"$at/namespaces/0"}]
patch [{"op":"add","path":"$at/namespaces/-","value":"$victim-team"}]
merge {"spec":{"template":{"spec":{"affinity":$affinity}}}}
strategic {"spec":{"template":{"spec":{"affinity":{"podAntiAffinity":{"\$patch":"replace","requiredDuringSchedulingIgnoredDuringExecution":[$term]}}}}}}
apply {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"evil"},"spec":{"template":{"spec":{"affinity":$affinity}}}}
P
made "a cron job" POST /apis/batch/v1/namespaces/team/cronjobs json '{"metadata":{"name":"evil"},"spec":{"suspend":true,"schedule":"@yearly","jobTemplate":{"spec":{"template":'"${pod/Always/Never}"'}}}}'
expect "fenced there too" 0 "$(stored "/apis/batch/v1/namespaces/$evil-team/cronjobs/evil" "$unfenced")"
made "a pod template" POST /api/v1/namespaces/team/podtemplates json '{"metadata":{"name":"evil"},"template":'"$pod"'}'
expect "and there" 0 "$(stored "/api/v1/namespaces/$evil-team/podtemplates/evil" "$unfenced")"
made "a pod" POST /api/v1/namespaces/team/pods json "${pod/\"labels\"/\"name\":\"evil-affine\",\"labels\"}"
expect "and there" 0 "$(stored "/api/v1/namespaces/$evil-team/pods/evil-affine" "$unfenced")"
try DELETE /api/v1/namespaces/team/pods/evil-affine
would "hold the victim's pods off the nodes" POST "/apis/apps/v1/namespaces/$evil-team/deployments" json '{"metadata":{"name":"evil-direct"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":'"$pod"'}}'
