# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to open watches by the hundred, over HTTP/1.1 and HTTP/2, and to read nothing of them while large objects change.
# Without the fence: each keeps an event of its own in zood, half a gigabyte together, and its tenant may have more.
# Rule: 32 KiB a watch wait, what is more is counted among a tenant's bytes, and watches that want more than these end; other events
#   wait in the window that all watches of a kind share.
made "a large object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-1"},"data":{"x":"y"}}'
flood watches_unread 10 /api/v1/namespaces/team/configmaps
would "tell each of these watches" GET '/api/v1/configmaps?watch=1&timeoutSeconds=1'
