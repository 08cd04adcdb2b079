#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app net tenants cli
# A certificate of one's own towards tenants: kubeconfigs trust the tenants' CA, or what tls.ca names; zood says so where
# the certificate is by neither.
. "$(dirname "$0")/../e2e/lib.sh"

umask 077
ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 "${ec[@]}" -keyout "$TMPDIR/ca.key" -out "$TMPDIR/ca.crt" -days 1 -subj /CN=corporate \
  -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
openssl req "${ec[@]}" -keyout "$TMPDIR/tls.key" -out "$TMPDIR/tls.csr" -subj /CN=zood 2>/dev/null
openssl x509 -req -in "$TMPDIR/tls.csr" -CA "$TMPDIR/ca.crt" -CAkey "$TMPDIR/ca.key" -set_serial 7 -days 1 \
  -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$TMPDIR/tls.crt" 2>/dev/null
warning='tls.certificate is not by the tenants'"'"' CA'

configure() { # [CA] [MORE YAML]
  printf 'tls: {certificate: %s, key: %s%s}\n%s\n' "$TMPDIR/tls.crt" "$TMPDIR/tls.key" "${1:+, ca: $TMPDIR/$1}" "${2:-}" \
    >"$TMPDIR/zood.yaml"
}
start_again() {
  stop_zood
  expect "zood ends" 0 $?
  : >"$zood_dir.log"
  start_zood --config "$TMPDIR/zood.yaml"
}
export_again() { rm -f "$TMPDIR/$1.kubeconfig" && export_kubeconfig "$1"; }

configure
start_zood --config "$TMPDIR/zood.yaml" --admin-listen 127.0.0.1:0
expect_match "a certificate that kubeconfigs do not trust is told of" "$warning" "$(cat "$zood_dir.log")"
new_tenant a
check_fails "nor does kubectl trust it" 'certificate signed by unknown authority' as "$a" get namespaces
expect "administrators' kubeconfig trusts the tenants' CA" "$(cat "$zood_dir/pki/ca.crt")" \
  "$(unpack admin "$zood_dir/admin.kubeconfig" && cat "$TMPDIR/admin.ca")"

cat "$TMPDIR/ca.crt" "$TMPDIR/ca.key" >"$TMPDIR/both.pem"
configure both.pem
reload_zood
export_again "$a"
expect "of a file with a key beside the certificate kubeconfigs have the certificate alone" "$(cat "$TMPDIR/ca.crt")" \
  "$(unpack "$a" && cat "$TMPDIR/$a.ca")"

configure ca.crt
reload_zood
export_again "$a"
check "with tls.ca kubectl trusts it, and is known by the tenants' own CA" as "$a" get namespaces
expect "so do administrators" "$(cat "$TMPDIR/ca.crt")" "$(unpack admin "$zood_dir/admin.kubeconfig" && cat "$TMPDIR/admin.ca")"
check "and kubectl of an administrator goes" "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" get tenants

printf 'nothing\n' >"$TMPDIR/none.crt"
configure none.crt
reload_zood
expect_match "a tls.ca that has none is told of" "the certificate was not reloaded: .*$TMPDIR/none.crt" "$(cat "$zood_dir.log")"
export_again "$a"
check "and what was trusted goes on to be" as "$a" get namespaces

openssl ecparam -name prime256v1 -genkey -noout -out "$TMPDIR/other.key"
printf 'tls: {certificate: %s, key: %s, ca: %s}\n' "$TMPDIR/tls.crt" "$TMPDIR/other.key" "$TMPDIR/tls.crt" >"$TMPDIR/zood.yaml"
reload_zood
export_again "$a"
check "nor is another tls.ca trusted while its certificate is not shown" as "$a" get namespaces
printf 'tls: {ca: %s}\n' "$TMPDIR/ca.crt" >"$TMPDIR/zood.yaml"
reload_zood
export_again "$a"
check "without a tls.certificate tls.ca is nothing" as "$a" get namespaces

configure ca.crt
start_again
expect_no_match "one by the CA of tls.ca is not told of" 'tls.certificate is not by' "$(cat "$zood_dir.log")"
export_again "$a"
check "kubectl trusts it after a start, too" as "$a" get namespaces
configure tls.crt
reload_zood
expect_match "one by no CA of tls.ca is" 'tls.certificate is not by a CA of tls.ca' "$(cat "$zood_dir.log")"
check "$a goes" ctl tenant delete "$a" --wait

stop_zood
rm -rf "$zood_dir"
configure '' "pki: {ca_certificate: $TMPDIR/ca.crt, ca_key: $TMPDIR/ca.key}"
: >"$zood_dir.log"
start_zood --config "$TMPDIR/zood.yaml"
expect_no_match "one by the tenants' CA is not told of" "$warning" "$(cat "$zood_dir.log")"
new_tenant b
check "and kubectl trusts it" as "$b" get namespaces
expect "it is the one that was given" "$(openssl x509 -in "$TMPDIR/tls.crt" -noout -fingerprint -sha256)" \
  "$(openssl s_client -connect "$zood_address" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256)"
check "$b goes" ctl tenant delete "$b" --wait
