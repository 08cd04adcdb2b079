#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway translate upstream
# Answers that stay protobuf: one object, and lists of any length.
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/hostile/tools/stage.bash
. "$zoo_root/tests/hostile/tools/stage.bash"

cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
limits: {object: 1Mi}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
credentials "$TMPDIR/$a.kubeconfig" "$a"
ask() { # ACCEPT PATH: code and Content-Type; the answer is in $TMPDIR/body
  curl -s --max-time 20 --cacert "$TMPDIR/$a.ca" --cert "$TMPDIR/$a.crt" --key "$TMPDIR/$a.key" -H "Accept: $1" -o "$TMPDIR/body" \
    -w '%{http_code} %{content_type}' "https://$zood_address$2"
}
protobuf=application/vnd.kubernetes.protobuf
first="$protobuf,application/json"
maps=/api/v1/namespaces/default/configmaps
long=$(printf 'x%.0s' {1..30000})
for n in {10..49}; do printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"long-%d"},"data":{"a":"%s"}}\n---\n' "$n" "$long"; done >"$TMPDIR/maps.yaml"
check "forty objects of thirty kilobytes" as "$a" -n default create --validate=false -f "$TMPDIR/maps.yaml"

expect "one stays protobuf" "200 $protobuf" "$(ask "$first" $maps/long-10)"
expect "as Kubernetes writes it" k8s "$(head -c 3 "$TMPDIR/body")"
expect "its namespace is the tenant's" 0 "$(grep -c "$a-" "$TMPDIR/body")"
expect "JSON where it comes first" "200 application/json" "$(ask "application/json,$protobuf" $maps/long-10)"
expect "a short list stays protobuf" "200 $protobuf" "$(ask "$first" "$maps?limit=3")"
expect "its continue token is zood's" 0 "$(grep -c "$a-" "$TMPDIR/body")"
names() { strings -n 7 "$TMPDIR/body" | grep -oE '^long-[0-9]+' | sort -u | wc -l; }
expect "and so does one that is longer than an object may be" "200 $protobuf" "$(ask "$first" $maps)"
expect "which is whole" 40 "$(names)"
expect "and in the tenant's words" 0 "$(grep -c "$a-" "$TMPDIR/body")"
expect "for who takes nothing else as well" "200 $protobuf 40" "$(ask "$protobuf" $maps) $(names)"
expect "what is not there is told in JSON" "404 application/json" "$(ask "$first" $maps/absent)"
expect "in the tenant's words" 'configmaps "absent" not found' "$(jq -r .message "$TMPDIR/body")"
expect "the same without anything in between" "404 application/json" "$(ask "$protobuf" $maps/absent)"
for n in {1..12}; do ask "$first" $maps >"$TMPDIR/at-once.$n" & pids[n]=$!; done
wait "${pids[@]}"
expect "twelve at once" 12 "$(cat "$TMPDIR"/at-once.* | grep -o "200 $protobuf" | wc -l)"
metric() { curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk -v name="$1" 'index($1, name) == 1 { sum += $2 } END { print sum + 0 }'; }
nothing_held() { [[ $(metric zood_requests_inflight) == 0 && $(metric zood_buffered_bytes) == 0 ]]; }
eventually "nothing is left in flight" 30 nothing_held
check "delete the tenant" ctl tenant delete "$a"
