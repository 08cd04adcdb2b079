#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: store tenants app common
# step: verify
# A backup of zood's directory, restored (docs/backup.md): what works again and what an older one does not know; and a start
# without what only a backup has.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant a
address=$zood_address
unpack "$a"
restart() { start_zood --listen "$address"; }
stop() {
  stop_zood
  expect "zood ends" 0 $?
}
# refuses_to_start TEXT: and says it.
refuses_to_start() {
  check_fails "zood does not start" "$1" timeout 60 "${ZOO_ZOOD:-$ZOO_BUILD/bin/zood}" --dir "$zood_dir" --upstream "$ZOO_E2E_KUBECONFIG" --listen 127.0.0.1:0
}
restore() { # of zood.tar.gz, as docs/backup.md has it
  mv "$zood_dir" "$(mktemp -d "$TMPDIR/lost.XXXXXX")" && install -d -m 700 "$zood_dir" && tar -C "$zood_dir" -xzpf "$TMPDIR/zood.tar.gz"
}
with() { "$KUBECTL" --kubeconfig "$TMPDIR/$1.kubeconfig" "${@:2}"; }

# ---- made -------------------------------------------------------------------------------------------------------------

check "a user's kubeconfig" eval 'ctl kubeconfig export "$a" --user jane >"$TMPDIR/jane.kubeconfig" && unpack jane'
check "an object of the tenant's" as "$a" create configmap kept
stop
check "a copy" eval '(umask 077 && tar -C "$zood_dir" --exclude=./audit --exclude=./zood.sock -czf "$TMPDIR/zood.tar.gz" .)'
expect "is nobody else's" 600 "$(stat -c %a "$TMPDIR/zood.tar.gz")"

# ---- what came after it -----------------------------------------------------------------------------------------------

restart
serial=$(openssl x509 -in "$TMPDIR/jane.crt" -noout -serial | cut -d= -f2)
check "a certificate is revoked" ctl tenant revoke "$a" --serial "$serial"
check_fails "and refused" 'Unauthorized|logged in' with jane get pods
new_tenant b
stop

# ---- restored ---------------------------------------------------------------------------------------------------------

check "the older copy is restored" restore
restart
check "the tenant's kubeconfig works" as "$a" get configmap kept
check_fails "what was revoked since is known again" 'cannot list resource' with jane get pods
check "until all is revoked" ctl tenant revoke "$a" --all
check_fails "for good" 'Unauthorized|logged in' with jane get pods
export_kubeconfig "$a"
check "and the tenant has new ones" as "$a" get configmap kept
check_fails "a tenant that came since is not known" 'Unauthorized|logged in' as "$b" get pods
check_fails "nor can there be another of that ID" 'already has .*choose another ID, or remove it there' ctl tenant create "$b"
expect_match "while it is upstream" "^namespace/$b-default" "$(upstream get namespaces -l "tenant.kubezoo.io/id=$b" -o name)"
check "it is removed there" upstream delete namespaces -l "tenant.kubezoo.io/id=$b"
eventually "and can be made again" 300 ctl tenant create "$b" --wait
stop

# ---- lost -------------------------------------------------------------------------------------------------------------

ca=$(sha256sum <"$zood_dir/pki/ca.key")
mv "$zood_dir/pki/ca.crt" "$TMPDIR/ca.crt"
refuses_to_start "pki/ca.crt is missing, and the store holds tenants .*restore .*pki from a backup"
expect "the key is the one that was there" "$ca" "$(sha256sum <"$zood_dir/pki/ca.key")"
mv "$zood_dir/pki" "$TMPDIR/pki"
refuses_to_start 'pki/ca.crt is missing, and the store holds tenants'
check_fails "no CA was made" '' test -e "$zood_dir/pki/ca.key"
rm -rf "$zood_dir/pki"
check "pki of the backup" tar -C "$zood_dir" -xzpf "$TMPDIR/zood.tar.gz" ./pki
restart
check "is enough" as "$a" get configmap kept
stop
rm "$zood_dir"/pki/admin-ca.*
restart
expect_match "administrators' CA is made anew, and told of" 'admin-ca.key was missing and is made anew: copies of an older admin.kubeconfig are refused' "$(cat "$zood_dir.log")"
check "which tenants do not notice" as "$a" get configmap kept
for id in "$a" "$b"; do check "$id goes" ctl tenant delete "$id" --wait; done
stop
rm "$zood_dir/pki/ca.crt"
ca=$(sha256sum <"$zood_dir/pki/ca.key")
start_zood
expect "without tenants the CA's certificate is made of its key" "$ca" "$(sha256sum <"$zood_dir/pki/ca.key")"
