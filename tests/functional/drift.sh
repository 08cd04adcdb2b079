#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What somebody takes from a tenant's room upstream comes back at once: zood hears of it, where it would look in some minutes.
. "$(dirname "$0")/../e2e/lib.sh"

printf 'dir: %s\nadvertise: 192.0.2.7:6443\nupstream: {kubeconfig: %s}\n' "$zood_dir" "$ZOO_E2E_KUBECONFIG" >"$TMPDIR/zood.yaml"
start_zood --config "$TMPDIR/zood.yaml"
t=$(random_id)
require "create tenant $t" ctl tenant create "$t" --wait
export_kubeconfig "$t" --server "https://$zood_address"
check "it has a namespace of its own" as "$t" create namespace team
settled() { [[ $(ctl tenant get "$t" -o json | jq '[.status.conditions[] | select(.status == "True").type] | contains(["InClusterAccess", "Populated", "Ready"])') == true ]]; }
eventually "and waits for nothing" 60 settled

# What each object is, apart from what is another one's when it was made anew.
kept() { upstream get --raw "$1" 2>/dev/null | jq -S 'del(.metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp, .metadata.managedFields, .metadata.generation, .spec.clusterIP, .spec.clusterIPs, .status)'; }
declare -A paths=() before=()
# meddle WHAT PATH ARGUMENTS of kubectl...: by them it becomes another one.
meddle() {
  local what=$1 path=$2
  shift 2
  paths[$what]=$path before[$what]=$(kept "$path")
  expect_match "$what is there" '"name"' "${before[$what]}"
  check "and meddled with" upstream "$@"
}
rbac=/apis/rbac.authorization.k8s.io/v1/namespaces
meddle "the binding of a first namespace" "$rbac/$t-default/rolebindings/zoo-tenant" -n "$t-default" delete rolebinding zoo-tenant
meddle "the binding of another one" "$rbac/$t-team/rolebindings/zoo-tenant" -n "$t-team" delete rolebinding zoo-tenant
meddle "the label" "/api/v1/namespaces/$t-kube-system" label namespace "$t-kube-system" tenant.kubezoo.io/id-
meddle "the Service" "/api/v1/namespaces/$t-default/services/kubernetes" -n "$t-default" delete service kubernetes
meddle "its EndpointSlice" "/apis/discovery.k8s.io/v1/namespaces/$t-default/endpointslices/kubernetes" -n "$t-default" patch endpointslice kubernetes --type merge -p '{"endpoints":[{"addresses":["192.0.2.1"]}]}'
meddle "the authority" "/api/v1/namespaces/$t-kube-system/configmaps/extension-apiserver-authentication" -n "$t-kube-system" patch configmap extension-apiserver-authentication --type merge -p '{"data":{"client-ca-file":"none"}}'
meddle "who may read it" "$rbac/$t-kube-system/roles/extension-apiserver-authentication-reader" -n "$t-kube-system" delete role extension-apiserver-authentication-reader
for object in "${!paths[@]}"; do
  same() { [[ $(kept "${paths[$object]}") == "${before[$object]}" ]]; }
  eventually "$object is as it was" 45 same
done

openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMPDIR/key" -subj /CN=web -out "$TMPDIR/request" 2>"$TMPDIR/openssl"
check "a certificate is asked for" as "$t" create -f - <<Y
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: web}
spec: {request: $(base64 -w0 <"$TMPDIR/request"), signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}
Y
check "the platform approves of it upstream" upstream certificate approve "$t-web"
signed() { [[ -n $(as "$t" get csr web -o jsonpath='{.status.certificate}') ]]; }
eventually "it is signed" 30 signed

# The room of a tenant that goes is not made again.
check "the tenant is deleted" ctl tenant delete "$t" --wait --timeout 60s
expect "nothing is left" "" "$(upstream get namespaces -o name | grep -F "/$t-")"
