# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: tokens: of the victim's accounts by name, with upstream's audience, upstream's own, none at all, and the oracle TokenReview.
# Without the fence: a token with upstream's audience is a login upstream; the review would tell whose a stolen token is.
# Rule: audience zood alone, which upstream refuses; a token's tenant is its namespace's; reviews say nothing of strangers.
for audience in '["https://kubernetes.default.svc"]' '["zood","https://kubernetes.default.svc.cluster.local"]' '[]' '["zood",""]' '["Zood"]'; do
  try POST /api/v1/namespaces/team/serviceaccounts/default/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":'"$audience"',"expirationSeconds":600}}'
  token=$(jq -r '.status | objects | .token // empty' <<<"$answer")
  if [[ -n $token ]]; then
    got=$(curl -sk -H "Authorization: Bearer $token" -o /dev/null -w '%{http_code}' "$upstream_server/api")
    expect "upstream does not take what $audience gives" 401 "$got"
  else
    refused "audience $audience"
  fi
done
for account in "../../$victim-team/serviceaccounts/$vault" "$vault"; do
  try POST "/api/v1/namespaces/team/serviceaccounts/$account/token" json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
  refused "no token of $account" '4..|000'
done
try POST /api/v1/namespaces/team/serviceaccounts/default/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"namespace":"'"$victim-team"'","name":"'"$vault"'"},"spec":{"audiences":["zood"]}}'
refused "nor by the body"
try POST /api/v1/namespaces/team/serviceaccounts/default/token json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"],"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"'"$vault"'","uid":"'"$victims_uid"'"}}}'
refused "nor bound to the victim's Secret"
victims=$(as "$victim" -n team create token "$vault")
review() { try POST /apis/authentication.k8s.io/v1/tokenreviews json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"'"$1"'"'"${2:-}"'}}'; }
review "$victims"
expect_no_match "a review knows no token of the victim" 'authenticated": ?true' "$answer"
review "$victims" ',"audiences":["zood"]'
expect_no_match "with an audience" 'authenticated": ?true' "$answer"
review "$(upstream -n kube-system create token default)"
expect_no_match "nor of upstream" 'authenticated": ?true' "$answer"
review "$(upstream -n "$evil-team" create token default)"
expect_no_match "not even of its own account upstream" 'authenticated": ?true' "$answer"
for name in kube-system zoo-system "$victim-team" "$evil-team"; do
  token=$(upstream -n "$name" create token default --audience https://kubernetes.default.svc.cluster.local 2>/dev/null || upstream -n "$name" create token default)
  code=$(curl -s --cacert "$TMPDIR/$evil.ca" -H "Authorization: Bearer $token" -o "$TMPDIR/body" -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/secrets/$vault")
  observe "$vault" "$(cat "$TMPDIR/body")"
  refused "upstream's token of $name is none here" '401|403'
done
# A namespace of the platform's that has the shape of a tenant's, with an account whose token is for zood: KubeZoo took
# calico-system for its tenant "calico".
stranger=$(random_id)
direct POST /api/v1/namespaces json '{"metadata":{"name":"'"$stranger-x"'","labels":{"tenant.kubezoo.io/id":"'"$stranger"'"}}}'
accepted "a namespace $stranger-x of the platform's"
direct POST "/api/v1/namespaces/$stranger-x/serviceaccounts" json '{"metadata":{"name":"default"}}'
for namespace in "$stranger-x" "$evil-team"; do
  direct POST "/api/v1/namespaces/$namespace/serviceaccounts/default/token" json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["zood"]}}'
  accepted "upstream gives a token of $namespace"
  token=$(jq -r .status.token <<<"$answer")
  with_token GET /version
  if [[ $namespace == "$stranger-x" ]]; then refused "it is nobody's, for there is no tenant $stranger" 401; else accepted "which of a tenant's would be good"; fi
done
direct DELETE "/api/v1/namespaces/$stranger-x"
for header in 'Bearer' 'Bearer ' 'bearer x.y.z' 'Basic YTpi' 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6'"$victim"'LXRlYW06ZGVmYXVsdCJ9.' "Bearer $victims, Bearer x"; do
  code=$(curl -s --cacert "$TMPDIR/$evil.ca" -H "Authorization: $header" -o "$TMPDIR/body" -w '%{http_code}' "https://$zood_address/api/v1/namespaces")
  observe "" "$(cat "$TMPDIR/body")"
  refused "Authorization: ${header:0:30}" '40.|000'
done
try POST /api/v1/namespaces/team/secrets json '{"metadata":{"name":"evil","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}'
refused "no token that never expires"
made "a plain Secret" POST /api/v1/namespaces/team/secrets json '{"metadata":{"name":"evil","annotations":{"kubernetes.io/service-account.name":"default","t":"kubernetes.io/service-account-token"}},"type":"Opaque"}'
try PATCH /api/v1/namespaces/team/secrets/evil patch '[{"op":"copy","from":"/metadata/annotations/t","path":"/type"}]'
try PATCH /api/v1/namespaces/team/secrets/evil merge '{"type":"kubernetes.io/service-account-token"}'
expect "does not become one" Opaque "$(stored "/api/v1/namespaces/$evil-team/secrets/evil" .type)"
would "give a token of the victim's account" POST "/api/v1/namespaces/$victim-team/serviceaccounts/$vault/token" json '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}'
