# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: each verb on each path that discovery serves, of all groups and versions, on the victim's names in every spelling, as
# JSON, table, metadata alone and protobuf, as list, watch and object; and each path without resources that upstream has. The victim
# has an object of every kind, and so gets the attacker.
# Without the fence: one forgotten kind, verb or representation is enough.
# Rule: no answer holds a byte of the victim's names, UIDs or data, and none of its resourceVersions changes.
terms '{"spec":{"guards":{"volumeDrivers":["none.example.com"]}}}'
# Groups of other tenants come and go.
stored / '.paths[] | select((test("^(/openapi/v3)?/apis/[a-z0-9]{6}-") | not) or contains("/'"$victim"'-"))' >"$TMPDIR/everything-paths"
python3 "$hostile/tools/everything.py" "$TMPDIR" "https://$zood_address" "$evil" "$victim" "$vault" "$canary" "$TMPDIR/victims-words" "$TMPDIR/everything-paths" >"$TMPDIR/everything" 2>&1
told=$(tail -n 1 "$TMPDIR/everything")
note "$told"
expect_match "many requests of many kinds" '^[0-9]{5,} requests on [0-9]{3} resources, [0-9]{2} of .* on [0-9]{3,} other paths;' "$told"
expect "no answer holds anything of the victim" '' "$(grep '^LEAK' "$TMPDIR/everything")"
expect "each is answered" '' "$(grep -v "^LEAK" "$TMPDIR/everything" | sed '$d')"
# By the same paths upstream shows its administrator what was looked for; but for kinds that zood keeps itself, of which upstream has
# nothing of the victim's, and what no tenant writes.
zoods='@(apiservices|clusterrolebindings|csidrivers|csinodes|flowschemas|nodes|prioritylevelconfigurations|resourceslices|servicecidrs|volumeattachments)'
hidden='' kept='' shown=0
for path in "${victims_lists[@]}"; do
  direct GET "$path"
  [[ $code == 200 && $answer == *"$vault"* ]] && seen=yes || seen=no
  case $seen:${path##*/} in
    yes:$zoods) kept+="${path##*/} " ;;
    no:$zoods) ;;
    yes:*) shown=$((shown + 1)) ;;
    no:*) hidden+="${path##*/} " ;;
  esac
done
expect "upstream would show the victim's objects of $shown kinds" '' "$hidden"
expect_match "which are most" '^[4-9][0-9]$' "$shown"
expect "and has none of those that zood keeps" '' "$kept"
direct GET "/openapi/v3/apis/$victim-vaults.example.com/v1"
expect_match "upstream's OpenAPI tells the victim's words" "$canary" "$answer"
direct GET "/api/v1/namespaces/$victim-team/secrets/$vault"
expect_match "and their UIDs" "$victims_uid" "$answer"
direct GET "/api/v1/secrets?watch=1&resourceVersion=0&timeoutSeconds=1"
expect_match "a watch does too" "$victims_uid" "$answer"
