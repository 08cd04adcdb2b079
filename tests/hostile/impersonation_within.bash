# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: impersonation with what only zood may say upstream: extras of its own, UIDs, accounts of the victim, nodes, encodings.
# Without the fence: zood's own identity may impersonate anybody upstream.
# Rule: headers are read once, checked against the tenant's RBAC, and never sent; upstream hears of zoo:<id> alone.
review='{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
for headers in "Impersonate-User: system:serviceaccount:$victim-team:$vault" 'Impersonate-User: system:node:kwok-1|Impersonate-Group: system:nodes' "Impersonate-User: zoo:$victim|Impersonate-Group: zoo:tenants" 'Impersonate-User: system:serviceaccount:zoo-system:zood' \
  'Impersonate-User: a|Impersonate-Extra-Zoo.kubezoo.io%2Ftenant: '"$victim" 'Impersonate-User: a|Impersonate-Extra-tenant: '"$victim" 'Impersonate-User: a|Impersonate-Uid: '"$victims_uid" 'Impersonate-User: a%0d%0aImpersonate-Group:%20system:masters' \
  'Impersonate-User: |Impersonate-Group: system:masters' 'Impersonate-User:' 'Impersonate-Group: system:masters' 'Impersonate-Uid: 1' 'Impersonate-Extra-a: b' 'impersonate-user: admin|IMPERSONATE-USER: root' 'Impersonate-User: '"$(printf 'a%.0s' {1..5000})"; do
  curl_more=()
  IFS='|' read -ra fields <<<"$headers"
  for field in "${fields[@]}"; do curl_more+=(-H "${field/%:/;}"); done
  more=("${curl_more[@]}")
  for path in "/api/v1/namespaces/$victim-team/secrets/$vault" "/api/v1/namespaces/kube-system/secrets" "/api/v1/secrets?limit=500"; do
    curl_more=("${more[@]}")
    try GET "$path"
    expect_no_match "$code: ${headers:0:60} at $path" "$canary|bootstrap-token" "$answer"
  done
  curl_more=("${more[@]}")
  try POST /apis/authentication.k8s.io/v1/selfsubjectreviews json "$review"
  # Within the tenant those are names like any other; upstream never hears them.
  [[ $headers == *zoo:tenants* ]] || expect_no_match "$code: nobody of upstream's" '"zoo:tenants"|kubernetes-admin' "$answer"
  curl_more=("${more[@]}")
  try PATCH /api/v1/nodes/kwok-1 merge '{"metadata":{"labels":{"evil":"x"}}}'
  refused "and no node is changed"
done
curl_more=(-H 'Impersonate-User: bob')
try GET /api/v1/namespaces/team/secrets
refused "somebody without rights has none" 403
curl_more=(-H 'Impersonate-User: bob' -H 'Impersonate-Group: system:masters')
try GET /api/v1/namespaces/team/secrets
expect_match "system:masters of the tenant is nobody upstream: $code" '^(200|403)$' "$code"
curl_more=(-H "Impersonate-User: zoo:$victim" -H "Impersonate-Group: zoo:tenants")
would "take somebody for the victim" GET "/api/v1/namespaces/$victim-team/secrets/$vault"
