# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: protobuf bodies whose namespace stands twice, is foreign, or whose type is another than the path's.
# Without the fence: a reader of JSON alone would pass them on unproven.
# Rule: a protobuf body is decoded by the table of messages and goes on as JSON; what cannot be decoded is refused.
proto() { # FIELDS: ConfigMap of this metadata, in runtime.Unknown, as python bytes
  python3 - "$@" <<'P'
import sys
def f(n, b): return bytes([n << 3 | 2]) + (bytes([len(b)]) if len(b) < 128 else bytes([len(b) & 127 | 128, len(b) >> 7])) + b
kind, api = sys.argv[1], sys.argv[2]
metas = b""
for meta in sys.argv[3:]:
    fields = b"".join(f(int(part.split("=", 1)[0]), part.split("=", 1)[1].encode()) for part in meta.split(","))
    metas += f(1, fields)
sys.stdout.buffer.write(b"k8s\0" + f(1, f(1, api.encode()) + f(2, kind.encode())) + f(2, metas))
P
}
attempt() { # WHAT ARGUMENTS OF proto...
  local got
  proto "${@:2}" >"$TMPDIR/proto"
  got=$(curl -s --max-time 20 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" -X POST -H 'Content-Type: application/vnd.kubernetes.protobuf' -H 'Accept: application/json' \
    --data-binary "@$TMPDIR/proto" -o "$TMPDIR/body" -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/configmaps")
  observe "$*" "$(cat "$TMPDIR/body")"
  expect_match "$1: $got" '^4..$' "$got"
}
attempt "a foreign namespace" ConfigMap v1 "1=evil-proto,3=$victim-team"
attempt "its own with the prefix" ConfigMap v1 "1=evil-proto,3=$evil-team"
attempt "a namespace twice" ConfigMap v1 "1=evil-proto,3=team,3=$victim-team"
attempt "metadata twice" ConfigMap v1 "1=evil-proto,3=team" "3=$victim-team"
attempt "another kind" Secret v1 "1=evil-proto,3=team"
attempt "another group" ConfigMap apps/v1 "1=evil-proto"
printf 'k8s\0\x0a\xff\xff\xff\xff\x0f' >"$TMPDIR/proto"
got=$(curl -s --max-time 20 --cacert "$TMPDIR/$evil.ca" --cert "$TMPDIR/$evil.crt" --key "$TMPDIR/$evil.key" -X POST -H 'Content-Type: application/vnd.kubernetes.protobuf' --data-binary "@$TMPDIR/proto" -o /dev/null -w '%{http_code}' "https://$zood_address/api/v1/namespaces/team/configmaps")
expect_match "a length beyond the end" '^4..$' "$got"
proto ConfigMap v1 "1=evil-proto,3=$victim-team" >"$TMPDIR/proto"
got=$(curl -s --max-time 20 --cacert "$TMPDIR/upstream.ca" --cert "$TMPDIR/upstream.crt" --key "$TMPDIR/upstream.key" -X POST -H 'Content-Type: application/vnd.kubernetes.protobuf' -H 'Accept: application/json' --data-binary "@$TMPDIR/proto" "$upstream_server/api/v1/namespaces/$victim-team/configmaps?dryRun=All")
expect "upstream itself would read it, and make it in the victim's namespace" "$victim-team evil-proto" "$(jq -r '.metadata.namespace + " " + .metadata.name' <<<"$got")"
