#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app store
# step: all
# How long an answer to Prometheus is with 10,000 tenants, all of whose certificates end soon, which is all that is told by tenant.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant first
stop_zood || failed "zood ends" <<<"status $?"
# The record of one tenant as those of 9,999 more, whose certificates are told to end soon.
python3 - "$zood_dir/zood.db" "$first" <<'PYTHON'
import json, sqlite3, sys
database, first = sys.argv[1:]
with sqlite3.connect(database) as db:
    row = db.execute("SELECT value FROM records WHERE kind = 'tenant' AND key = ?", (first,)).fetchone()[0]
    top = db.execute("SELECT max(revision) FROM changes").fetchone()[0]
    tenant = json.loads(row)
    told = [each for each in tenant["status"]["conditions"] if each["type"] == "CertificateExpiring"]
    assert len(told) == 1, tenant["status"]
    told[0]["status"] = "True"
    value = json.dumps(tenant)
    for number in range(9999):
        name = f"z{number:05d}"
        copy = value.replace(first, name)
        db.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", ("tenant", name, copy if isinstance(row, str) else copy.encode(), top, top))
PYTHON
start_zood
curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics >"$TMPDIR/scrape"
stop_zood KILL # it has begun to make rooms for all of them
expect "it tells of all of them" 10000 "$(awk '/^zood_tenants\{/ { sum += $2 } END { print sum }' "$TMPDIR/scrape")"
expect "whose certificates end" 9999 "$(awk '$1 == "zood_tenants_certificate_expiring" { print $2 }' "$TMPDIR/scrape")"
expect "and of a thousand by name" 1000 "$(grep -c '^zood_tenant_certificate_expiring{' "$TMPDIR/scrape")"
size=$(wc -c <"$TMPDIR/scrape")
note "$size bytes"
check "in less than 200 KiB" test "$size" -lt $((200 * 1024))
