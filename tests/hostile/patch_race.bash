# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to change an object between the proof of a patch and the patch itself: one hand moves a list's elements, the other
# removes by index.
# Without the fence: what was proven harmless takes the fence away a moment later.
# Rule: the real request carries the dry run's resourceVersion as precondition, and is proven anew when that fails.
path=/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/evil-race
fenced='{"podSelector":{},"namespaceSelector":{"matchLabels":{"x":"y"}}}'
plain='{"podSelector":{"matchLabels":{"x":"y"}}}'
made "a policy" POST "${path%/*}" json '{"metadata":{"name":"evil-race"},"spec":{"podSelector":{},"ingress":[{"from":['"$plain,$fenced"']}]}}'
ask() { # METHOD TYPE BODY
  curl -s --max-time 20 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" -X "$1" -H "Content-Type: ${media_types[$2]}" --data-binary "$3" -o /dev/null -w '%{http_code}\n' "https://$zood_address$path"
}
hands=()
for hand in a b; do
  for _ in {1..25}; do
    ask PATCH patch '[{"op":"replace","path":"/spec/ingress/0/from","value":['"$fenced,$plain"']}]'
    ask PATCH patch '[{"op":"replace","path":"/spec/ingress/0/from","value":['"$plain,$fenced"']}]'
  done >"$TMPDIR/race-$hand" &
  hands+=($!)
done
for _ in {1..25}; do
  ask PATCH patch '[{"op":"copy","from":"/spec/ingress/0/from/0/podSelector","path":"/spec/ingress/0/from/1/namespaceSelector"}]'
  ask PATCH patch '[{"op":"remove","path":"/spec/ingress/0/from/1/namespaceSelector/matchLabels/tenant.kubezoo.io~1id"}]'
  ask PATCH patch '[{"op":"replace","path":"/spec/ingress/0/from/1/podSelector","value":{}},{"op":"add","path":"/spec/ingress/0/from/1/namespaceSelector","value":{}}]'
  stored "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil-race" '[.spec.ingress[]?.from[]?.namespaceSelector // empty
    | select(.matchLabels["tenant.kubezoo.io/id"] != "'"$evil"'" and all(.matchExpressions[]?; .key != "tenant.kubezoo.io/id"))] | length | "without a fence: \(.)"'
done >"$TMPDIR/race-c"
wait "${hands[@]}"
expect "no moment without the fence" 25 "$(grep -c '^without a fence: 0$' "$TMPDIR/race-c")"
expect_match "the hands met" '^(200|409)$' "$(cat "$TMPDIR"/race-[ab])"
expect_no_match "nothing broke" '^(5..|000)$' "$(cat "$TMPDIR"/race-[abc])"
made "it is in its first order" PATCH "$path" merge '{"spec":{"ingress":[{"from":['"$plain,$fenced"']}]}}'
would "let the label go" PATCH "/apis/networking.k8s.io/v1/namespaces/$evil-team/networkpolicies/evil-race" patch '[{"op":"remove","path":"/spec/ingress/0/from/1/namespaceSelector/matchLabels/tenant.kubezoo.io~1id"}]'
expect "and with it the fence" '{"x":"y"}' "$(jq -c '.spec.ingress[0].from[1].namespaceSelector.matchLabels' <<<"$answer")"
