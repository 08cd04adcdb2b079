#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: tenants app upstream
# timeout: 900
# What somebody takes from a tenant's room upstream comes back at once: zood hears of it, where it would look in some hours. Each
# change is of another tenant, so that nothing but its own watch can tell of it.
. "$(dirname "$0")/../e2e/lib.sh"

# Pods of others, in front of the same upstream, stay as they are.
start_zood_with 'advertise: 192.0.2.7:6443
inside: {enabled: false}'
changes=(binding binding-of-its-own label space Service Endpoints EndpointSlice authority reader approval)
declare -A tenants=() paths=() before=()
for change in "${changes[@]}"; do
  tenants[$change]=$(random_id)
  require "tenant ${tenants[$change]} is for the $change" ctl tenant create "${tenants[$change]}" --wait
done
for change in binding-of-its-own approval; do
  export_kubeconfig "${tenants[$change]}" --server "https://$zood_address"
done
check "one has a namespace of its own" as "${tenants[binding-of-its-own]}" create namespace team
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMPDIR/key" -subj /CN=web -out "$TMPDIR/request" 2>"$TMPDIR/openssl"
check "one asks for a certificate" as "${tenants[approval]}" create -f - <<Y
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: web}
spec: {request: $(base64 -w0 <"$TMPDIR/request"), signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}
Y
settled() { (($(ctl tenant list -o json | jq '[.items[] | select([.status.conditions[] | select(.status == "True" or .type == "InClusterAccess").type] | contains(["InClusterAccess", "Populated", "Ready"]))] | length') == ${#changes[@]})); }
eventually "all have what they wait for" 120 settled
# A tenant that was made has its last look after that: until then any change would come to light.
looks() { curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '$1 == "zood_tenant_looks_total" { print $2 }'; }
quiet() { local n; n=$(looks); sleep 12; [[ $(looks) == "$n" ]]; }
eventually "nobody looks any more" 120 quiet

# What each object is, apart from what is another one's when it was made anew.
kept() { upstream get --raw "$1" 2>/dev/null | jq -S 'del(.metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp, .metadata.managedFields, .metadata.generation, .spec.clusterIP, .spec.clusterIPs, .status)'; }
# meddle CHANGE PATH ARGUMENTS of kubectl...: by them the object becomes another one. @ is the tenant's ID.
meddle() {
  local change=$1 id=${tenants[$1]} path
  path=${2//@/$id}
  shift 2
  paths[$change]=$path before[$change]=$(kept "$path")
  expect_match "$change: there is one" '"name"' "${before[$change]}"
  check "and somebody meddles with it" upstream "${@//@/$id}"
}
rbac=/apis/rbac.authorization.k8s.io/v1/namespaces
meddle binding "$rbac/@-default/rolebindings/zoo-tenant" -n @-default delete rolebinding zoo-tenant
meddle binding-of-its-own "$rbac/@-team/rolebindings/zoo-tenant" -n @-team patch rolebinding zoo-tenant --type merge -p '{"subjects":[]}'
meddle label /api/v1/namespaces/@-kube-system label namespace @-kube-system tenant.kubezoo.io/id-
meddle Service /api/v1/namespaces/@-default/services/kubernetes -n @-default delete service kubernetes
meddle Endpoints /api/v1/namespaces/@-default/endpoints/kubernetes -n @-default delete endpoints kubernetes
meddle EndpointSlice /apis/discovery.k8s.io/v1/namespaces/@-default/endpointslices/kubernetes -n @-default patch endpointslice kubernetes --type merge -p '{"endpoints":[{"addresses":["192.0.2.1"]}]}'
meddle authority /api/v1/namespaces/@-kube-system/configmaps/extension-apiserver-authentication -n @-kube-system patch configmap extension-apiserver-authentication --type merge -p '{"data":{"client-ca-file":"none"}}'
meddle reader "$rbac/@-kube-system/roles/extension-apiserver-authentication-reader" -n @-kube-system delete role extension-apiserver-authentication-reader
check "the platform approves of the request" upstream certificate approve "${tenants[approval]}-web"
check "and makes a tenant a namespace" upstream create -f - <<Y
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${tenants[space]}-given","labels":{"tenant.kubezoo.io/id":"${tenants[space]}"}}}
Y
for change in "${!paths[@]}"; do
  same() { [[ $(kept "${paths[$change]}") == "${before[$change]}" ]]; }
  eventually "$change: it is as it was" 120 same
done
signed() { [[ -n $(as "${tenants[approval]}" get csr web -o jsonpath='{.status.certificate}') ]]; }
eventually "approval: it is signed" 120 signed
eventually "space: it is the tenant's" 120 upstream -n "${tenants[space]}-given" get rolebinding zoo-tenant

check "all are deleted" ctl tenant delete "${tenants[@]}" --wait
# The room of a tenant that goes is not made again, however late its end is heard of.
eventually "nobody looks at what is gone" 60 quiet
expect "nothing is left" "" "$(upstream get namespaces -o name | grep -F -f <(printf '/%s-\n' "${tenants[@]}"))"
