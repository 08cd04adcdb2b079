# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: the door at which upstream calls webhooks, as a stranger who may reach it: paths without a MAC, with another's, cut short,
#   for another tenant; methods, bodies without end, bodies that stop; reviews of its own making, of the victim's objects. And
#   webhooks behind it that hang, answer for another review, or answer without end.
# Without the fence: whoever reaches the door has tenants' webhooks asked, or fills zood's memory; a webhook holds all others up.
# Rule: a path is zood's own by its MAC, or 404; reviews have 3 MiB, and a tenant some of them; a webhook has its own time.
# shellcheck source=tests/functional/relay/pods.bash
. "$zoo_root/tests/functional/relay/pods.bash"
hook_server hook.team.svc
pod_node
hook_pod "$evil" team
eventually "its webhooks are called through the relay" 60 relayed "$evil"
require "it has one" as "$evil" create -f - <<<"$(hook_configuration ValidatingWebhookConfiguration evil /validate)"
direct GET "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/$evil-evil"
accepted "upstream calls it through the relay"
relay_url=$(jq -r '.webhooks[0].clientConfig.url' <<<"$answer")
jq -r '.webhooks[0].clientConfig.caBundle' <<<"$answer" | base64 -d >"$TMPDIR/relay.ca"
relay_base=${relay_url%%/w/*} relay_path=${relay_url#"${relay_url%%/w/*}"}
try GET /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/evil
expect_no_match "who wrote it does not read where" "/w/$evil|$relay_base" "$answer"

at_door() { # METHOD PATH [CURL ARGUMENTS...]
  code=$(curl -sg --path-as-is --http1.1 --cacert "$TMPDIR/relay.ca" --max-time 60 -X "$1" -o "$TMPDIR/body" -w '%{http_code}' -H 'Content-Type: application/json' "${@:3}" "$relay_base$2")
  answer=$(tr -d '\0' <"$TMPDIR/body" 2>/dev/null)
  observe "$*" "$answer"
}
review() { # NAMESPACE
  printf '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"11111111-2222-3333-4444-555555555555","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},"name":"c","namespace":"%s","operation":"CREATE","userInfo":{"username":"zoo:%s"},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"%s"}},"oldObject":null,"dryRun":true,"options":null}}' "$1" "$evil" "$1"
}

at_door POST "$relay_path" --data-binary "$(review "$evil-team")"
expect "upstream's own question is answered" 200 "$code"
mac=${relay_path##*/}
while read -r path; do
  for method in POST GET PUT DELETE; do
    at_door "$method" "$path" --data-binary '{}'
    expect "$method ${path:0:60}" 404 "$code"
  done
done <<T
/
/w
/w/$evil
/reach/
/reach/$mac
/metrics
/healthz
/api/v1/namespaces
${relay_path%/*}
${relay_path%/*}/
${relay_path%?}
${relay_path}A
${relay_path%/*}/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
${relay_path/\/w\/$evil/\/w\/$victim}
${relay_path/validating/mutating}
${relay_path/$evil-evil/$victim-evil}
/$relay_path
/w/../$relay_path
$relay_path/../$mac
T
for method in GET PUT DELETE PATCH; do
  at_door $method "$relay_path"
  expect "$method of its own" 405 "$code"
done

# ---- bodies
head -c $((4 << 20)) /dev/zero | tr '\0' ' ' >"$TMPDIR/large"
at_door POST "$relay_path" --data-binary "@$TMPDIR/large"
expect "a review of 4 MiB" 413 "$code"
at_door POST "$relay_path" -H 'Transfer-Encoding: chunked' --data-binary "@$TMPDIR/large"
expect "the same in chunks" 413 "$code"
at_door POST "${relay_path}A" --data-binary "@$TMPDIR/large"
expect "one for nobody" 404 "$code"
stops() { # the first line of the answer to a body that does not end
  (printf 'POST %s HTTP/1.1\r\nHost: relay\r\nContent-Length: 100\r\n\r\n{' "$relay_path"; sleep 15) |
    timeout 60 openssl s_client -quiet -connect "$(cut -d/ -f3 <<<"$relay_url")" -CAfile "$TMPDIR/relay.ca" 2>/dev/null | head -n 1
}
expect_match "one that stops is told so" '^HTTP/1.1 504' "$(stops)"
for body in '' '{}' '[]' 'null' '{"kind":"AdmissionReview"}' "$(review "$victim-team")" "$(review default)"; do
  at_door POST "$relay_path" --data-binary "$body"
  expect_match "no review of its own: ${body:0:40}" '^(400|403)$' "$code"
done

# ---- what its webhooks answer
for path in /other-uid /large /broken /hang; do
  check "a webhook $path" as "$evil" apply -f - <<<"$(hook_configuration ValidatingWebhookConfiguration evil $path '' 2)"
  told() {
    at_door POST "$relay_path" --data-binary "$(review "$evil-team")"
    [[ $code =~ ^50[24]$ && $answer == *hook.team.svc* ]]
  }
  eventually "is told of in words" 30 told
done
for _ in {1..80}; do
  curl -s --cacert "$TMPDIR/relay.ca" --max-time 30 -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/json' --data-binary "$(review "$evil-team")" "$relay_url" >>"$TMPDIR/hanging" &
  hanging+=($!)
done
wait "${hanging[@]}"
expect_match "eighty at once: those beyond its places are refused" '^429$' "$(<"$TMPDIR/hanging")"
expect_no_match "and all are answered" '^(000|200)$' "$(<"$TMPDIR/hanging")"
check "it is taken away" as "$evil" delete validatingwebhookconfiguration evil
check "with its pod" as "$evil" -n team delete pod/hook service/hook --grace-period 0 --force
end_hooks
