# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: watches from positions of the victim's: its resourceVersions, the beginning, the future; bookmarks; by name of the
# victim's objects; many at once, and for longer than allowed.
# Without the fence: a shared stream starts where the victim's events are.
# Rule: each event's key must be the tenant's, wherever the stream begins.
version=$(stored "/api/v1/namespaces/$victim-team/secrets/$vault" .metadata.resourceVersion)
made "an object to see" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-seen"}}'
for kind in /api/v1/secrets /api/v1/namespaces /apis/rbac.authorization.k8s.io/v1/clusterroles /apis/apiextensions.k8s.io/v1/customresourcedefinitions; do
  for position in $((version - 1)) '' 1 99999999; do
    curl_more=(--max-time 3)
    try GET "$kind?watch=1&resourceVersion=$position&timeoutSeconds=1&allowWatchBookmarks=true"
    expect_no_match "$kind from '$position': $code" "$vault|$canary" "$answer"
  done
  for name in "$vault" "$victim-$vault"; do
    curl_more=(--max-time 3)
    try GET "$kind?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name%3D$name"
    expect_no_match "$kind of one name: $code" "$canary|$victims_uid" "$answer"
  done
done
pids=()
for n in {1..60}; do
  curl -s --max-time 4 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" "https://$zood_address/api/v1/secrets?watch=1&resourceVersion=0&timeoutSeconds=999999" >"$TMPDIR/watch-$n" 2>&1 &
  pids+=($!)
done
as "$victim" -n team create secret generic "after-$vault" --from-literal=word="$canary" >/dev/null
send "$victim" "https://$zood_address" GET "/api/v1/namespaces/team/secrets/after-$vault"
expect "the victim is answered beside sixty watches" 200 "$code"
as "$victim" -n team delete secret "after-$vault" >/dev/null
wait "${pids[@]}"
expect_no_match "none of sixty saw it" "$canary|$vault" "$(cat "$TMPDIR"/watch-*)"
rm -f "$TMPDIR"/watch-*
would "answer a watch of everything from there" GET "/api/v1/secrets?watch=1&resourceVersion=0&timeoutSeconds=1"
expect_match "with the victim's" "\"name\":\"$vault\"" "$answer"
