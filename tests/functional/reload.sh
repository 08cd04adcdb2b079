#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app net
# SIGHUP and the certificate that the doors show: it is read again, from where the configuration now says it is.
. "$(dirname "$0")/../e2e/lib.sh"

make_certificate() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$TMPDIR/$1.key" -out "$TMPDIR/$1.crt" 2>/dev/null
}
configure() { # CERTIFICATE [KEY]
  printf 'tls: {certificate: %s, key: %s}\n' "$TMPDIR/$1.crt" "$TMPDIR/${2:-$1}.key" >"$TMPDIR/zood.yaml"
}
shown() { openssl s_client -connect "$1" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null; }
shows() { [[ $(shown "$1") == *"CN = $2" ]]; }

require "certificates" eval 'make_certificate first && make_certificate second && make_certificate third'
configure first
start_zood --config "$TMPDIR/zood.yaml" --admin-listen 127.0.0.1:0
admin_address=$(ctl status -o json | jq -r .adminListen)
check "tenants are shown the one that is configured" shows "$zood_address" first
check "and administrators" shows "$admin_address" first

check "a signal for another program" kill -USR2 "${zood_pids[$zood_dir]}"
configure second
reload_zood
check "another path is taken over at SIGHUP" shows "$zood_address" second
check "at the administrators' door too" shows "$admin_address" second

make_certificate second2 && mv "$TMPDIR/second2.crt" "$TMPDIR/second.crt" && mv "$TMPDIR/second2.key" "$TMPDIR/second.key"
reload_zood
check "what the same path now holds is read" shows "$zood_address" second2

configure third first
reload_zood
expect_match "a key that does not belong to it is told" 'the certificate was not reloaded' "$(<"$zood_dir.log")"
check "and the door goes on as it was" shows "$zood_address" second2

printf '{}\n' >"$TMPDIR/zood.yaml"
reload_zood
check "without one zood shows its own" shows "$zood_address" zood
configure third
reload_zood
check "and again one that is given" shows "$zood_address" third
