#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway upstream
# Where a tenant may hold less than an answer that is wanted whole, a read is refused and may be repeated; a write is done, and
# its answer waits upstream for room, and then says so.
. "$(dirname "$0")/../e2e/lib.sh"

cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
admin: {listen: "127.0.0.1:0"}
limits: {buffered: 2Mi}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant t
unpack "$t"
path=/api/v1/namespaces/default/configmaps/large
ask() { # METHOD [CURL'S ARGUMENTS]: headers and body
  curl -sS -i --http1.1 --max-time 60 --cacert "$TMPDIR/$t.ca" --cert "$TMPDIR/$t.crt" --key "$TMPDIR/$t.key" -X "$@" "https://$zood_address$path"
}
stored() { upstream get configmap large -n "$t-default" -o 'jsonpath={.metadata.labels.a}'; }

# One byte of it is six in JSON as upstream writes it.
head -c 600000 /dev/zero | tr '\0' '<' >"$TMPDIR/large"
check "an object of half a megabyte" upstream create configmap large -n "$t-default" --from-file="$TMPDIR/large"
said=$(ask GET)
expect_match "it cannot be read: 429" '^HTTP/1.1 429' "$said"
expect_match "and one may ask again" '[Rr]etry-[Aa]fter: 1' "$said"
said=$(ask PATCH -H 'Content-Type: application/merge-patch+json' -d '{"metadata":{"labels":{"a":"b"}}}')
expect_match "a patch of it is told to be done: 504" '^HTTP/1.1 504' "$said"
expect_match "in words" 'the request was done; but its answer is large' "$said"
expect_no_match "and nobody is told to repeat it" '[Rr]etry-[Aa]fter' "$said"
expect "it is done" b "$(stored)"
