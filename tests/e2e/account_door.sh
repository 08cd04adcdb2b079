#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: accounts access gateway resources app
# step: verify
# timeout: 600
# The account door: a user of the upstream, with the credential that he has there, sees the namespaces and what stands
# in them by his own rights, hears of a change within a second, and is nobody elsewhere; tenants are nobody there.
. "$(dirname "$0")/lib.sh"

own_upstream # what there is at all is compared, and others would change it
start_zood_with $'accounts:\n  enabled: true\n  listen: 127.0.0.1:0'
door=$(sed -n 's/.*the account door listens on //p' "$zood_dir.log" | tail -1)
require "the account door listens" test -n "$door"
new_tenant t

# ---- people ------------------------------------------------------------------------------------------------------------
run=$(random_id)
john=john-$run a=door-$run-a b=door-$run-b c=door-$run-c

new_user "$john" devs

# kubeconfig FILE CERTIFICATE KEY: of somebody at the account door.
kubeconfig() {
  "$KUBECTL" --kubeconfig "$1" config set-cluster door --server "https://$door" --certificate-authority "$TMPDIR/$t.ca" --embed-certs
  "$KUBECTL" --kubeconfig "$1" config set-credentials me --client-certificate "$2" --client-key "$3" --embed-certs
  "$KUBECTL" --kubeconfig "$1" config set-context door --cluster door --user me
  "$KUBECTL" --kubeconfig "$1" config use-context door
} >/dev/null
unpack "$t" # the account door's certificate is by the same authority as the tenants' door's
kubeconfig "$TMPDIR/john.kubeconfig" "$TMPDIR/$john.crt" "$TMPDIR/$john.key"
john() { "$KUBECTL" --kubeconfig "$TMPDIR/john.kubeconfig" "$@"; }

for ns in "$a" "$b" "$c"; do
  upstream create ns "$ns" >/dev/null
  upstream -n "$ns" create configmap here --from-literal=a=b >/dev/null
done
grant() { upstream -n "$1" create rolebinding "$john" --clusterrole admin --user "$john"; }
grant "$a" >/dev/null
grant "$b" >/dev/null

# ---- who he is ---------------------------------------------------------------------------------------------------------
expect_match "whoami says who upstream takes him for" "$john" "$(john auth whoami)"
expect_match "and his group" 'devs' "$(john auth whoami)"
check_fails "a tenant's certificate is nobody's at the account door" '401|Unauthorized|must be logged in' \
  curl -sS --fail --cacert "$TMPDIR/$t.ca" --cert "$TMPDIR/$t.crt" --key "$TMPDIR/$t.key" "https://$door/api/v1/namespaces"
check_fails "and john's is nobody's at the tenants' door" '401|Unauthorized' \
  curl -sS --fail --cacert "$TMPDIR/$t.ca" --cert "$TMPDIR/$john.crt" --key "$TMPDIR/$john.key" "https://$zood_address/api/v1/namespaces"
token=$(upstream -n "$a" create token default)
bearer() { curl -s --max-time 20 --cacert "$TMPDIR/$t.ca" -H "Authorization: Bearer $1" "https://$door$2"; }
expect_match "a ServiceAccount comes with its token" "system:serviceaccount:$a:default" \
  "$(bearer "$token" "/api/v1/namespaces/$a/configmaps")"
check "a tenant makes a ServiceAccount's token" as "$t" create serviceaccount robot
expect_match "which is nobody's at the account door" '"code":401' \
  "$(bearer "$(as "$t" create token robot)" /api/v1/namespaces)"
expect_match "nor is one that upstream made for it" '"code":401' \
  "$(bearer "$(upstream -n "$t-default" create token robot)" /api/v1/namespaces)"
expect_match "header fields say nothing" '"code":401' \
  "$(curl -s --cacert "$TMPDIR/$t.ca" -H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters' "https://$door/api/v1/namespaces")"
check_fails "he impersonates nobody without the right" 'cannot impersonate resource' \
  john get --raw /api/v1/namespaces --as admin
boss() { upstream --server "https://$door" --certificate-authority "$TMPDIR/$t.ca" "$@"; }
expect_match "who may, does" "$john" "$(boss auth whoami --as "$john")"

# ---- what he sees ------------------------------------------------------------------------------------------------------
sees_his() { [[ $(john get ns -o name | sort | tr '\n' ' ') == "namespace/$a namespace/$b " ]]; }
eventually "he sees his namespaces and no others" 30 sees_his
check_fails "a hidden one is not there" 'not found' john get ns "$c"
check_fails "nor is one that does not exist" 'not found' john get ns no-such-space
expect "what stands in them" "$a $b " \
  "$(john get configmaps -A --field-selector metadata.name=here -o 'jsonpath={range .items[*]}{.metadata.namespace} {end}')"
expect "as a table" 2 "$(john get configmaps -A --field-selector metadata.name=here --no-headers | wc -l)"
expect "in pages" 2 "$(john get configmaps -A --chunk-size=1 --no-headers | grep -c ' here ')"
check_fails "what he may read nowhere upstream refuses" 'cannot list resource "clusterroles"' john get clusterroles
check_fails "another's namespace, too" 'cannot list resource "configmaps"' john -n "$c" get configmaps
check "he works in his own" john -n "$a" create configmap mine --from-literal=a=b
expect "can-i agrees: namespaces" yes "$(john auth can-i list namespaces 2>/dev/null)"
expect "everywhere" yes "$(john auth can-i list configmaps -A 2>/dev/null)"
expect "not what is not so" no "$(john auth can-i list nodes 2>/dev/null)"
expect "nor delete everywhere" no "$(john auth can-i delete configmaps -A 2>/dev/null)"
expect_match "discovery has the kinds of accounts" 'spaces +.*tenancy.kiosk.sh' "$(john api-resources)"
expect_match "and accounts are tenancy's" 'tenancy.kiosk.sh' "$(john explain accounts)"
expect_match "OpenAPI v2, too" 'tenancy.kiosk.sh' "$(john get --raw /openapi/v2)"

# ---- what he hears -----------------------------------------------------------------------------------------------------
john get ns -w --output-watch-events >"$TMPDIR/spaces.watch" 2>&1 &
spaces_watch=$!
john get configmaps -A -w --field-selector metadata.name=here --no-headers >"$TMPDIR/maps.watch" 2>&1 &
maps_watch=$!
hears() { grep -q -- "$2" "$TMPDIR/$1.watch"; }
eventually "a watch of namespaces begins" 30 hears spaces "$b"
eventually "and one of what stands in them" 30 hears maps "$b"
check "john is let into another namespace" grant "$c"
eventually "N11: which is ADDED" 30 hears spaces "^ADDED  *$c "
over() { ! kill -0 "$1" 2>/dev/null; }
eventually "the other watch ends, so that he lists again" 30 over "$maps_watch"
expect_match "and says why" 'have changed; list again' "$(cat "$TMPDIR/maps.watch")"
expect "he sees what stands there" 3 "$(john get configmaps -A --field-selector metadata.name=here --no-headers | wc -l)"
check "the right is taken away" upstream -n "$c" delete rolebinding "$john"
eventually "N11: and the namespace is DELETED for him" 30 hears spaces "^DELETED  *$c "
kill "$spaces_watch" 2>/dev/null

# ---- the whole cluster -------------------------------------------------------------------------------------------------
check "john may view everything" upstream create clusterrolebinding "$john" --clusterrole view --user "$john"
everything() { john get ns kube-system; }
eventually "then he goes straight" 30 everything
expect "and sees all that there is" "$(upstream get ns -o name | sort | md5sum)" "$(john get ns -o name | sort | md5sum)"
