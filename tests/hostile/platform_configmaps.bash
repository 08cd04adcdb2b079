# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: what upstream keeps in kube-system, kube-public and default: bootstrap tokens, client CAs, cluster-info, leases, the
# endpoints of its API; and to put its own under those names.
# Without the fence: extension-apiserver-authentication and bootstrap tokens are upstream's front door.
# Rule: kube-system, kube-public, kube-node-lease and default are the tenant's own namespaces.
for path in namespaces/kube-system/configmaps/extension-apiserver-authentication namespaces/kube-system/configmaps/kubeadm-config namespaces/kube-public/configmaps/cluster-info namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking \
  namespaces/kube-system/secrets namespaces/kube-system/serviceaccounts/namespace-controller namespaces/zoo-system/serviceaccounts/zood namespaces/zoo-system/secrets namespaces/zoo-system; do
  direct GET "/api/v1/$path"
  theirs=$(jq -r '.metadata.uid // empty' <<<"$answer")
  try GET "/api/v1/$path"
  # A tenant has secrets and the clients' CA of its own there.
  [[ $path == */secrets || $path == */extension-apiserver-authentication ]] || refused "$path" '40[34]'
  [[ -z $theirs ]] || expect_no_match "is not upstream's" "$theirs" "$answer"
done
for name in extension-apiserver-authentication cluster-info; do
  for namespace in kube-system kube-public; do
    before=$(stored "/api/v1/namespaces/$namespace/configmaps/$name" '.metadata.resourceVersion // "none"')
    try POST "/api/v1/namespaces/$namespace/configmaps" json '{"metadata":{"name":"'"$name"'"},"data":{"requestheader-client-ca-file":"evil"}}'
    try PATCH "/api/v1/namespaces/$namespace/configmaps/$name" merge '{"data":{"client-ca-file":"evil"}}'
    try DELETE "/api/v1/namespaces/$namespace/configmaps/$name"
    expect "upstream's $namespace/$name is as it was" "$before" "$(stored "/api/v1/namespaces/$namespace/configmaps/$name" '.metadata.resourceVersion // "none"')"
  done
done
made "a token to join" POST /api/v1/namespaces/kube-system/secrets json '{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":{"token-id":"abcdef","token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true","auth-extra-groups":"system:bootstrappers:evil"}}'
expect "is none upstream" 401 "$(curl -sk -H 'Authorization: Bearer abcdef.0123456789abcdef' -o /dev/null -w '%{http_code}' "$upstream_server/api")"
expect "nor here" 401 "$(curl -s --cacert "$TMPDIR/$evil.ca" -H 'Authorization: Bearer abcdef.0123456789abcdef' -o /dev/null -w '%{http_code}' "https://$zood_address/api")"
for lease in kube-controller-manager kube-scheduler apiserver; do
  before=$(stored "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/$lease" '.spec.holderIdentity // "none"')
  try PUT "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/$lease" json '{"metadata":{"name":"'"$lease"'"},"spec":{"holderIdentity":"evil","leaseDurationSeconds":3600}}'
  try POST "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases" json '{"metadata":{"name":"'"$lease"'"},"spec":{"holderIdentity":"evil","leaseDurationSeconds":3600}}'
  try DELETE "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/$lease"
  expect "the lease $lease is held as before" "$before" "$(stored "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/$lease" '.spec.holderIdentity // "none"')"
done
for path in /api/v1/namespaces/default/services/kubernetes /api/v1/namespaces/default/endpoints/kubernetes /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes; do
  before=$(stored "$path" '.metadata.uid // "none"')
  try DELETE "$path"
  try PATCH "$path" merge '{"metadata":{"labels":{"evil":"x"}}}'
  expect "upstream's ${path##*default/} stands" "$before null" "$(stored "$path" '(.metadata.uid // "none") + " " + (.metadata.labels.evil | tostring)')"
done
would "show who may speak for others" GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication
would "let it be another" PATCH /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication merge '{"data":{"requestheader-client-ca-file":"evil"}}'
would "take a token to join" POST /api/v1/namespaces/kube-system/secrets json '{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":{"token-id":"abcdef","token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true"}}'
would "give a controller's lease away" PATCH '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler?fieldManager=evil&force=true' apply '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"kube-scheduler"},"spec":{"holderIdentity":"evil"}}'
would "delete the way to its API" DELETE /api/v1/namespaces/default/services/kubernetes
