# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: 600 watches that begin with seven megabytes each, of which nothing is read.
# Without the fence: a buffer for each of them is full, and stays so for as long as a connection lives.
# Rule: a full buffer counts among the bytes that a tenant holds; a stream beyond them that is not read for a second is ended.
filling=$(printf 'x%.0s' {1..120000})
for n in {1..60}; do made "a large object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-'$n'"},"data":{"x":"'"$filling"'"}}'; done
flood_memory=450 flood watches_unread 20 /api/v1/namespaces/team/configmaps
ended=$(grep -c "configmaps?watch=1 of tenant $evil broke off: .*hold as many bytes" "$zood_dir.log")
if ((ended > 100)); then passed "what is too much is ended"; else failed "what is too much is ended" <<<"$ended streams ended"; fi
try GET /api/v1/namespaces/team/configmaps?limit=1
accepted "who reads is answered again"
would "answer each of these watches" GET '/api/v1/configmaps?watch=1&timeoutSeconds=1'
