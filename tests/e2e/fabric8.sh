#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway http net translate
# fabric8's Java client (fabric8/Fabric8.java), of the version in fabric8/pom.xml, with its default HTTP client and its default
# watch, which is a WebSocket. Maven puts it into the upstream's cache.
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fabric8/lib.sh"

start_zood
new_tenant id
eventually "the namespace has its ServiceAccount" 30 as "$id" get serviceaccount default
if fabric8 Fabric8.java "$TMPDIR/$id.kubeconfig"; then
  passed "fabric8's client"
else
  failed "fabric8's client" <<<"see above"
fi
# The client falls back to plain HTTP where it is answered 200: no watch shall be one.
expect "its watches are WebSockets" 101 "$(ctl audit "$id" --verb watch --since 1h --limit 1000 -o json | jq -r ".items[].code | select(. != 404)" | sort -u)"
