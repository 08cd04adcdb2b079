# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to leave objects to whoever is given its ID next: a webhook of its own holds what upstream has admitted until its namespaces,
#   its definitions and its Tenant are gone. The second tenant has taken the webhook away itself before it went.
# Without the fence: upstream stores them when the webhook's ten seconds are over, in a namespace that is not there; the next tenant
#   of that ID makes one of that name, or defines that kind, and has them.
# Rule: a Tenant whose webhooks may hold something stays until that is stored, and goes with it.
hooks=/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
silent_server holder
asked() { grep -c asked "$TMPDIR/holder"; }
define='{"metadata":{"name":"holds.evil.example.com"},"spec":{"group":"evil.example.com","scope":"Namespaced","names":{"plural":"holds","kind":"Hold"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}'
place() { # ID KIND: where upstream has it
  [[ $2 == holds ]] && printf /apis/%s-evil.example.com/v1 "$1" || printf /api/v1
  printf /namespaces/%s-team/%s "$1" "$2"
}
creates() { # ID KIND [QUERY [MORE]...]: as a controller of upstream's would
  local body='{"metadata":{"name":"evil-held","labels":{"held":"yes"}}}'
  [[ $2 == holds ]] && body='{"apiVersion":"'$1'-evil.example.com/v1","kind":"Hold",'${body:1}
  lists upstream -X POST -H 'Content-Type: application/json' --data-binary "$body" -o "$TMPDIR/created" -w '%{http_code}\n' "${@:4}" "$upstream_server$(place "$1" "$2")${3:-}"
}
was_asked() { (($(asked) > before)); }
holds() { # ID: both are admitted, and held
  direct POST $hooks json '{"metadata":{"name":"'"$1"'-evil"},"webhooks":[{"name":"w.a.b","timeoutSeconds":10,"failurePolicy":"Ignore","sideEffects":"None","admissionReviewVersions":["v1"],
    "clientConfig":{"url":"https://127.0.0.1:'"$silent_port"'/"},"namespaceSelector":{"matchLabels":{"tenant.kubezoo.io/id":"'"$1"'"}},"objectSelector":{"matchLabels":{"held":"yes"}},
    "rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE"],"resources":["configmaps","holds"]}]}]}'
  accepted "a webhook of $1's"
  send "$1" "https://$zood_address" POST $definitions json "$define"
  accepted "and a definition"
  local kind before
  for kind in configmaps holds; do
    before=$(asked)
    is_asked() {
      creates "$1" "$2" '?dryRun=All' --max-time 1 >/dev/null
      was_asked
    }
    eventually "it is asked about $kind" 60 is_asked "$1" $kind
    before=$(asked)
    creates "$1" $kind >"$TMPDIR/$1-$kind" &
    eventually "and holds one" 30 was_asked
  done
}

new_attacker itself
holds "$evil"
holds "$itself"
send "$itself" "https://$zood_address" DELETE $hooks/evil
accepted "the one takes its webhook away"
ctl tenant delete "$itself" --timeout 240s >"$TMPDIR/$itself.delete" 2>&1 &
check "the other goes as it is" ctl tenant delete "$evil" --timeout 240s
not_there() {
  ctl tenant get "$1" -o json >"$TMPDIR/there" 2>&1
  (($? == 4))
}
for id in "$evil" "$itself"; do
  eventually "$id has gone" 300 not_there "$id"
  stored_by_then() { [[ -s $TMPDIR/$id-configmaps && -s $TMPDIR/$id-holds ]]; }
  eventually "no longer held" 30 stored_by_then
  expect "what was held was stored" "201 201" "$(xargs <"$TMPDIR/$id-configmaps") $(xargs <"$TMPDIR/$id-holds")"
  direct GET "$(place "$id" configmaps)/evil-held"
  expect "and has gone with its tenant" 404 "$code"
  require "another tenant comes under its ID" ctl tenant create "$id" --wait
  export_kubeconfig "$id"
  credentials "$TMPDIR/$id.kubeconfig" "$id-new"
  send "$id-new" "https://$zood_address" POST /api/v1/namespaces json '{"metadata":{"name":"team"}}'
  accepted "with a namespace of that name"
  send "$id-new" "https://$zood_address" POST $definitions json "$define"
  accepted "and that definition"
  served() {
    send "$id-new" "https://$zood_address" GET /apis/evil.example.com/v1/namespaces/team/holds
    [[ $code == 200 ]]
  }
  eventually "which is served" 30 served
  served
  expect "nothing is left to it" '[]' "$(jq -c '[.items[].metadata.name]' <<<"$answer")"
  send "$id-new" "https://$zood_address" GET /api/v1/namespaces/team/configmaps/evil-held
  expect "in neither place" 404 "$code"
done
end_silent_server
leave "$itself"
