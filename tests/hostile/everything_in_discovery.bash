# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: each verb on each path that discovery serves, of all groups and versions, on the victim's names in every spelling, as
# JSON, table, metadata alone and protobuf, as list, watch and object.
# Without the fence: one forgotten kind, verb or representation is enough.
# Rule: no answer holds a byte of the victim's names, UIDs or data, and none of its resourceVersions changes.
python3 "$hostile/tools/everything.py" "$TMPDIR" "https://$zood_address" "$evil" "$TMPDIR/victims-words" team "$vault" "$victim-" >"$TMPDIR/everything" 2>&1
told=$(tail -n 1 "$TMPDIR/everything")
note "$told"
expect_match "many requests of many kinds" '^[0-9]{4,} requests on [0-9]{3} resources' "$told"
expect "no answer holds anything of the victim" '' "$(grep '^LEAK' "$TMPDIR/everything")"
expect "each is answered" '' "$(grep -v "^LEAK" "$TMPDIR/everything" | sed '$d')"
