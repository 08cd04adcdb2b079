#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: app admin audit upstream common
# What zood says of itself to a Prometheus: counts that are right, for administrators alone, and no tenant's words in them.
. "$(dirname "$0")/../e2e/lib.sh"

start_zood
new_tenant a --label "team=x"
new_tenant b
metrics() { curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics; }
# value SAMPLE: of one line, 0 where there is none.
value() { metrics | awk -v sample="$1" '$1 == sample { print $2; found = 1 } END { if (!found) print 0 }'; }
text=$(metrics)
expect "in Prometheus' words" "" "$(grep -Ev '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? -?[0-9.e+]+)$' <<<"$text")"
expect "no family twice" "" "$(grep '^# TYPE' <<<"$text" | sort | uniq -d)"
expect "each sample once" "" "$(grep -v '^#' <<<"$text" | sed 's/ [^ ]*$//' | sort | uniq -d)"
expect "tenants by phase" "2" "$(value 'zood_tenants{phase="Ready"}')"
expect "what runs" 1 "$(grep -c '^zood_build_info{version="[0-9.]*"} 1$' <<<"$text")"
expect_match "its credentials' ends" '^zood_certificate_expiry_timestamp_seconds\{credential="tenants-ca"\} [0-9]{10}$' "$text"
expect_match "of the doors' certificate" '^zood_certificate_expiry_timestamp_seconds\{credential="serving"\} [0-9]{10}$' "$text"
expect_match "of the administrator's" '^zood_certificate_expiry_timestamp_seconds\{credential="admin"\} [0-9]{10}$' "$text"
expect_match "and upstream's" '^zood_certificate_expiry_timestamp_seconds\{credential="upstream"\} [0-9]{10}$' "$text"
expect_match "connections upstream" '^zood_upstream_connections\{state="idle"\} [0-9]+$' "$text"
expect_match "memory" '^process_resident_memory_bytes [1-9][0-9]{6,}$' "$text"
before=$(value 'zood_requests_total{door="tenants",verb="get",code="404"}')
for i in 1 2 3; do check_fails "a request $i" 'not found' as "$a" get --raw "/api/v1/namespaces/default/configmaps/nobody-$i"; done
counted() { [[ $(value 'zood_requests_total{door="tenants",verb="get",code="404"}') == $((before + 3)) ]]; }
eventually "requests by code" 30 counted
expect_match "how long they took" '^zood_request_duration_seconds_count\{door="tenants",verb="get"\} [1-9]' "$(metrics)"
forbidden=$(value 'zood_decisions_total{door="tenants",decision="forbid"}')
check_fails "a refusal" forbidden as "$a" get secrets --as nobody
refused() { [[ $(value 'zood_decisions_total{door="tenants",decision="forbid"}') -gt $forbidden ]]; }
eventually "refusals" 30 refused
"$KUBECTL" --kubeconfig "$TMPDIR/$a.kubeconfig" get configmaps --watch >"$TMPDIR/watch" 2>&1 &
watch=$!
watched() { [[ $(value zood_long_running) -ge 1 && $(value zood_watch_subscribers) -ge 1 && $(value 'zood_upstream_watches{shared="true"}') -ge 1 ]]; }
eventually "watches" 30 watched
kill "$watch"
wait "$watch" 2>/dev/null
unwatched() { [[ $(value zood_long_running) == 0 ]]; }
eventually "which end" 30 unwatched
ended() { [[ $(value 'zood_watch_ends_total{reason="client"}') -ge 1 ]]; }
eventually "and it is counted why" 30 ended
before=$(value 'zood_translated_bytes_total{direction="inward",encoding="yaml"}')
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: written}\n' >"$TMPDIR/written.yaml"
unpack "$a"
expect "an object in YAML" 201 "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" -H 'Content-Type: application/yaml' \
  --data-binary "@$TMPDIR/written.yaml" "https://$zood_address/api/v1/namespaces/default/configmaps")"
translated() { [[ $(value 'zood_translated_bytes_total{direction="inward",encoding="yaml"}') == $((before + $(stat -c %s "$TMPDIR/written.yaml"))) ]]; }
eventually "is counted as it came" 30 translated
check "and what went out" test "$(value 'zood_translated_bytes_total{direction="outward",encoding="json"}')" -gt 0
expect_no_match "what doctor found is not known before it was asked" '^zood_findings' "$(metrics)"
ctl doctor >"$TMPDIR/doctor.txt" 2>&1
expect_match "the upstream gives tenants and zood their shares" '^ok +fairness: ' "$(<"$TMPDIR/doctor.txt")"
expect_match "it says whether other API servers keep namespaces from going" '^(ok|warning) +api services: ' "$(<"$TMPDIR/doctor.txt")"
expect "and then it is" "$(grep -c '^ok ' "$TMPDIR/doctor.txt")" "$(value 'zood_findings{level="ok"}')"
expect "nothing is in flight at rest" "0 0 0" "$(value zood_requests_inflight) $(value zood_requests_queued) $(value zood_buffered_bytes)"
written=$(value zood_audit_lines_total)
expect_match "lines of the audit log" '^[1-9]' "$written"
expect "none lost" 0 "$(value zood_audit_lost_total)"
check "a tenant is suspended" ctl tenant suspend "$b"
suspended() { [[ $(value 'zood_tenants{phase="Suspended"}') == 1 ]]; }
eventually "and counted so" 30 suspended
expect "what drifts upstream is heard" 1 "$(value zood_drift_heard)"
expect_match "and tenants were looked after" '^[1-9]' "$(value zood_tenant_looks_total)"
expect "no certificate ends soon" 0 "$(value zood_tenants_certificate_expiring)"
expect_no_match "no name of a tenant's is a label" "$a|nobody|nobody-1|team" "$(metrics)"
metrics >"$TMPDIR/scrape"
said=$(promtool check metrics <"$TMPDIR/scrape" 2>&1)
expect "promtool has no complaint of a zood that was used" "0 " "$? $said"
expect_match "how clients' connections began" '^zood_tls_handshakes_total\{kind="full"\} [1-9]' "$(<"$TMPDIR/scrape")"
expect_match "how late its loops are" '^zood_loop_lag_seconds [0-9]' "$(<"$TMPDIR/scrape")"
expect_match "what zood asks of upstream for itself" '^zood_upstream_request_duration_seconds_count\{class="control"\} [1-9]' "$(<"$TMPDIR/scrape")"
expect_match "and where a request's time goes" '^zood_stage_seconds_count\{stage="upstream_first_byte"\} [1-9]' "$(<"$TMPDIR/scrape")"
unpack "$a"
trace=0af7651916cd43dd8448eb211c80319c
curl -s -o /dev/null --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" -H "traceparent: 00-$trace-b7ad6b7169203331-01" "https://$zood_address/api/v1/namespaces/default/configmaps/traced"
traced() { jq -e 'select(.name == "traced").traceId == "'$trace'"' "$zood_dir/audit/audit.log"; }
eventually "a client's trace stands in the audit log" 30 traced

# Who may ask.
admin() { curl -sS -o /dev/null -w '%{http_code}' --cacert "$TMPDIR/admin.ca" "$@" "https://$(ctl status -o json | jq -r .adminListen)/metrics"; }
"$KUBECTL" config view --raw --kubeconfig "$zood_dir/admin.kubeconfig" -o json >"$TMPDIR/admin.json"
for part in ca:'.clusters[0].cluster."certificate-authority-data"' crt:'.users[0].user."client-certificate-data"' key:'.users[0].user."client-key-data"'; do
  jq -r "${part#*:}" "$TMPDIR/admin.json" | base64 -d >"$TMPDIR/admin.${part%%:*}"
done
expect "an administrator's certificate" 200 "$(admin --cert "$TMPDIR/admin.crt" --key "$TMPDIR/admin.key")"
expect_no_match "nobody without one" '^200$' "$(admin 2>/dev/null)"
if ((EUID == 0)); then
  chmod 755 "$TMPDIR" 2>/dev/null
  expect_no_match "nor anybody at the socket" '^200$' "$(setpriv --reuid 65534 --regid 65534 --clear-groups curl -s -o /dev/null -w '%{http_code}' --unix-socket "$zood_dir/zood.sock" http://zood/metrics)"
fi
check_fails "at the tenants' door there is no such thing" 'not find|NotFound|forbidden' as "$a" get --raw /metrics
for id in "$a" "$b"; do check "$id goes" ctl tenant delete "$id" --wait; done
