#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app store
# step: all
# How long an answer to Prometheus is with 10,000 tenants, all of whose certificates end soon, which is all that is told by tenant.
. "$(dirname "$0")/../e2e/lib.sh"

configuration='tenants: {certificate_warning: 87600h}'
start_zood_with "$configuration"
new_tenant first
stop_zood || failed "zood ends" <<<"status $?"
# The records of one tenant as those of 9,999 more.
python3 - "$zood_dir/zood.db" "$first" <<'PYTHON'
import sqlite3, sys
database, first = sys.argv[1:]
with sqlite3.connect(database) as db:
    rows = db.execute("SELECT kind, value FROM records WHERE key LIKE ?", (f"%{first}%",)).fetchall()
    top = db.execute("SELECT max(revision) FROM changes").fetchone()[0]
    for number in range(9999):
        name = f"z{number:05d}"
        for kind, value in rows:
            value = value.replace(first, name) if isinstance(value, str) else value.replace(first.encode(), name.encode())
            db.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", (kind, name, value, top, top))
PYTHON
start_zood_with "$configuration"
curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics >"$TMPDIR/scrape"
stop_zood KILL # it has begun to make rooms for all of them
expect "it tells of all of them" 10000 "$(awk '/^zood_tenants\{/ { sum += $2 } END { print sum }' "$TMPDIR/scrape")"
expect "whose certificates end" 10000 "$(awk '$1 == "zood_tenants_certificate_expiring" { print $2 }' "$TMPDIR/scrape")"
expect "and of a thousand by name" 1000 "$(grep -c '^zood_tenant_certificate_expiring{' "$TMPDIR/scrape")"
size=$(wc -c <"$TMPDIR/scrape")
note "$size bytes"
check "in less than 200 KiB" test "$size" -lt $((200 * 1024))
