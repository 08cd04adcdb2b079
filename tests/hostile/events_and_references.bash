# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: events and references that name the victim's objects and namespaces.
# Without the fence: the victim's kubectl describe would show the attacker's words; references would be resolved.
# Rule: namespaces in references are prefixed; an event lies in the namespace of what it is about.
for event in '{"metadata":{"name":"evil-1"},"involvedObject":{"kind":"Pod","name":"'$vault'","namespace":"'$victim-team'"},"reason":"x","message":"evil"}' \
  '{"metadata":{"name":"evil-2","namespace":"'$victim-team'"},"involvedObject":{"kind":"Pod","name":"'$vault'","namespace":"'$victim-team'"},"message":"evil"}' \
  '{"metadata":{"name":"evil-3"},"involvedObject":{"kind":"Node","name":"kwok-1","uid":"kwok-1"},"related":{"kind":"Pod","namespace":"'$victim-team'","name":"'$vault'"},"message":"evil"}' \
  '{"metadata":{"name":"evil-4"},"involvedObject":{"kind":"Namespace","name":"'$victim-team'"},"message":"evil"}'; do
  for namespace in team default kube-system; do
    try POST "/api/v1/namespaces/$namespace/events" json "$event"
  done
done
for namespace in "$victim-team" "$victim-default" default kube-system; do
  expect "no event of the attacker in $namespace" 0 "$(stored "/api/v1/namespaces/$namespace/events" '[.items[] | select(.metadata.name | startswith("evil"))] | length')"
done
expect "none names a foreign namespace" 0 "$(stored "/api/v1/events" '[.items[] | select(.metadata.namespace | startswith("'"$evil"'-")) | .involvedObject.namespace, .related.namespace | values | select(startswith("'"$evil"'-") or . == "" | not)] | length')"
try POST /api/v1/namespaces/team/endpoints json '{"metadata":{"name":"evil"},"subsets":[{"addresses":[{"ip":"10.1.2.3","targetRef":{"kind":"Pod","namespace":"'"$victim-team"'","name":"'"$vault"'"}}],"ports":[{"port":1}]}]}'
expect_no_match "an endpoint's target is the attacker's" "\"namespace\": ?\"$victim-" "$(stored "/api/v1/namespaces/$evil-team/endpoints/evil" '.subsets | tostring')"
made "a claim" POST /api/v1/namespaces/team/persistentvolumeclaims json '{"metadata":{"name":"evil-source"},"spec":{"storageClassName":"none","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"'"$vault"'"}}}'
try POST /api/v1/namespaces/team/persistentvolumeclaims json '{"metadata":{"name":"evil-ref"},"spec":{"storageClassName":"none","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"'"$vault"'","namespace":"'"$victim-team"'"}}}'
expect_match "a claim's source is not the victim's" "^(null|$evil-.*)$" "$(stored "/api/v1/namespaces/$evil-team/persistentvolumeclaims/evil-ref" '.spec.dataSourceRef.namespace')"
for body in '{"metadata":{"name":"evil-'"$RANDOM"'"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"'$victim-$vault'"},"subjects":[]}' '{"metadata":{"name":"evil-cr"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"zoo:tenant"},"subjects":[]}'; do
  try POST /apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings json "$body"
done
expect "no role of another's is bound" 0 "$(stored "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-team/rolebindings" '[.items[] | select(.metadata.name | startswith("evil")) | .roleRef.name | select((startswith("'"$evil"'-") or startswith("zoo:system:")) | not)] | length')"
would "show the victim the attacker's words" POST "/api/v1/namespaces/$victim-team/events" json '{"metadata":{"name":"evil-direct"},"involvedObject":{"kind":"Pod","name":"'"$vault"'","namespace":"'"$victim-team"'"},"message":"evil"}'
