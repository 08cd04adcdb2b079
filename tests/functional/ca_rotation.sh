#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app tenants
# The CA of the tenants' door changes in the steps of docs/ca-rotation.md: whoever has what was handed out before a step is let in after
# it, and what pods trust has both for a year.
. "$(dirname "$0")/../e2e/lib.sh"

umask 077
authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMPDIR/$1.key" -out "$TMPDIR/$1.crt" -days 30 -subj "/CN=$1" \
    -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
}
serving() { # AUTHORITY: a certificate for the door by that one
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMPDIR/tls.key" -out "$TMPDIR/tls.csr" -subj /CN=zood 2>/dev/null
  openssl x509 -req -in "$TMPDIR/tls.csr" -CA "$TMPDIR/$1.crt" -CAkey "$TMPDIR/$1.key" -set_serial 7 -days 1 \
    -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$TMPDIR/tls.crt" 2>/dev/null
}
for name in first second third; do authority "$name"; done
serving first
configure() { printf '%s\n' "$@" >"$TMPDIR/zood.yaml"; }
door="tls: {certificate: $TMPDIR/tls.crt, key: $TMPDIR/tls.key"
# What pods trust: the names of the authorities, in order.
remembered() { openssl storeutl -noout -text -certs "$zood_dir/pki/door-authorities.pem" 2>/dev/null | sed -n 's/^ *Issuer: CN *= *//p' | paste -sd ' '; }
trusted() { # ID: what its kubeconfig trusts
  unpack "$1" "$TMPDIR/$1.kubeconfig"
  openssl storeutl -noout -text -certs "$TMPDIR/$1.ca" 2>/dev/null | sed -n 's/^ *Issuer: CN *= *//p' | paste -sd ' '
}
again() { cp "$TMPDIR/$a.kubeconfig" "$TMPDIR/$1.kubeconfig" && export_kubeconfig "$a"; }

configure "$door, ca: $TMPDIR/first.crt}"
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
expect "kubeconfigs trust the CA of the door" first "$(trusted "$a")"
expect "pods, too" first "$(remembered)"

configure "$door, ca: $TMPDIR/first.crt, further_ca: $TMPDIR/second.crt}"
reload_zood
again at-first
expect "the next one is announced" "first second" "$(trusted "$a")"
expect "to pods, too" "first second" "$(remembered)"
check "who has heard nothing is let in" as at-first get namespaces

serving second
configure "$door, ca: $TMPDIR/second.crt}"
reload_zood
check "who has heard of it is let in when it is used" as "$a" get namespaces
check_fails "who has not is not" 'certificate signed by unknown authority' as at-first get namespaces
again announced
expect "from then on kubeconfigs trust that one alone" second "$(trusted "$a")"
expect "pods trust the old one longer" "second first" "$(remembered)"
until_year() { date -u -d "$(sed -n 's/^# trusted until //p' "$zood_dir/pki/door-authorities.pem" | tail -n 1)" +%s; }
check "for a year" test "$(until_year)" -gt "$(($(date +%s) + 364 * 86400))"

stop_zood
expect "zood ends" 0 $?
start_zood --config "$TMPDIR/zood.yaml" --listen "$zood_address"
expect "a start forgets nothing" "second first" "$(remembered)"
sed -i "$(grep -n '^# trusted until' "$zood_dir/pki/door-authorities.pem" | tail -n 1 | cut -d: -f1),\$d" "$zood_dir/pki/door-authorities.pem"
reload_zood
expect "one that is taken from the file is trusted no more" second "$(remembered)"

printf 'nothing\n' >"$TMPDIR/none.crt"
configure "$door, ca: $TMPDIR/second.crt, further_ca: $TMPDIR/none.crt}"
reload_zood
expect_match "a tls.further_ca that has none is told of" "the certificate was not reloaded: .*$TMPDIR/none.crt" "$(cat "$zood_dir.log")"
check "and the door goes on" as "$a" get namespaces

# zood's own CA: what signs tenants' certificates changes with it, so that people need new ones.
configure "tls: {further_ca: $TMPDIR/third.crt}"
reload_zood
export_kubeconfig "$a"
expect "zood's own with the one that is to come" "zood tenants third" "$(trusted "$a")"
stop_zood
expect "zood ends" 0 $?
cp "$TMPDIR/$a.kubeconfig" "$TMPDIR/old.kubeconfig"
configure "pki: {ca_certificate: $TMPDIR/third.crt, ca_key: $TMPDIR/third.key}"
start_zood --config "$TMPDIR/zood.yaml" --listen "$zood_address"
expect "pods trust both" "third zood tenants second" "$(remembered)"
unpack old "$TMPDIR/old.kubeconfig"
expect "a client that had heard of it takes the door's certificate, and has none of its own that is taken" 401 \
  "$(curl -s --max-time 20 -o /dev/null -w '%{http_code}' --cacert "$TMPDIR/old.ca" "https://$zood_address/api")"
export_kubeconfig "$a"
check "with a new one all is well" as "$a" get namespaces
check "$a goes" ctl tenant delete "$a" --wait
