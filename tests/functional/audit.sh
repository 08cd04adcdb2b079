#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: audit gateway admin cli
# step: verify
# timeout: 600
# The audit log: who did what and what became of it, by tenant, time, user and verb; what must never be in it; a tenant's
# own level; files that are put aside, by zood and by others; and what is read of it while it grows.
. "$(dirname "$0")/../e2e/lib.sh"

cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
admin: {listen: "127.0.0.1:0"}
audit: {max_size: 1Mi, max_files: 3}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
new_tenant b
log=$zood_dir/audit/audit.log
terms() { # TENANT JSON
  "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" patch tenant "$1" --type merge -p "$2"
}
ask() { # NAME PATH CURL'S ARGUMENTS...
  local who=$1 path=$2
  shift 2
  curl -sS --max-time 60 --cacert "$TMPDIR/$who.ca" --cert "$TMPDIR/$who.crt" --key "$TMPDIR/$who.key" -o /dev/null -w '%{http_code}' "$@" "https://$zood_address$path"
}
unpack "$a"
unpack "$b"
check "a user without rights" eval 'ctl kubeconfig export "$a" --user jane --group dev >"$TMPDIR/jane.kubeconfig" && unpack jane'
# lines TENANT [OPTIONS...]: of its log, one a line.
lines() { ctl audit "$@" --since 1h --limit 10000 -o json | jq -c '.items[]'; }
holds() { lines "${@:2}" | jq -se "any(.[]; $1)" >/dev/null; }

# ---- what a line says -----------------------------------------------------------------------------------------------

secret=hunter2-$RANDOM$RANDOM
check "a Secret is made" as "$a" create secret generic keys --from-literal=password="$secret"
check "and read" as "$a" get secret keys -o yaml
expect "somebody without rights" 403 "$(ask jane "/api/v1/namespaces/default/secrets/keys?pretty=$secret")"
expect "a command in a query" 403 "$(ask jane "/api/v1/namespaces/default/pods/p/exec?command=$secret&command=$secret" -H "Cookie: $secret" -H "X-Whatever: $secret")"
expect "a stranger's token" 401 "$(curl -sS --cacert "$TMPDIR/$a.ca" -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $secret" "https://$zood_address/api/v1/namespaces")"
check "the neighbour's request" as "$b" create configmap theirs
eventually "its creation is told" 30 holds '.verb == "create" and .resource == "secrets" and .namespace == "default" and .code == 201 and .decision == "allow"
  and .user == "admin" and .door == "tenants" and .tenant == "'"$a"'" and .latencyMicros > 0 and .requestBytes > 0 and .responseBytes > 0 and (.credential | length) > 8 and (.peer | startswith("127.0.0.1:"))' "$a"
eventually "and the refusal with its reason" 30 holds '.verb == "get" and .user == "jane" and .groups[0] == "dev" and .code == 403 and .decision == "forbid" and (.reason | length) > 0' "$a" --denied
eventually "a stranger's is told among all" 30 holds '.code == 401 and .decision == "unauthenticated"'
eventually "exec is told, without its command" 30 holds '.resource == "pods" and .subresource == "exec" and .name == "p"' "$a" --user jane
expect_no_match "no secret, no token, no query, no header is in it" "$secret|$(printf %s "$secret" | base64)|pretty|Bearer|PRIVATE KEY" "$(cat "$log")"
expect "a tenant's lines are its own" "$a" "$(lines "$a" | jq -r .tenant | sort -u)"
expect "--user" jane "$(lines "$a" --user jane | jq -r .user | sort -u)"
expect "--verb" create "$(lines "$a" --verb create | jq -r .verb | sort -u)"
# What is allowed, and refused upstream: of a ServiceAccount that is not there.
refused_upstream() { as "$1" run "$2" --image x --overrides '{"spec":{"serviceAccountName":"none"}}'; }
check_fails "upstream refuses, too" 'forbidden: .*service ?account' refused_upstream "$a" by-upstream
eventually "that is told with who refused it" 30 holds '.resource == "pods" and .verb == "create" and .code == 403 and .decision == "allow" and .reason == "upstream refused it"' "$a" --denied
expect "--denied: whoever refused it" "403 allow 403 forbid" "$(lines "$a" --denied | jq -r '"\(.code) \(.decision)"' | sort -u | xargs)"
expect "and a stranger's" "401 unauthenticated" "$(lines --denied | jq -r 'select(.code == 401) | "\(.code) \(.decision)"' | sort -u)"
expect_match "a table for people" "^20[0-9T:.-]+Z +admin +create +secrets +default +<none> +201 +[0-9.]+ms +allow" "$(ctl audit "$a")"
expect_match "which says that there is more" 'There are older lines: raise --limit \(now 1\)' "$(ctl audit "$a" --limit 1 2>&1)"
expect "administrators are told of, too" true "$(lines | jq -s 'any(.door == "admin" and .resource == "tenants" and .verb == "create")')"
expect "files are nobody else's" "600 700" "$(stat -c %a "$log") $(stat -c %a "${log%/*}")"
old() { ! ctl audit "$a" --since 2s -o json | says_line '"keys"'; }
eventually "what is older than --since is left out" 30 old
check "but is still there" holds '.name == "keys"' "$a"
check_fails "--since is a span" 'since' ctl audit "$a" --since yesterday

# ---- a tenant's own level -------------------------------------------------------------------------------------------

# level LEVEL: of b, and of the next request it is known whether it is told of.
stands() { [[ "$(ctl tenant get "$b" -o json | jq -c .spec.audit.level)" == "$1" ]]; }
level() {
  require "level $1" terms "$b" '{"spec":{"audit":{"level":'"$1"'}}}'
  eventually "it is known to zood" 30 stands "$1"
}
told() { holds ".name == \"$1\"" "$b"; }
level '"denied"'
check_fails "what is allowed" 'not found' as "$b" get configmap quiet-allowed
check_fails "and what is refused" forbidden as "$b" get configmap loud-refused --as nobody
check_fails "by upstream, too" forbidden refused_upstream "$b" loud-upstream
eventually "of these the second is told" 30 told loud-refused
eventually "and the third" 30 holds '.verb == "create" and .resource == "pods" and .code == 403' "$b"
check_fails "the first is not" '' told quiet-allowed
level '"writes"'
check_fails "a read" 'not found' as "$b" get configmap quiet-read
check_fails "a write" 'not found' as "$b" delete configmap loud-write
eventually "the write is told" 30 told loud-write
check_fails "the read is not" '' told quiet-read
level '"none"'
check_fails "another write" 'not found' as "$b" delete configmap quiet-write
level null
check_fails "and all again" 'not found' as "$b" get configmap loud-read
eventually "is told" 30 told loud-read
check_fails "what came while there was none is not" '' told quiet-write

# ---- as it grows ----------------------------------------------------------------------------------------------------

"$ZOO_BUILD/bin/zooctl" --dir "$zood_dir" audit "$a" --follow --since 10m -o json >"$TMPDIR/followed" 2>"$TMPDIR/followed.err" &
follower=$!
for name in one two three; do expect "$name" 404 "$(ask "$a" "/api/v1/namespaces/default/configmaps/followed-$name")"; done
eventually "--follow shows what comes" 30 grep -q followed-three "$TMPDIR/followed"
expect "each once, a line of JSON each" '1 followed-one
1 followed-three
1 followed-two' "$(jq -r 'select(.name // "" | startswith("followed-")) | .name' "$TMPDIR/followed" | sort | uniq -c | sed 's/^ *//')"

# Lines of nearly a kilobyte: a long name, a long name of the program.
name=$(printf 'n%.0s' {1..240})
expect "three thousand requests" 3000 "$(ask jane "/api/v1/namespaces/default/configmaps/$name[1-3000]" -A "$(printf 'agent%.0s' {1..30})" | grep -o 403 | wc -l)"
aside() { [[ -f $log.2 ]]; }
eventually "files are put aside" 30 aside
last() { lines "$a" --user jane | tail -n 1 | jq -e --arg n "${name}3000" '.name == ($n | .[:256])' >/dev/null; }
eventually "the newest line is there" 30 last
# Now nothing is renamed any more.
expect_match "there are three, each of about a mebibyte, and nobody else's" '^3 600 1$' \
  "$(find "${log%/*}" -type f | wc -l) $(stat -c %a "$log" "$log".? | sort -u) $(find "${log%/*}" -type f -size +1500k | wc -l | sed 's/^0$/1/')"
kept=$(cat "$log".2 "$log".1 "$log" | grep -c '"user":"jane"')
expect "all that is kept is read, across files, in its order" "$kept" "$(ctl audit "$a" --user jane --limit 10000 -o json | jq '.items | if ([.[].time] | . == sort) then length else "not in order" end')"
eventually "the follower has seen them too" 30 grep -q "${name}3000" "$TMPDIR/followed"
expect "and nothing twice" "" "$(sort "$TMPDIR/followed" | uniq -d | head -n 3)"
kill "$follower"
wait "$follower" 2>/dev/null

# ---- files that others move away --------------------------------------------------------------------------------------

mv "$log" "$TMPDIR/moved.log"
check "zood is told" kill -HUP "${zood_pids[$zood_dir]}"
again() { ask "$a" /api/v1/namespaces/default/configmaps/after-the-move >/dev/null; [[ -f $log ]] && grep -q after-the-move "$log"; }
eventually "and goes on in a new file" 30 again
expect "which is nobody else's" 600 "$(stat -c %a "$log")"
expect "zooctl status knows where" "$log 0" "$(ctl status -o json | jq -r '.audit | "\(.output) \(.lost)"')"

# ---- to standard error, which is the journal's under systemd ----------------------------------------------------------

stop_zood
expect "zood ends" 0 $?
sed -i 's/^audit:.*/audit: {output: stderr}/' "$TMPDIR/zood.yaml"
start_zood --config "$TMPDIR/zood.yaml"
check_fails "which are in nobody's reach" 'its standard error is not the journal' ctl audit "$a"
stop_zood
expect "zood ends" 0 $?
# systemd tells by JOURNAL_STREAM that standard error is the journal.
JOURNAL_STREAM=$(stat -c %d:%i "$zood_dir.log") start_zood --config "$TMPDIR/zood.yaml"
ask "$a" /api/v1/namespaces/default/configmaps/to-the-journal >"$TMPDIR/journal.code"
journal() { sed -n 's/^[^{]*\({.*to-the-journal.*}\)$/\1/p' "$zood_dir.log" | jq -se --arg a "$a" 'length == 1 and .[0].tenant == $a and .[0].verb == "get" and .[0].code == 404' >/dev/null; }
eventually "one line of JSON a request" 30 journal
check_fails "the file has none of it" '' grep -q to-the-journal "$log"
# What journald would have made of it, by the same program that stores what comes from other machines.
match=$(curl -sS --unix-socket "$zood_dir/zood.sock" http://zood/zoo/v1/audit | jq -r .journal)
expect_match "zood says which lines of the journal are its own" '^(_BOOT_ID=[0-9a-f]{32} _PID=|_SYSTEMD_UNIT=|_UID=[0-9]+ _SYSTEMD_USER_UNIT=).' "$match"
entries() { # FIELD=VALUE...: a line each
  local line at
  at=$(date +%s%6N)
  while IFS= read -r line; do
    printf '__REALTIME_TIMESTAMP=%s\n__MONOTONIC_TIMESTAMP=%s\n' "$at" "$at"
    [[ $* == *_BOOT_ID=* ]] || printf '_BOOT_ID=%032d\n' 7
    printf '%s\n' "$@"
    printf 'MESSAGE=%s\n\n' "$line"
    at=$((at + 1))
  done
}
read -ra mine <<<"$match"
mkdir "$TMPDIR/journal"
sed -n 's/^[^{]*\({.*to-the-journal.*}\)$/\1/p' "$zood_dir.log" >"$TMPDIR/told"
sed 's/to-the-journal/forged/' "$TMPDIR/told" >"$TMPDIR/forged"
{
  grep -v to-the-journal "$zood_dir.log" | entries "${mine[@]}"
  entries "${mine[@]}" <"$TMPDIR/told"
  entries _PID=1 <"$TMPDIR/forged"
  sed 's/,"decision".*//' "$TMPDIR/forged" | entries "${mine[@]}"
} >"$TMPDIR/entries"
check "a journal" /lib/systemd/systemd-journal-remote -o "$TMPDIR/journal/system.journal" "$TMPDIR/entries"
from_journal() { ctl audit "$@" --journal "$TMPDIR/journal"; }
expect "zooctl reads it" "$a get 404" "$(from_journal "$a" -o json | jq -r '.items[] | select(.name == "to-the-journal") | "\(.tenant) \(.verb) \(.code)"')"
expect_no_match "and what others wrote it leaves out" forged "$(from_journal -o json)"
expect_match "a line that is torn is told of" '^Torn lines, left out: 1' "$(from_journal "$a" 2>&1 >/dev/null)"
expect "no other tenant's either" 0 "$(from_journal "$b" --verb get -o json | jq '.items | length')"
expect_match "a table, and that there is more" 'There are older lines' "$(from_journal --limit 1 2>&1)"
expect "--since holds" 0 "$(sleep 2; from_journal --since 1s -o json | jq '.items | length')"
mkdir "$TMPDIR/empty"
sed -E 's/^(_PID|_SYSTEMD_UNIT|_SYSTEMD_USER_UNIT)=.*/_SYSTEMD_UNIT=zood.service/' "$TMPDIR/entries" >"$TMPDIR/entries-of-a-unit"
mkdir "$TMPDIR/elsewhere"
check "a journal of a machine that is gone" /lib/systemd/systemd-journal-remote -o "$TMPDIR/elsewhere/system.journal" "$TMPDIR/entries-of-a-unit"
expect_match "is read without its zood" '"name": ?"to-the-journal"' "$("$ZOO_BUILD/bin/zooctl" --dir "$TMPDIR/empty" audit --journal "$TMPDIR/elsewhere" -o json 2>&1)"
check_fails "an empty journal is told" 'nothing can be read in the journal of what zood wrote .*systemd-journal' ctl audit "$a" --journal "$TMPDIR/empty"
for id in "$a" "$b"; do check "$id goes" ctl tenant delete "$id" --wait; done
