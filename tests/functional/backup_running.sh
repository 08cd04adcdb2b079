#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: store app cli common admin
# timeout: 600
# A backup that is made while zood runs (docs/backup.md): what it holds, that damage is found, and that a zood which is
# restored from it serves the kubeconfigs of before and tells watches to list again.
. "$(dirname "$0")/../e2e/lib.sh"

zood=${ZOO_ZOOD:-$ZOO_BUILD/bin/zood}
passphrase=$TMPDIR/passphrase wrong=$TMPDIR/wrong backup=$TMPDIR/zood.backup
echo 'correct horse battery staple' >"$passphrase"
echo abc >"$TMPDIR/short"
echo 'wrong horse battery staple' >"$wrong"

start_zood
new_tenant a
address=$zood_address
unpack "$a"
check "an object of the tenant's" as "$a" create configmap kept
tenants=/apis/tenant.kubezoo.io/v1alpha1/tenants
api() { curl -sS --max-time 20 --unix-socket "$zood_dir/zood.sock" "http://zood$1" "${@:2}"; }
old=$(api "$tenants/$a" | jq -r .metadata.resourceVersion)

# ---- made ------------------------------------------------------------------------------------------------------------

check_fails "nothing is written without a word on its encryption" '--passphrase-file FILE to encrypt' ctl backup create -o "$backup"
check_fails "nor with a passphrase that keeps nothing" 'has 3 characters' ctl backup create -o "$backup" --passphrase-file "$TMPDIR/short"
check "a backup is made while zood runs" ctl backup create -o "$backup" --passphrase-file "$passphrase"
expect "it is nobody else's" 600 "$(stat -c %a "$backup")"
expect_match "it says what it is" '^Records: .*1 tenant' "$(ctl backup show "$backup")"
expect "to programs, too" true "$(ctl backup show "$backup" -o json | jq .encrypted)"
expect "of which upstream" "$(upstream get namespace kube-system -o 'jsonpath={.metadata.uid}')" "$(ctl backup show "$backup" -o json | jq -r .upstream)"
expect "no key stands in it" 0 "$(grep -ac 'BEGIN' "$backup")"
expect_match "it is good" 'is whole and can be restored' "$(ctl backup verify "$backup" --passphrase-file "$passphrase")"
against() { ctl backup verify "$backup" --passphrase-file "$passphrase" --against "$ZOO_E2E_KUBECONFIG" 2>&1; }
expect_no_match "and agrees with the upstream about the tenant" "tenant $a " "$(against)"
expect_match "zood knows how old it is" '^zood_backup_age_seconds [0-9]' "$(api /metrics)"
expect_no_match "and has no complaint" '(backup|restored)' "$(ctl doctor)"

# ---- damaged ---------------------------------------------------------------------------------------------------------

check_status "another passphrase does not open it" 77 ctl backup verify "$backup" --passphrase-file "$wrong"
check_status "nor does none" 77 ctl backup verify "$backup"
size=$(stat -c %s "$backup")
refused=0
# Each is refused after the passphrase was stretched, which takes a processor a second or two.
flips=10
[[ ${ZOO_STEP:-} != all ]] || flips=100
for ((i = 0; i < flips; i++)); do
  at=$((i * (size - 1) / (flips - 1)))
  cp "$backup" "$TMPDIR/bad"
  byte=$(od -An -tu1 -j "$at" -N 1 "$backup")
  printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$TMPDIR/bad" bs=1 seek="$at" conv=notrunc status=none
  ctl backup verify "$TMPDIR/bad" --passphrase-file "$passphrase" >"$TMPDIR/said" 2>&1
  [[ $? == 65 ]] && grep -Eq 'at byte [0-9]+|head of the backup|no backup of zood' "$TMPDIR/said" && refused=$((refused + 1))
done
expect "each flipped byte is a refusal that says where" "$flips" "$refused"
head -c $((size - 1)) "$backup" >"$TMPDIR/bad"
check_fails "the last byte is missed" 'cut off' ctl backup verify "$TMPDIR/bad" --passphrase-file "$passphrase"

# ---- restored --------------------------------------------------------------------------------------------------------

restore() { "$zood" --dir "$1" --upstream "$ZOO_E2E_KUBECONFIG" --restore "$backup" --passphrase-file "$passphrase"; }
check_fails "nothing is restored over a state" 'is not empty' restore "$zood_dir"
new_tenant later
expect_match "who came since is told of" "tenant $later has namespaces there, and the backup does not know it" "$(against)"
check "he goes" ctl tenant delete "$later" --wait
newest=$(api "$tenants" | jq -r .metadata.resourceVersion) # that a backup was made is a write behind it
stop_zood
mv "$zood_dir" "$TMPDIR/lost"
check_fails "nor what is damaged" 'cut off' "$zood" --dir "$zood_dir" --upstream "$ZOO_E2E_KUBECONFIG" --restore "$TMPDIR/bad" --passphrase-file "$passphrase"
check "nothing is left of that" test ! -e "$zood_dir"
expect_match "the backup is restored into an empty directory" 'restored the state of' "$(restore "$zood_dir")"
expect "which is nobody else's" '700 600 600' "$(stat -c %a "$zood_dir" "$zood_dir/master.key" "$zood_dir/pki/ca.key" | tr '\n' ' ' | sed 's/ $//')"
start_zood --listen "$address"
check "the tenant's kubeconfig works" as "$a" get configmap kept
expired() { api "$tenants?watch=1&resourceVersion=$1&timeoutSeconds=5" | jq -r 'select(.code == 410 or .object.code == 410) | .code // .object.code'; }
expect "a position of before is expired" 410 "$(expired "$old")"
expect "the newest one, too" 410 "$(expired "$newest")"
check "versions go on above those of before" test "$(api "$tenants" | jq -r .metadata.resourceVersion)" -gt "$newest"
expect_match "doctor says what is to be seen to" 'revoked since are accepted again' "$(ctl doctor)"
check "until that is done" ctl backup acknowledge
expect_no_match "then no more" 'restored state' "$(ctl doctor)"
check "the restored zood makes a backup" ctl backup create -o "$backup" --plain
expect_match "which is good" 'can be restored' "$(ctl backup verify "$backup")"

# ---- restored elsewhere, and with nobody's certificate ----------------------------------------------------------------

stop_zood
mv "$zood_dir" "$TMPDIR/second"
python3 -u -c 'import http.server
class Other(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kube-system\",\"uid\":\"another\"}}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
print(server.server_port)
server.serve_forever()' >"$TMPDIR/other" &
other=$!
at_end() { kill "$other" 2>/dev/null; }
eventually "another upstream answers" 30 test -s "$TMPDIR/other"
cat >"$TMPDIR/other.kubeconfig" <<K
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$(head -n 1 "$TMPDIR/other")"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
K
check_fails "a state of one upstream is not restored before another one" 'is of another upstream, .* has another' \
  "$zood" --dir "$zood_dir" --upstream "$TMPDIR/other.kubeconfig" --restore "$backup"
check_fails "nor before none" 'no upstream is named' "$zood" --dir "$zood_dir" --restore "$backup"
check "nothing is left of that" test ! -e "$zood_dir"
check "all certificates are made void on the way" "$zood" --dir "$zood_dir" --upstream "$ZOO_E2E_KUBECONFIG" --restore "$backup" --revoke-all
start_zood --listen "$address"
check_fails "the tenant's kubeconfig of before is none any more" 'Unauthorized|provide credentials|401' as "$a" get configmap kept
export_kubeconfig "$a"
check "another one is" as "$a" get configmap kept
expect_no_match "there is nothing to be seen to" 'restored state' "$(ctl doctor)"
