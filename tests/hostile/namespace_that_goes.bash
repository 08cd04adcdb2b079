# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to write status in a namespace that is going, where upstream has taken away the tenant's rights and zood asks in its stead.
# Without the fence: upstream's policies hold tenants, and not zood, to what controllers and kubelets write: addresses of Services and
#   pods (CVE-2020-8554, the API server's `proxy`), and finalizers of namespaces.
# Rule: in its own name zood repeats what reads or deletes there, and writes of whole objects; nothing of a subresource, no proxy.
gone=/api/v1/namespaces/evil-gone kept='"finalizers":["evil.example.com/kept"]'
made "a namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-gone"}}'
made "a service" POST $gone/services json '{"metadata":{"name":"evil",'"$kept"'},"spec":{"type":"LoadBalancer","loadBalancerClass":"x.example/none","ports":[{"port":443}]}}'
eventually "where pods can be made" 120 has_account "$evil" evil-gone
made "a pod" POST $gone/pods json '{"metadata":{"name":"evil",'"$kept"'},"spec":{"schedulerName":"none","containers":[{"name":"c","image":"x"}]}}'
made "an object" POST $gone/configmaps json '{"metadata":{"name":"evil",'"$kept"'}}'
made "a kind" POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions json '{"metadata":{"name":"goings.evil.example"},"spec":{"group":"evil.example","scope":"Namespaced","names":{"plural":"goings","singular":"going","kind":"Going","listKind":"GoingList"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}'
goings=/apis/evil.example/v1/namespaces/evil-gone/goings
served() {
  try GET $goings
  [[ $code == 200 ]]
}
eventually "is served" 60 served
made "an object of its own" POST $goings json '{"apiVersion":"evil.example/v1","kind":"Going","metadata":{"name":"evil",'"$kept"'}}'
try DELETE $gone
accepted "the namespace goes"
# Upstream's controller does so when it comes to them.
direct DELETE "/apis/rbac.authorization.k8s.io/v1/namespaces/$evil-evil-gone/rolebindings/zoo-tenant"
refused "and with it its rights upstream" '200|404'
for patch in 'services/evil {"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}' 'pods/evil {"podIP":"10.0.0.10","podIPs":[{"ip":"10.0.0.10"}]}' 'pods/evil {"nominatedNodeName":"kwok-1"}'; do
  for type in merge strategic; do
    try PATCH "$gone/${patch%% *}/status" $type '{"status":'"${patch#* }"'}'
    refused "status of ${patch%% *}, by $type" 403
  done
  expect "upstream has none" '[null,null,null]' "$(stored "/api/v1/namespaces/$evil-evil-gone/${patch%% *}" '[.status.loadBalancer.ingress, .status.podIP, .status.nominatedNodeName] | tojson')"
done
try GET $gone/services/evil
whole=$(jq -c '.status.loadBalancer.ingress=[{"ip":"203.0.113.7"}]' <<<"$answer")
accepted "it is read"
try PUT $gone/services/evil/status json "$whole"
refused "nor by a whole object" 403
for path in pods/https:evil:443/proxy/ services/https:evil:443/proxy/; do
  try GET "$gone/$path"
  refused "no proxy: $path" '403|404|503'
  expect_no_match "by zood's rights" 'dial tcp|no endpoints|address not allowed' "$answer"
done
try PATCH $goings/evil/status merge '{"status":{"phase":"Deleting"}}'
accepted "the status of its own kind is its own affair"
try PATCH /api/v1/namespaces/evil-never/pods/evil/status merge '{"status":{}}'
refused "and where there is no namespace, that is said" 404
try PUT $gone/finalize json '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"evil-gone"},"spec":{"finalizers":[]}}'
refused "nor is its own finalizer taken away" '403|409|422'
expect "it is there" '["kubernetes"]' "$(stored "/api/v1/namespaces/$evil-evil-gone" '.spec.finalizers | tojson')"
would "write an address" PATCH "/api/v1/namespaces/$evil-evil-gone/services/evil/status" merge '{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}}'
# What a tenant has to do so that the namespace can go.
for thing in $gone/services/evil $gone/pods/evil $gone/configmaps/evil $goings/evil; do
  try PATCH "$thing" merge '{"metadata":{"finalizers":null}}'
  accepted "the finalizer of $thing is taken away"
done
over() {
  try GET $gone
  [[ $code == 404 ]]
}
eventually "and the namespace is gone" 300 over
