#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A certificate of one's own towards tenants: kubeconfigs trust the tenants' CA, so that it has to be by that; zood says
# so where it is not.
. "$(dirname "$0")/../e2e/lib.sh"

umask 077
ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 "${ec[@]}" -keyout "$TMPDIR/ca.key" -out "$TMPDIR/ca.crt" -days 1 -subj /CN=corporate \
  -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
openssl req "${ec[@]}" -keyout "$TMPDIR/tls.key" -out "$TMPDIR/tls.csr" -subj /CN=zood 2>/dev/null
openssl x509 -req -in "$TMPDIR/tls.csr" -CA "$TMPDIR/ca.crt" -CAkey "$TMPDIR/ca.key" -set_serial 7 -days 1 \
  -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$TMPDIR/tls.crt" 2>/dev/null
cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
tls: {certificate: $TMPDIR/tls.crt, key: $TMPDIR/tls.key}
YAML
warning='tls.certificate is not by the tenants'"'"' CA'

start_zood --config "$TMPDIR/zood.yaml"
expect_match "a certificate that kubeconfigs do not trust is told of" "$warning" "$(cat "$zood_dir.log")"
stop_zood
expect "zood ends" 0 $?
: >"$zood_dir.log"

echo "pki: {ca_certificate: $TMPDIR/ca.crt, ca_key: $TMPDIR/ca.key}" >>"$TMPDIR/zood.yaml"
start_zood --config "$TMPDIR/zood.yaml"
expect_no_match "one by the tenants' CA is not" "$warning" "$(cat "$zood_dir.log")"
new_tenant a
check "and kubectl trusts it" as "$a" get namespaces
expect "it is the one that was given" "$(openssl x509 -in "$TMPDIR/tls.crt" -noout -fingerprint -sha256)" \
  "$(openssl s_client -connect "$zood_address" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256)"
check "$a goes" ctl tenant delete "$a" --wait
