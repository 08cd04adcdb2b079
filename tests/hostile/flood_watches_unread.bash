# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to open watches by the hundred, over HTTP/1.1 and HTTP/2, and to read nothing of them while large objects change, or all but
#   the end of an event, or each of another object, or to let each end within seconds.
# Without the fence: each keeps an event of its own in zood, half a gigabyte together, and its tenant may have more; who waits on the
#   upstream watch that all share waits for them.
# Rule: 32 KiB a watch wait, what is more is counted among a tenant's bytes, and watches that want more than half of these end; other
#   events wait where all watches of the tenant share them, 32 MiB a loop.
for n in {1..20}; do made "a large object" POST /api/v1/namespaces/team/configmaps json '{"metadata":{"name":"evil-'$n'"},"data":{"x":"y"}}'; done
curl -sN --max-time 300 --cacert "$TMPDIR/$victim.ca" --cert "$TMPDIR/$victim.crt" --key "$TMPDIR/$victim.key" \
  "https://$zood_address/api/v1/namespaces/team/configmaps?watch=1" >"$TMPDIR/victims-watch" &
victims_watch=$!
ticks() { # the victim's own changes, which the shared upstream stream brings it
  local n seen
  for n in {1..8}; do
    as "$victim" -n team create configmap "tick-$n" >/dev/null 2>&1
    seen=late
    for _ in {1..600}; do
      if grep -q "\"tick-$n\"" "$TMPDIR/victims-watch"; then
        seen=seen
        break
      fi
      sleep 0.1
    done
    as "$victim" -n team delete configmap "tick-$n" >/dev/null 2>&1
    echo "$seen"
  done
}
ticks >"$TMPDIR/ticks" &
ticking=$!
flood watches_unread 8 /api/v1/namespaces/team/configmaps
flood watches_nearly_read 6 /api/v1/namespaces/team/configmaps
flood watches_by_name 6 /api/v1/namespaces/team/configmaps
flood watches_that_end 8 /api/v1/namespaces/team/configmaps
wait "$ticking"
kill "$victims_watch"
wait "$victims_watch" 2>/dev/null
expect "the victim's own watch told of all of its changes, each within a minute" "8 seen" "$(sort "$TMPDIR/ticks" | uniq -c | sed 's/^ *//')"
would "tell each of these watches" GET '/api/v1/configmaps?watch=1&timeoutSeconds=1'
