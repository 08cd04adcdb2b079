# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to write what the platform's controllers and kubelets write: a Service's load balancer addresses, a pod's addresses, the
#   devices of a claim; and claims of others' volumes and classes, as a controller makes them from a mutated StatefulSet or pod.
# Without the fence: every node sends what goes to such an address to the attacker's pods (CVE-2020-8554); the API server connects
#   to any address as the pod's `proxy`; the scheduler takes devices for used; storage is provisioned with another's secrets.
# Rule: policies upstream hold tenants to it, and claims whoever makes them (zoo-tenants-status, zoo-tenants-claims).
core=/api/v1/namespaces/team
made "a service" POST $core/services json '{"metadata":{"name":"evil"},"spec":{"type":"LoadBalancer","loadBalancerClass":"x.example/none","selector":{"a":"b"},"ports":[{"port":443}]}}'
try PATCH $core/services/evil/status merge '{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}}'
refused "an address of a service" '403|422'
expect_match "by the rule that names the way out" guards.service_status "$answer"
try GET $core/services/evil
whole=$answer
try PUT $core/services/evil/status json "$(jq -c '.status.loadBalancer.ingress=[{"hostname":"victim.example"}]' <<<"$whole")"
refused "nor by a whole object" '403|422'
try PUT $core/services/evil/status json "$(jq -c '.status.conditions=[{"type":"Seen","status":"True","reason":"Seen","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]' <<<"$whole")"
accepted "a condition is written"
expect "upstream's has none" null "$(stored "/api/v1/namespaces/$evil-team/services/evil" '.status.loadBalancer.ingress')"
made "a pod" POST $core/pods json '{"metadata":{"name":"evil-status"},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}]}}'
for status in '"podIP":"10.0.0.10","podIPs":[{"ip":"10.0.0.10"}]' '"podIPs":[{"ip":"10.0.0.10"}]' '"hostIP":"10.0.0.10","hostIPs":[{"ip":"10.0.0.10"}]'; do
  try PATCH $core/pods/evil-status/status merge '{"status":{'"$status"'}}'
  refused "an address of a pod: $status" '403|422'
  expect "upstream's has none" '[null,null]' "$(stored "/api/v1/namespaces/$evil-team/pods/evil-status" '[.status.podIP,.status.hostIP]|tojson')"
done
for status in '"nominatedNodeName":"kwok-1"' '"containerStatuses":[{"name":"c","image":"x","imageID":"","ready":false,"restartCount":0,"allocatedResources":{"cpu":"100000"}}]' '"containerStatuses":[{"name":"c","image":"x","imageID":"","ready":false,"restartCount":0,"resources":{"requests":{"cpu":"100000"}}}]'; do
  try PATCH $core/pods/evil-status/status merge '{"status":{'"$status"'}}'
  refused "what the scheduler counts: $status" '403|422'
  would "write it" PATCH "/api/v1/namespaces/$evil-team/pods/evil-status/status" merge '{"status":{'"$status"'}}'
done
try PATCH $core/pods/evil-status/status merge '{"status":{"containerStatuses":[{"name":"c","image":"x","imageID":"","ready":false,"restartCount":0}]}}'
accepted "what else there is of a container"
try PATCH $core/pods/evil-status/status strategic '{"status":{"conditions":[{"type":"evil.example/Seen","status":"True"}]}}'
accepted "a condition of a pod"
try DELETE $core/services/evil
would "take an address" PATCH "/api/v1/namespaces/$evil-team/pods/evil-status/status" merge '{"status":{"podIP":"10.0.0.10","podIPs":[{"ip":"10.0.0.10"}]}}'
as_controller=(-H 'Impersonate-User: system:serviceaccount:kube-system:statefulset-controller' -H 'Impersonate-Group: system:serviceaccounts'
  -H 'Impersonate-Group: system:serviceaccounts:kube-system' -H 'Impersonate-Group: system:authenticated')
claim() { printf '{"metadata":{"generateName":"evil-"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},%s}}' "$1"; }
for wish in '"volumeName":"'$victim'-pv","storageClassName":""' '"volumeName":"platform","storageClassName":""' '"storageClassName":"'$victim'-gold"'; do
  curl_more=("${as_controller[@]}")
  direct POST "/api/v1/namespaces/$evil-team/persistentvolumeclaims?dryRun=All" json "$(claim "$wish")"
  refused "a controller's claim with $wish" '403|422'
  expect_match "by the policy" zoo-tenants-claims "$answer"
  would "make it" POST "/api/v1/namespaces/$evil-team/persistentvolumeclaims" json "$(claim "$wish")"
done
for wish in '"volumeName":"'$evil'-pv","storageClassName":""' '"storageClassName":"'$evil'-gold"' '"storageClassName":""'; do
  curl_more=("${as_controller[@]}")
  direct POST "/api/v1/namespaces/$evil-team/persistentvolumeclaims?dryRun=All" json "$(claim "$wish")"
  accepted "its own: $wish"
done
# What claims are made of has no default yet: no class of the platform's that is not shared.
set_of() { printf '{"metadata":{"name":"evil-set"},"spec":{"serviceName":"evil","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}},"volumeClaimTemplates":[{"metadata":{"name":"data","annotations":{%s}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}%s}}]}}' "$1" "$2"; }
as_tenant=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
sets=/apis/apps/v1/namespaces/$evil-team/statefulsets
refused_set() {
  curl_more=("${as_tenant[@]}")
  direct POST "$sets?dryRun=All" json "$2"
  refused "a set whose claims are of $1" '403|422'
  expect_match "by the policy" zoo-tenants-claims "$answer"
  would "make it" POST "$sets" json "$2"
}
refused_set "a class that is not shared" "$(set_of '' ',"storageClassName":"platform-gold"')"
refused_set "one by its annotation" "$(set_of '"volume.beta.kubernetes.io/storage-class":"platform-gold"' '')"
refused_set "attributes that are not shared" "$(set_of '' ',"volumeAttributesClassName":"platform-gold"')"
for wish in '' ',"storageClassName":""' ',"storageClassName":"'$evil'-gold"'; do
  curl_more=("${as_tenant[@]}")
  direct POST "$sets?dryRun=All" json "$(set_of '' "$wish")"
  accepted "its own: $wish"
done
