# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bearer tokens of the victim's account that nobody has signed, fifty at a time, from who knows no more than the tenant's ID.
# Without the fence: each costs upstream a TokenReview, and the victim's own tokens wait for their turn, or get 429.
# Rule: what names one of upstream's keys and was not made with it is refused without a question; unknown keys have few places.
# Direct: none, because upstream holds each signature against its keys itself.
mapfile -t tokens < <(for _ in {1..12}; do printf '%s\n' "$(as "$victim" -n team create token "$vault")"; done)
expect "the victim's tokens" 12 "${#tokens[@]}"
base64url() { base64 -w0 | tr '+/' '-_' | tr -d '='; }
claims=$(cut -d. -f2 <<<"${tokens[0]}" | tr '_-' '/+' | base64 -d 2>/dev/null)
known=${tokens[0]%%.*} unknown=$(printf '{"alg":"RS256","kid":"evil"}' | base64url) unnamed=$(printf '{"alg":"ES256"}' | base64url)
signature=$(cut -d. -f3 <<<"${tokens[0]}")
first() { curl -s --cacert "$TMPDIR/$evil.ca" -H "Authorization: Bearer $1" -o "$TMPDIR/body" -w '%{http_code}' "https://$zood_address/api"; }
seen() { expect_match "$1" 200 "$(first "${tokens[0]}")"; }
seen "the victim's token is good, and zood may read upstream's keys now"
# forged HEAD COUNT: requests with as many tokens of the same account under that head, for curl.
forged() {
  jq -nr --argjson claims "$claims" --argjson n "$2" 'range($n) | $claims + {jti: "\(now)-\(.)"} | tojson | @base64' | tr '+/' '-_' | tr -d '=' |
    awk -v url="https://$zood_address/api" -v ca="$TMPDIR/$evil.ca" -v head="$1" -v signature="$signature" \
      '{ printf "%surl = \"%s\"\ncacert = \"%s\"\noutput = \"/dev/null\"\nwrite-out = \"%%{http_code}\\n\"\nheader = \"Authorization: Bearer %s.%s.%s\"\n", NR == 1 ? "" : "next\n", url, ca, head, $0, signature }' |
    curl -s --parallel --parallel-immediate --parallel-max 50 -K - 2>/dev/null | sort | uniq -c | awk '{ printf "%s times %s; ", $1, $2 }'
}
keys_are_read() { [[ $(forged "$known" 50) == '50 times 401; ' ]]; }
eventually "zood has upstream's keys" 30 keys_are_read
for head in known unknown unnamed; do
  [[ $head == known ]] && count=300 || count=100 # others meet 429, and are read more slowly then
  forged "${!head}" "$count" >"$TMPDIR/codes" &
  flood=$!
  for token in "${tokens[@]:1}"; do
    code=$(first "$token")
    accepted "$head: a real token meanwhile"
  done
  wait "$flood"
  codes=$(<"$TMPDIR/codes")
  note "$head: $codes"
  if [[ $head == known ]]; then expect "every forged one is refused at once" '300 times 401; ' "$codes"; else expect_no_match "$head: none is taken" ' times 2' "$codes"; fi
done
