# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the platform's own API from inside a tenant: every tenant's record and kubeconfig, a larger quota, other tenants' end.
# Without the fence: KubeZoo served its Tenant kind to tenants, with every tenant's private key in an annotation.
# Rule: the admin API has a listener and credentials of its own; a tenant's certificate is a stranger there, and sees none of it here.
# Direct: none, because upstream has no such kind: that all of it can be done is shown at the platform's own socket.
for path in /apis/tenant.kubezoo.io/v1alpha1 /apis/tenant.kubezoo.io/v1alpha1/tenants "/apis/tenant.kubezoo.io/v1alpha1/tenants/$victim" "/apis/tenant.kubezoo.io/v1alpha1/tenants/$evil" "/apis/tenant.kubezoo.io/v1alpha1/tenants/$evil/status" \
  "/apis/tenant.kubezoo.io/v1alpha1/namespaces/team/tenants/$victim" "/apis/$evil-tenant.kubezoo.io/v1alpha1/tenants" /apis/zoo.kubezoo.io/v1alpha1/tenants /zoo/v1/tenants "/zoo/v1/tenants/$victim/kubeconfig" /zoo/v1/doctor /admin /kubeconfig; do
  for request in GET 'POST json {"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant","metadata":{"name":"evilid"},"spec":{}}' 'PATCH merge {"spec":{"suspended":true,"quota":{"hard":{"pods":"9999"}}}}' 'PUT json {"spec":{}}' DELETE; do
    read -r method type body <<<"$request"
    try "$method" "$path" "$type" "$body"
    refused "$method $path"
  done
done
expect "nobody is suspended" true "$(ctl tenant get "$victim" -o json | jq '.spec.suspended != true')"
expect_no_match "nobody new came" evilid "$(ctl tenant list -o name)"
try GET /apis
expect_no_match "the group is not told of" 'tenant.kubezoo.io' "$answer"
for socket in "$zood_dir"/*.sock "$zood_dir"/run/*.sock; do
  [[ -S $socket ]] && expect_match "the admin socket is nobody else's" '^srw-(rw|--)-*$' "$(stat -c %A "$socket" | tr -d x)"
done
expect "no key of zood's can be read by others" "" "$(find "$zood_dir" -type f -perm /077 2>/dev/null)"
terms '{"spec":{"quota":{"objects":9999}}}'
expect "at its own socket the platform may: a larger quota" 9999 "$(ctl tenant get "$evil" -o json | jq '.spec.quota.objects')"
expect_match "and sees every tenant" "$victim" "$(ctl tenant list -o name)"
