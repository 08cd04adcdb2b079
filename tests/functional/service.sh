#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: packaging app
# step: verify
# zood as packaging/systemd/zood.service starts it: with the unit's group, runtime directory, capabilities and system
# calls; when the unit starts it again.
. "$(dirname "$0")/../e2e/lib.sh"

unit=$zoo_root/packaging/systemd/zood.service
of_unit() { sed -n "s/^$1=//p" "$unit"; }

# ---- the unit itself --------------------------------------------------------------------------------------------------

mkdir "$TMPDIR/unit"
sed "s|/usr/bin/zood|$ZOO_BUILD/bin/zood|" "$unit" >"$TMPDIR/unit/zood.service"
check "systemd reads the unit" systemd-analyze verify --man=no "$TMPDIR/unit/zood.service"
expect "and says nothing of it" "" "$(systemd-analyze verify --man=no "$TMPDIR/unit/zood.service" 2>&1)"

# ---- who is started again ---------------------------------------------------------------------------------------------

expect "an upstream that is long away does not end the service for good" 0 "$(of_unit StartLimitIntervalSec)"
expect "nothing before zood itself can fail" "" "$(of_unit ExecStartPre)"
started_again() { # CONFIGURATION: prints whether, after zood has failed with it
  local status
  printf '%s\n' "$1" >"$TMPDIR/failing.yaml"
  timeout 30 "$ZOO_BUILD/bin/zood" --config "$TMPDIR/failing.yaml" >/dev/null 2>&1
  status=$?
  if ((status == 0 || status == 124)); then
    echo "status $status"
  elif [[ " $(of_unit RestartPreventExitStatus) " == *" $status "* ]]; then
    echo no
  else
    echo yes
  fi
}
echo 'clusters: [' >"$TMPDIR/broken.kubeconfig"
cat >"$TMPDIR/away.kubeconfig" <<'K'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
K
expect "a wrong configuration: not again" no "$(started_again 'listn: 127.0.0.1:0')"
expect "no upstream is named: not again" no "$(started_again "dir: $TMPDIR/d")"
expect "a broken kubeconfig: not again" no "$(started_again "{dir: $TMPDIR/d, upstream: {kubeconfig: $TMPDIR/broken.kubeconfig}}")"
expect "an upstream that is away: again" yes "$(started_again "{dir: $TMPDIR/d, listen: 127.0.0.1:0, upstream: {kubeconfig: $TMPDIR/away.kubeconfig}}")"

# ---- confined as the unit says ------------------------------------------------------------------------------------------

((EUID == 0)) && unshare --mount true 2>/dev/null || skip "needs root and a mount namespace, for a group of the name zoo"

# A group zoo as sysusers.d makes it, for zood alone; and somebody who is its member.
gid=64077
{ grep -v '^zoo:' /etc/group; echo "zoo:x:$gid:nobody"; } >"$TMPDIR/group"
chmod 644 "$TMPDIR/group"
run=$TMPDIR/run state=$TMPDIR/state
mkdir -m "$(of_unit RuntimeDirectoryMode)" "$run" && chgrp "$gid" "$run"
mkdir -m "$(of_unit StateDirectoryMode)" "$state" && chgrp "$gid" "$state"
chmod o+x "$TMPDIR"
printf 'dir: %s\nlisten: 127.0.0.1:0\nupstream: {kubeconfig: %s}\n' "$state" "$ZOO_E2E_KUBECONFIG" >"$TMPDIR/zood.yaml"
(
  umask "$(of_unit UMask)"
  RUNTIME_DIRECTORY=$run exec unshare --mount sh -c 'mount --bind "$0" /etc/group && exec "$@"' "$TMPDIR/group" \
    setpriv --regid "$gid" --clear-groups --inh-caps=-all --bounding-set=-all \
    python3 "$zoo_root/tests/functional/service/confined.py" "$unit" "$ZOO_BUILD/bin/zood" --config "$TMPDIR/zood.yaml"
) </dev/null >"$zood_dir.log" 2>&1 &
zood_pids[$zood_dir]=$!
eventually "zood starts" 60 "$ZOO_BUILD/bin/zooctl" --socket "$run/zood.sock" status
expect "the socket is the group's" "660 $gid" "$(stat -c '%a %g' "$run/zood.sock")"
check "there is no other one" test ! -e "$state/zood.sock"
ask_as() { # GROUPS...: nobody asks, who has these; prints the answer's status
  setpriv --reuid 65534 --regid 65534 "$@" \
    curl -s -o /dev/null -w '%{http_code}' --unix-socket "$run/zood.sock" http://zood/zoo/v1/status
}
expect "a member of the group is answered" 200 "$(ask_as --groups "$gid")"
expect "somebody else has no way in" 000 "$(ask_as --clear-groups)"

# ---- the journal ------------------------------------------------------------------------------------------------------

# Where its standard error is the journal, a line is an entry with fields (systemd.journal-fields(7)).
cat >"$TMPDIR/journal.py" <<'P'
import os, socket, sys
door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
os.makedirs("/run/systemd/journal")
door.bind("/run/systemd/journal/socket")
door.settimeout(60)
print("listens", flush=True)
print(door.recv(65536).decode(), flush=True)
P
: >"$TMPDIR/stderr"
unshare --mount bash -c 'mount -t tmpfs none /run && { python3 "$1/journal.py" >"$1/journal" & } && until [[ -s $1/journal ]]; do sleep 0.05; done
  JOURNAL_STREAM=$(stat -c %d:%i "$1/stderr") "$2" --dir "$1/none" --upstream "$1/away.kubeconfig" --listen 127.0.0.1:0 2>>"$1/stderr"; wait' - "$TMPDIR" "$ZOO_BUILD/bin/zood" >/dev/null
expect "an error is one of the journal's" "PRIORITY=3" "$(grep '^PRIORITY' "$TMPDIR/journal")"
expect "of zood's, and of a room" "ROOM=app SYSLOG_IDENTIFIER=zood" "$(grep -E '^(ROOM|SYSLOG_IDENTIFIER)=' "$TMPDIR/journal" | sort | paste -sd' ')"
expect_match "with its text" '^MESSAGE=app: .*127\.0\.0\.1' "$(<"$TMPDIR/journal")"
expect "and stands nowhere else" "" "$(<"$TMPDIR/stderr")"
