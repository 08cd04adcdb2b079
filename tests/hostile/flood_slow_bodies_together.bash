# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: two tenants together begin as many requests as all tenants may have in flight, and never end their bodies.
# Without the fence: all places are held for as long as they like; others get one request at a time through, or wait.
# Rule: a request takes a place of all tenants' once it is whole; until then it counts for its tenant alone.
new_attacker second
python3 "$hostile/tools/flood.py" slow_streams "$zood_address" "$TMPDIR/$second.ca" "$TMPDIR/$second.crt" "$TMPDIR/$second.key" 45 >"$TMPDIR/second.flood" 2>&1 &
second_flood=$!
flood slow_streams 40 &
flooding=$!
receiving() { (($(ctl top "$1" -o json | jq '.items[0].usage.flow.requestsInflight.used') >= 390)); }
eventually "the first holds its share" 30 receiving "$evil"
eventually "the second holds its share" 30 receiving "$second"
# A first request of a tenant has a place in any case: it is those beside it that wait. The victim's own first one is slow, too.
(printf '{"metadata":{"name":"slow"'; sleep 6; printf '}}') | curl -s --cacert "$TMPDIR/$victim.ca" --cert "$TMPDIR/$victim.crt" --key "$TMPDIR/$victim.key" -X POST -T - \
  -H 'Content-Type: application/json' -o /dev/null -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/configmaps?dryRun=All" >"$TMPDIR/slow" &
slow=$!
holds_one() { (($(ctl top "$victim" -o json | jq '.items[0].usage.flow.requestsInflight.used') >= 1)); }
eventually "the victim's slow write has come" 30 holds_one
codes=$(for _ in {1..40}; do printf 'next\nurl = "https://%s/api/v1/namespaces/team/secrets/%s"\ncacert = "%s"\ncert = "%s"\nkey = "%s"\noutput = "/dev/null"\nwrite-out = "%%{http_code}\\n"\n' \
  "$zood_address" "$vault" "$TMPDIR/$victim.ca" "$TMPDIR/$victim.crt" "$TMPDIR/$victim.key"; done | sed 1d |
  curl -s --parallel --parallel-immediate --parallel-max 20 --max-time 30 -K - 2>/dev/null | sort | uniq -c | awk '{ print $1, $2 }')
expect "forty requests of the victim, twenty at a time" '40 200' "$codes"
check "the first still holds its share" receiving "$evil"
check "and the second" receiving "$second"
wait "$slow"
expect "and its slow write" 201 "$(<"$TMPDIR/slow")"
wait "$flooding" "$second_flood"
expect "all of the bodies went on" '400 bodies that go on for ever' "$(tail -n 1 "$TMPDIR/second.flood")"
leave "$second"
would "answer who sends a body with a GET" GET /api/v1/namespaces json ' '
