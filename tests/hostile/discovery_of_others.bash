# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: what the documents about the API tell: groups, schemas, versions, storage hashes, health and metrics.
# Without the fence: discovery and OpenAPI name every tenant's groups, and /metrics every tenant's kinds.
# Rule: documents are filtered and written anew; what speaks of the host is refused.
for path in /api /apis /api/v1 /openapi/v2 /openapi/v3 /version /healthz /livez /readyz /healthz/etcd '/readyz?verbose' '/livez?verbose' /.well-known/openid-configuration /openid/v1/jwks; do
  try GET "$path"
  expect_no_match "$path: $code" "$victim|$canary|vaults.example.com" "$answer"
  curl_more=(-H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
  try GET "$path"
  expect_no_match "$path, aggregated: $code" "$victim|$canary|vaults.example.com" "$answer"
  curl_more=(-H 'Accept: application/com.github.proto-openapi.spec.v2@v1.0+protobuf')
  try GET "$path"
  expect_no_match "$path, as protobuf: $code" "$victim|$canary|vaults.example.com" "$answer"
done
for path in /metrics /metrics/slis /metrics/cadvisor /debug/pprof/ /debug/pprof/heap /debug/flags/v /debug/api_priority_and_fairness/dump_requests /logs /logs/ /configz /statusz /flagz /swagger.json /ui /zoo/v1/status \
  /apis/tenant.kubezoo.io/v1alpha1/tenants "/apis/tenant.kubezoo.io/v1alpha1/tenants/$victim" /apis/tenant.kubezoo.io /apis/metrics.k8s.io/v1beta1/nodes /api/v1/componentstatuses/../secrets; do
  for method in GET POST PUT DELETE; do
    try $method "$path"
    refused "$method $path" '40.'
  done
done
would "serve the victim's kinds" GET "/apis/$victim-vaults.example.com/v1/safes"
