#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: access tenants gateway admin cli
# step: verify
# timeout: 900
# A tenant's credentials: several at once, short-lived, rotated, revoked one by one and all together, suspension; what
# is taken back is refused at the next request, and streams that it opened end.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood_with 'tenants: {certificate_warning: 29s}'
new_tenant a
new_tenant b

export_as() { ctl kubeconfig export "$a" "${@:2}" >"$TMPDIR/$1.kubeconfig" && unpack "$1"; }
serial_of() { openssl x509 -in "$TMPDIR/$1.crt" -noout -serial | cut -d= -f2; }
with() { "$KUBECTL" --kubeconfig "$TMPDIR/$1.kubeconfig" "${@:2}"; }
open() { # VARIABLE CREDENTIAL: a watch that runs until it is cut
  local -n opened=$1
  curl -sSN --cacert "$TMPDIR/$2.ca" --cert "$TMPDIR/$2.crt" --key "$TMPDIR/$2.key" \
    "https://$zood_address/api/v1/configmaps?watch=1" >"$TMPDIR/$1.out" 2>"$TMPDIR/$1.err" &
  opened=$!
  eventually "$1 has begun" 30 grep -q '"ADDED"' "$TMPDIR/$1.out"
}
ended() { ! kill -0 "$1" 2>/dev/null; }

# ---- several at once, one revoked ---------------------------------------------------------------------------------

check "export a first one" export_as one
check "export a second one" export_as two
check "export a user's" export_as jane --user jane --group dev
check "both work" with one get pods
check "at the same time" with two get pods
listed=$(ctl tenant certificates "$a")
expect_match "the list shows a user's with its groups" ' jane +dev +export +Valid ' "$listed"
expect "and every serial once" 5 "$(ctl tenant certificates "$a" -o name | sort -u | wc -l)"

open first one
open second two
check "revoke the first one as openssl spells it" ctl tenant revoke "$a" --serial "$(serial_of one)"
check_fails "it is refused at the next request" 'Unauthorized|logged in' with one get pods
eventually "and its watch ends" 30 ended "$first"
check "the second one goes on" with two get pods
check "and so does its watch" kill -0 "$second"
expect_match "the list says so" "$(serial_of one | tr A-F a-f) .* Revoked " "$(ctl tenant certificates "$a")"
check_fails "a serial that nobody has" "has no certificate" ctl tenant revoke "$a" --serial 0123abcd
check_fails "a revocation of nothing" "say which" ctl tenant revoke "$a"

# ---- rotation -----------------------------------------------------------------------------------------------------

kept() {
  curl -sS --unix-socket "$zood_dir/zood.sock" "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$a" |
    jq -r '.metadata.annotations."kubezoo.io/tenant.kubeconfig.base64"' | base64 -d
}
kept >"$TMPDIR/kept1.kubeconfig" && unpack kept1
check "rotate" ctl tenant rotate "$a"
kept >"$TMPDIR/kept2.kubeconfig" && unpack kept2
check "the kept one is another" test "$(serial_of kept1)" != "$(serial_of kept2)"
check "the old one still works" with kept1 get pods
check "and the new one" with kept2 get pods
check "rotate and revoke the old one" ctl tenant rotate "$a" --revoke-old
check_fails "which is refused" 'Unauthorized|logged in' with kept2 get pods
check "the one before is not" with kept1 get pods

# ---- suspension ---------------------------------------------------------------------------------------------------

open third two
check "suspend" ctl tenant suspend "$a"
check_fails "no request is taken" 'suspended|Unauthorized|logged in' with two get pods
eventually "its watch ends" 30 ended "$third"
expect "the list says so" Suspended "$(ctl tenant get "$a" --no-headers | awk '{ print $2 }')"
check "resume" ctl tenant resume "$a"
check "it works again" with two get pods
check_fails "what was revoked before stays so" 'Unauthorized|logged in' with one get pods

# ---- tokens and everything ----------------------------------------------------------------------------------------

check "grant the default account something" with two create clusterrolebinding all --clusterrole cluster-admin --serviceaccount default:default
with two create token default >"$TMPDIR/token"
by_token() {
  curl -sS -o /dev/null -w '%{http_code}' --cacert "$TMPDIR/two.ca" -H "Authorization: Bearer $(cat "$1")" \
    "https://$zood_address/api/v1/pods"
}
is() { [[ $(by_token "$1") == "$2" ]]; }
eventually "a token works" 30 is "$TMPDIR/token" 200
open fourth two
check "revoke everything" ctl tenant revoke "$a" --all
expect "the token is refused at once" 401 "$(by_token "$TMPDIR/token")"
for each in two jane kept1; do
  check_fails "$each is refused" 'Unauthorized|logged in' with "$each" get pods
done
eventually "and the last watch ends" 30 ended "$fourth"
check "its neighbour goes on" as "$b" get pods
check "a new export works" export_as three
check "at once" with three get pods
fresh_token() { with three create token default >"$TMPDIR/token2" && is "$TMPDIR/token2" 200; }
eventually "and so does a new token" 30 fresh_token
reissued() { kept >"$TMPDIR/kept3.kubeconfig" && unpack kept3 && with kept3 get pods; }
eventually "the kept one is made anew" 30 reissued

# ---- sessions of TLS ----------------------------------------------------------------------------------------------

# session NAME CREDENTIAL [OPTION...]: asks on a connection that goes on from the last one of this NAME, where it may.
# Whether it did, and the status.
session() {
  local before=() file=$TMPDIR/$1.session
  [[ -s $file ]] && before=(-sess_in "$file")
  printf 'GET /api/v1/namespaces/default HTTP/1.1\r\nHost: zood\r\nConnection: close\r\n\r\n' |
    timeout 20 openssl s_client -connect "$zood_address" -CAfile "$TMPDIR/$2.ca" -cert "$TMPDIR/$2.crt" -key "$TMPDIR/$2.key" \
      -ign_eof -sess_out "$file" "${before[@]}" "${@:3}" 2>&1 |
    tr -d '\r' | awk '/^(New|Reused), / { how = $1 } sub(/.*HTTP\/1.1 /, "") { status = $1 } END { print how, status }'
}
expect "the first connection of a client is a whole handshake" "New, 200" "$(session four three)"
expect "the next goes on from it" "Reused, 200" "$(session four three)"
expect "not by TLS 1.2, whose tickets hold the keys of what was sent" "New, 200 New, 200" "$(session older three -tls1_2) $(session older three -tls1_2)"
stop_zood
start_zood --config "$TMPDIR/zood.yaml" --listen "$zood_address"
expect "after a start of zood as well" "Reused, 200" "$(session four three)"
check "export one to be revoked" export_as five
expect "its session" "New, 200" "$(session five five)"
check "revoke it" ctl tenant revoke "$a" --serial "$(serial_of five)"
expect "is resumed, and what it asks refused" "Reused, 401" "$(session five five)"
new_tenant c
check "export of a tenant that will go" ctl kubeconfig export "$c" -o "$TMPDIR/gone.kubeconfig"
unpack gone
expect "its session, too" "New, 200" "$(session gone gone)"
check "delete that tenant" ctl tenant delete "$c" --wait
expect "is refused without it" "Reused, 401" "$(session gone gone)"
check "make another one of that ID" ctl tenant create "$c" --wait
expect "and with the other one that has its ID" "Reused, 401" "$(session gone gone)"

# ---- short-lived --------------------------------------------------------------------------------------------------

check "export one for a minute" export_as brief --ttl 1m
end=$(date -d "$(openssl x509 -in "$TMPDIR/brief.crt" -noout -enddate | cut -d= -f2)" +%s)
check "it ends within a minute" test $((end - $(date +%s))) -le 60
check "and works" with brief get pods
open last brief
check "what was revoked is in the record" grep -q notBefore <(ctl tenant get "$a" -o yaml)
check "a manifest does not bring it back" bash -c "'$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' tenant get '$a' -o json |
  jq 'del(.status) | del(.metadata.resourceVersion)' | '$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' tenant apply -f -"
check_fails "it is still refused" 'Unauthorized|logged in' with two get pods
# Of the others none ends soon; of this one the end is near for its last 29 seconds.
ending() { # each look has the controller look, too
  curl -sS -o /dev/null --unix-socket "$zood_dir/zood.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' \
    -d '{"spec":{"flow":{"maxRequestsInflight":'$((100 + RANDOM))'}}}' "http://zood/apis/tenant.kubezoo.io/v1alpha1/tenants/$a"
  [[ $(curl -sS --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk '$1 == "zood_tenants_certificate_expiring" { print $2 }') == 1 ]]
}
eventually "before its end metrics warn of it" 59 ending
expect_match "and status, by its serial" "^True certificates end: $(serial_of brief | tr A-F a-f) of .*; export new ones" "$(ctl tenant get "$a" -o json | jq -r '.status.conditions[] | select(.type == "CertificateExpiring") | .status + " " + .message')"
eventually "the watch that it opened ends with it" 70 ended "$last"
check "not before" test "$(date +%s)" -ge "$end"
check_fails "and it is refused" 'Unauthorized|logged in|expired' with brief get pods
