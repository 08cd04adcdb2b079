# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to take the finalizer `kubernetes` off its own namespaces, so that they never go, or go before what is in them.
# Without the fence: upstream's controller passes such a namespace by; after a second DELETE its Secrets stay, and whoever has the ID
#   next reads them in a namespace of that name; the tenant's deletion never ends.
# Rule: the finalizer is upstream's to take away; zood gives it back before it deletes a tenant, and looks for what was left behind.
finalize=/api/v1/namespaces/evil-stuck/finalize
made "a namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-stuck"}}'
made "a Secret in it" POST /api/v1/namespaces/evil-stuck/secrets json '{"metadata":{"name":"evil"},"stringData":{"a":"b"}}'
body() { printf '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"},"spec":{%s}}' "$1" "$2"; }
for spec in '' '"finalizers":[]' '"finalizers":["evil.example.com/x"]' '"finalizers":null'; do
  try PUT $finalize json "$(body evil-stuck "$spec")"
  refused "without the finalizer: $spec" '403|422'
  expect_match "by the rule" 'rule namespace-finalizers' "$answer"
done
expect "it is there" '["kubernetes"]' "$(stored "/api/v1/namespaces/$evil-evil-stuck" '.spec.finalizers | tojson')"
try PUT $finalize json "$(body evil-stuck '"finalizers":["kubernetes","evil.example.com/x"]')"
accepted "one more is its own affair"
would "take it" PUT "/api/v1/namespaces/$evil-evil-stuck/finalize" json "$(body "$evil-evil-stuck" '')"
# As if it had: one that never goes, and one that went before its Secret. The tenant's deletion, which the end of this script waits
# for, ends all the same, and leaves nothing.
direct PUT "/api/v1/namespaces/$evil-evil-stuck/finalize" json "$(body "$evil-evil-stuck" '')"
accepted "the platform's administrator takes it"
direct DELETE "/api/v1/namespaces/$evil-evil-stuck"
expect "it does not go" 200 "$(try DELETE /api/v1/namespaces/none; direct GET "/api/v1/namespaces/$evil-evil-stuck"; echo "$code")"
made "another namespace" POST /api/v1/namespaces json '{"metadata":{"name":"evil-ghost"}}'
made "with a Secret" POST /api/v1/namespaces/evil-ghost/secrets json '{"metadata":{"name":"evil"},"stringData":{"a":"b"}}'
direct PUT "/api/v1/namespaces/$evil-evil-ghost/finalize" json "$(body "$evil-evil-ghost" '')"
gone() {
  direct DELETE "/api/v1/namespaces/$evil-evil-ghost"
  [[ $code == 404 ]]
}
eventually "goes" 120 gone
expect "before its Secret" "$evil-evil-ghost" "$(stored "/api/v1/namespaces/$evil-evil-ghost/secrets/evil" .metadata.namespace)"
# It is made once more for a moment, in which a Job of the tenant's that came after it went would have its pods: a webhook of its
# own holds what is made until then.
version=$(stored /api/v1/namespaces?limit=1 .metadata.resourceVersion)
curl -sgN --max-time 320 --cacert "$TMPDIR/upstream.ca" --cert "$TMPDIR/upstream.crt" --key "$TMPDIR/upstream.key" \
  "$upstream_server/api/v1/namespaces?watch=1&resourceVersion=$version&fieldSelector=metadata.name%3D$evil-evil-ghost" >"$TMPDIR/ghost" &
watching=$!
check "the tenant goes" ctl tenant delete "$evil"
kill "$watching"
wait "$watching" 2>/dev/null || :
expect "what is made runs nothing that reaches a node" restricted "$(jq -r 'select(.type == "ADDED").object.metadata.labels["pod-security.kubernetes.io/enforce"]' "$TMPDIR/ghost")"
expect_match "and goes at once" 'MODIFIED true' "$(jq -r '.type + " " + (.object.metadata | has("deletionTimestamp") | tostring)' "$TMPDIR/ghost")"
