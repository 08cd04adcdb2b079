# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: everything without a certificate and without a token; from a page of another origin; with methods that mean nothing.
# Without the fence: anonymous requests reach what KubeZoo left open: metrics, profiles, logs.
# Rule: who cannot say who it is gets 401, everywhere but on /healthz, /livez, /readyz and /version at most.
for path in / /api /api/v1/namespaces "/api/v1/namespaces/team/secrets/$vault" /apis /openapi/v2 /openapi/v3 /metrics /logs/ /debug/pprof/ /debug/flags/v "/api/v1/namespaces/$victim-team/pods/$vault/exec?command=id" /zoo/v1/tenants /apis/tenant.kubezoo.io/v1alpha1/tenants /.well-known/openid-configuration /openid/v1/jwks /version /healthz /readyz /livez; do
  for method in GET POST PUT PATCH DELETE OPTIONS HEAD TRACE FOO; do
    case $method in
      HEAD) got=$(curl -sI --max-time 10 --cacert "$TMPDIR/$evil.ca" -o /dev/null -w '%{http_code}' "https://$zood_address$path") ;;
      *) got=$(curl -s --max-time 10 --cacert "$TMPDIR/$evil.ca" -X $method -o "$TMPDIR/body" -w '%{http_code}' "https://$zood_address$path") ;;
    esac
    observe "$vault" "$(cat "$TMPDIR/body")"
    case $path in
      /version | /healthz | /readyz | /livez) expect_match "$method $path: $got" '^(200|40.|501)$' "$got" ;;
      *) expect_match "$method $path: $got" '^(40[0135]|501)$' "$got" ;;
    esac
  done
done
for origin in https://evil.example.com null "https://$zood_address"; do
  curl_more=(-H "Origin: $origin" -H 'Access-Control-Request-Method: GET')
  try OPTIONS /api/v1/namespaces
  expect_no_match "no page of $origin may read" 'access-control-allow' "$(tr 'A-Z' 'a-z' <"$TMPDIR/headers")"
  curl_more=(-H "Origin: $origin")
  try GET /api/v1/namespaces
  expect_no_match "nor when it asks" 'access-control-allow' "$(tr 'A-Z' 'a-z' <"$TMPDIR/headers")"
done
for method in TRACE TRACK CONNECT PROPFIND FOO get; do
  curl_more=(--http1.1)
  try $method "/api/v1/namespaces/team/secrets/$vault"
  refused "method $method" '40.|501|000'
done
for path in /metrics /debug/pprof/ /openapi/v2 "/api/v1/namespaces/$victim-team/secrets/$vault"; do
  would "show $path to its administrator" GET "$path"
done
