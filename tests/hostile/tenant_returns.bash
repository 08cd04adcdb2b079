# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: certificate, token, continue token and TLS session of a tenant that was deleted, after another came under its ID; and
# objects of its neighbours in the alphabet during its deletion.
# Without the fence: an ID that comes back revives old keys; a deletion by a prefix without its dash wipes the neighbours'.
# Rule: certificates and tokens carry the UID of the Tenant; deletion goes by the prefix with its dash, in what the tenant owns.
new_attacker gone
neighbour=${gone}x
for kind in rbac.authorization.k8s.io/v1/clusterroles scheduling.k8s.io/v1/priorityclasses; do
  direct POST /apis/$kind json '{"metadata":{"name":"'"$neighbour"'-kept"},"value":7}'
  accepted "a neighbour's $kind"
done
send "$gone" "https://$zood_address" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-1"}}'
send "$gone" "https://$zood_address" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-2"}}'
send "$gone" "https://$zood_address" GET '/api/v1/configmaps?limit=1'
page=$(jq -r .metadata.continue <<<"$answer")
send "$gone" "https://$zood_address" POST /api/v1/namespaces/team/serviceaccounts/default/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
token=$(jq -r .status.token <<<"$answer")
got() { curl -s --max-time 20 --cacert "$TMPDIR/$evil.ca" -o "$TMPDIR/body" -w '%{http_code}' "$@"; }
expect "the token was good" 200 "$(got -H "Authorization: Bearer $token" "https://$zood_address/version")"
openssl s_client -connect "$zood_address" -CAfile "$TMPDIR/$gone.ca" -cert "$TMPDIR/$gone.crt" -key "$TMPDIR/$gone.key" -sess_out "$TMPDIR/session" -ign_eof -alpn http/1.1 <<<$'GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r' >"$TMPDIR/first" 2>&1
expect_match "a session was made" 'HTTP/1.1 200' "$(cat "$TMPDIR/first")"
check "the tenant is deleted" ctl tenant delete "$gone" --wait
expect "its certificate is none now" 401 "$(got --cert "$TMPDIR/$gone.crt" --key "$TMPDIR/$gone.key" "https://$zood_address/api/v1/namespaces")"
for kind in rbac.authorization.k8s.io/v1/clusterroles scheduling.k8s.io/v1/priorityclasses; do
  expect "the neighbour's stands" "$neighbour-kept" "$(stored "/apis/$kind/$neighbour-kept" .metadata.name)"
  expect "without its dash the ID is the neighbour's too" "$neighbour-kept" "$(stored "/apis/$kind" '.items[].metadata.name | select(startswith("'"$gone"'"))')"
  would "delete what begins so" DELETE "/apis/$kind/$neighbour-kept"
  direct DELETE "/apis/$kind/$neighbour-kept"
done
require "another tenant comes under its ID" ctl tenant create "$gone" --wait
attackers+=("$gone")
expect "the old certificate is none" 401 "$(got --cert "$TMPDIR/$gone.crt" --key "$TMPDIR/$gone.key" "https://$zood_address/api/v1/namespaces")"
expect "nor the old token" 401 "$(got -H "Authorization: Bearer $token" "https://$zood_address/version")"
resumed=$( (printf 'GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'; sleep 1) | openssl s_client -connect "$zood_address" -CAfile "$TMPDIR/$gone.ca" -sess_in "$TMPDIR/session" -ign_eof -alpn http/1.1 2>&1)
expect_match "the old TLS session goes on" '^Reused, TLSv1.3' "$resumed"
expect_match "and is refused" 'HTTP/1.1 401' "$resumed"
export_kubeconfig "$gone"
credentials "$TMPDIR/$gone.kubeconfig" "$gone-new"
send "$gone-new" "https://$zood_address" GET "/api/v1/configmaps?limit=1&continue=$page"
expect_match "the old place in a list is none" '^(400|410)$' "$code"
send "$gone-new" "https://$zood_address" GET /api/v1/configmaps
expect "the new certificate, of the same name, is good" 200 "$code"
expect_no_match "nothing of the old one is there" 'evil-1' "$answer"
leave "$gone"
