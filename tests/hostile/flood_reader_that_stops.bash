# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to ask for large lists over and over, and for small objects by the thousand, and to read nothing of them.
# Without the fence: the answers pile up in zood; a shared upstream connection stalls for everybody.
# Rule: 256 KiB a stream, 4 MiB a connection wait at most, and what waits is counted among a tenant's bytes; the upstream connection
#   is the exchange's own.
filling=$(printf 'x%.0s' {1..60000})
for n in 1 2 3 4 5 6 7 8; do made "a large object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-'$n'"},"data":{"x":"'"$filling"'"}}'; done
flood reader_that_stops 6 /api/v1/configmaps
flood small_answers_unread 4 /openapi/v2
flood small_answers_unread 8 /api/v1/namespaces/team/configmaps/evil-1
would "answer each of these requests" GET /api/v1/configmaps
if ((${#answer} > 480000)); then passed "with half a megabyte"; else failed "with half a megabyte" <<<"${#answer} bytes"; fi
