# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: devices by administrator's access, device classes of the platform and the victim, slices and taints of devices.
# Without the fence: adminAccess gives a pod devices that others use.
# Rule: the namespace label that allows it is refused to tenants; slices are the platform's, read-only at most.
resource=/apis/resource.k8s.io/v1
for label in '{"resource.kubernetes.io/admin-access":"true"}' '{"resource.k8s.io/admin-access":"true","resource.kubernetes.io/admin-access":"true"}'; do
  try PATCH /api/v1/namespaces/team merge '{"metadata":{"labels":'"$label"'}}'
  expect "$code: the label is not there" null "$(stored "/api/v1/namespaces/$evil-team" '.metadata.labels["resource.kubernetes.io/admin-access"]')"
done
try POST $resource/namespaces/team/resourceclaims json '{"metadata":{"name":"evil"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x","adminAccess":true}}]}}}'
refused "a claim with an administrator's access"
try POST $resource/namespaces/team/resourceclaimtemplates json '{"metadata":{"name":"evil"},"spec":{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x","adminAccess":true}}]}}}}'
refused "nor a template of one"
for request in 'POST '$resource'/resourceslices json {"metadata":{"name":"evil"},"spec":{"driver":"example.com","nodeName":"kwok-1","pool":{"name":"x","generation":1,"resourceSliceCount":1}}}' 'DELETE '$resource'/resourceslices' 'DELETE '$resource'/deviceclasses/'"$victim-$vault" 'PATCH '$resource'/deviceclasses/'"$vault"' merge {"spec":{}}' \
  'POST /apis/resource.k8s.io/v1alpha3/devicetaintrules json {"metadata":{"name":"evil"},"spec":{"taint":{"key":"a","effect":"NoExecute"}}}'; do
  read -r method path type body <<<"$request"
  try "$method" "$path" "$type" "$body"
  refused "$method $path"
done
would "open a namespace to administrators' access" PATCH "/api/v1/namespaces/$evil-team" merge '{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}'
