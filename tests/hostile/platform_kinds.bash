# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: kinds that steer the control plane itself: APIServices, flow schemas, priority levels, zood's own objects by name.
# Without the fence: an APIService for v1 takes over the core API; a flow schema gives the attacker all of upstream's time.
# Rule: they are kept by zood, inert; nothing of them reaches upstream.
try POST /apis/apiregistration.k8s.io/v1/apiservices json '{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.evil.example.com"},"spec":{"group":"evil.example.com","version":"v1","groupPriorityMinimum":20000,"versionPriority":100,"service":{"namespace":"'"$victim-team"'","name":"'"$vault"'"}}}'
refused "an API of a Service"
made "an APIService" POST /apis/apiregistration.k8s.io/v1/apiservices json '{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.evil.example.com"},"spec":{"group":"evil.example.com","version":"v1","groupPriorityMinimum":20000,"versionPriority":100}}'
while read -r type body; do
  try PATCH /apis/apiregistration.k8s.io/v1/apiservices/v1.evil.example.com "$type" "$body"
  refused "a Service for it by $type ${body:0:30}"
done <<'P'
merge {"spec":{"service":{"namespace":"team","name":"evil"}}}
merge {"spec":{"s\u0065rvice":{"namespace":"team","name":"evil"}}}
patch [{"op":"add","path":"/spec/service","value":{"namespace":"team","name":"evil"}}]
P
expect_match "is none upstream" '404|NotFound' "$(stored /apis/apiregistration.k8s.io/v1/apiservices/v1.evil.example.com '.code')"
try POST /apis/apiregistration.k8s.io/v1/apiservices json '{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.apps"},"spec":{"group":"apps","version":"v1","groupPriorityMinimum":20000,"versionPriority":100,"service":{"namespace":"team","name":"evil"}}}'
before=$(stored /apis/apiregistration.k8s.io/v1/apiservices/v1.apps .metadata.uid)
try DELETE /apis/apiregistration.k8s.io/v1/apiservices/v1.apps
try PATCH /apis/apiregistration.k8s.io/v1/apiservices/v1. merge '{"spec":{"insecureSkipTLSVerify":true,"service":{"namespace":"team","name":"evil"}}}'
expect "upstream's is as it was" "$before" "$(stored /apis/apiregistration.k8s.io/v1/apiservices/v1.apps .metadata.uid)"
for kind in flowschemas prioritylevelconfigurations; do
  listed=$(stored /apis/flowcontrol.apiserver.k8s.io/v1/$kind '[.items[].metadata | .name + .uid] | tostring')
  try DELETE /apis/flowcontrol.apiserver.k8s.io/v1/$kind
  try PATCH /apis/flowcontrol.apiserver.k8s.io/v1/$kind/exempt merge '{"spec":{"matchingPrecedence":1}}'
  try POST /apis/flowcontrol.apiserver.k8s.io/v1/$kind json '{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"evil"},"spec":{"matchingPrecedence":1,"priorityLevelConfiguration":{"name":"exempt"},"type":"Exempt","rules":[{"subjects":[{"kind":"Group","group":{"name":"*"}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}'
  expect "upstream's $kind are as they were" "$listed" "$(stored /apis/flowcontrol.apiserver.k8s.io/v1/$kind '[.items[].metadata | .name + .uid] | tostring')"
  try GET /apis/flowcontrol.apiserver.k8s.io/v1/$kind
  expect_no_match "zood's are not shown" zoo-tenants "$answer"
done
try POST /apis/networking.k8s.io/v1/namespaces/team/ingresses json '{"metadata":{"name":"evil"},"spec":{"ingressClassName":"'"$victim-$vault"'","defaultBackend":{"service":{"name":"x","port":{"number":1}}}}}'
expect_match "the victim's class is not the attacker's" "^(null|$evil-.*)$" "$(stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/ingresses/evil" .spec.ingressClassName)"
try POST /api/v1/namespaces/team/services json '{"metadata":{"name":"evil"},"spec":{"externalIPs":["10.0.0.1"],"ports":[{"port":443}]}}'
refused "external addresses"
made "a Service" POST /api/v1/namespaces/team/services json '{"metadata":{"name":"evil"},"spec":{"ports":[{"port":443}]}}'
fence() { stored "/api/v1/namespaces/$evil-team/services/evil" '.spec.externalIPs // [] | length'; }
after_each /api/v1/namespaces/team/services/evil 0 <<'P'
merge {"spec":{"externalIPs":["10.0.0.1"]}}
merge {"spec":{"externalIP\u0073":["10.0.0.1"]}}
strategic {"spec":{"externalIPs":["10.0.0.1"]}}
patch [{"op":"add","path":"/spec/externalIPs","value":["10.0.0.1"]}]
patch [{"op":"copy","from":"/spec/clusterIPs","path":"/spec/externalIPs"}]
patch [{"op":"move","from":"/spec/clusterIPs","path":"/spec/externalIPs"}]
apply {"apiVersion":"v1","kind":"Service","metadata":{"name":"evil"},"spec":{"externalIPs":["10.0.0.1"]}}
P
would "give an API to a Service" POST /apis/apiregistration.k8s.io/v1/apiservices json '{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.evil.example.com"},"spec":{"group":"evil.example.com","version":"v1","groupPriorityMinimum":20000,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"namespace":"'"$evil-team"'","name":"evil"}}}'
would "give all of its time to anybody" POST /apis/flowcontrol.apiserver.k8s.io/v1/flowschemas json '{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"evil"},"spec":{"matchingPrecedence":2,"priorityLevelConfiguration":{"name":"exempt"},"rules":[{"subjects":[{"kind":"Group","group":{"name":"*"}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}'
