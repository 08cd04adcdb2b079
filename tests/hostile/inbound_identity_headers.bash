# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to be somebody else by headers: impersonation, front-proxy headers, bearer tokens beside the certificate, hop-by-hop.
# Without the fence: zood's credential may impersonate anybody, so a header that passes is cluster-admin upstream.
# Rule: Impersonate-* is checked against the tenant's RBAC and rewritten; X-Remote-* and hop-by-hop never pass.
who() { jq -r '.status.userInfo | .username + " " + (.groups // [] | join(","))' <<<"$answer"; }
review='{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
for header in 'X-Remote-User: kubernetes-admin' 'X-Remote-Group: system:masters' 'X-Remote-Extra-Scopes: x' 'x-remote-uid: 1' 'Connection: Authorization' 'Connection: Impersonate-User, close' 'Connection: x-remote-user' \
  'X-Forwarded-Client-Cert: Subject="O=system:masters"' 'X-Forwarded-User: admin' 'X-Original-URI: /api/v1/secrets' 'X-Rewrite-URL: /api/v1/secrets' 'X-HTTP-Method-Override: DELETE' 'X-Kubernetes-PF-FlowSchema-UID: exempt' \
  'Proxy-Authorization: Basic eDp5' 'Forwarded: for=127.0.0.1' 'Impersonate_User: root' 'X_Remote_User: root' 'Upgrade: h2c' 'TE: trailers' 'Audit-ID: evil'; do
  curl_more=(-H "$header" --http1.1)
  try POST /apis/authentication.k8s.io/v1/selfsubjectreviews json "$review"
  expect_no_match "$header: $code" 'masters|kubernetes-admin|^root|zoo:tenants' "$(who 2>/dev/null)"
  curl_more=(-H "$header" --http1.1)
  try GET "/api/v1/namespaces/$victim-team/secrets/$vault"
  refused "$header shows nothing"
done
for header in 'Impersonate-User: system:admin' 'Impersonate-User: zoo:'"$victim" 'Impersonate-User: system:kube-controller-manager' 'Impersonate-User: system:serviceaccount:zoo-system:zood'; do
  for more in 'Impersonate-Group: system:masters' 'Impersonate-Group: zoo:tenants' 'Impersonate-Extra-zoo: x' 'IMPERSONATE-GROUP: system:nodes' 'Impersonate-Uid: 1'; do
    curl_more=(-H "$header" -H "$more")
    try GET "/api/v1/namespaces/$victim-team/secrets/$vault"
    refused "$header, $more"
    curl_more=(-H "$header" -H "$more")
    try GET "/api/v1/secrets?limit=100"
    expect_no_match "nor in a list" "$canary" "$answer"
  done
done
curl_more=(-H 'Impersonate-Group: system:masters')
try GET /api/v1/nodes
refused "a group without a user"
curl_more=(-H 'Impersonate-User: a' -H 'Impersonate-User: b')
try GET /api/v1/nodes
refused "two users"
curl_more=(-H "Authorization: Bearer $(upstream -n kube-system create token default)")
try GET "/api/v1/namespaces/kube-system/secrets"
expect_no_match "a token beside the certificate" "zoo-system|$canary" "$answer"
curl_more=(-H $'Impersonate-User: admin\x01' )
try GET /api/v1/nodes
refused "control characters in a name" '4..|000'
curl_more=(-H 'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.'"$(upstream -n kube-system create token default | base64 -w0 | tr '+/' '-_' | tr -d =)" -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' --http1.1)
try GET "/api/v1/namespaces/$victim-team/pods/$vault/exec?command=id&stdout=true"
refused "a token as a WebSocket's protocol"
curl_more=(-H "Impersonate-User: zoo:$victim" -H "Impersonate-Group: zoo:tenants")
would "believe the headers" GET "/api/v1/namespaces/$victim-team/secrets/$vault"
