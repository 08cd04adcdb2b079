#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: relay app tenants translate gateway
# timeout: 1500
# Upstream calls tenants' webhooks through zood: they run in pods, make their certificates for the tenant's own names, and
# read and write in these. Where upstream does not reach the relay, and where a Tenant says so, it calls them itself.
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/functional/relay/pods.bash
. "$zoo_root/tests/functional/relay/pods.bash"
at_end() { end_hooks; }

hook_server hook.team.svc
pod_node
start_zood
new_tenant first
new_tenant second
for id in "$first" "$second"; do
  eventually "$id: its webhooks are called through the relay" 60 relayed "$id"
  require "$id: a namespace" as "$id" create namespace team
done
expect_match "doctor says so" "relay of webhooks.*calls tenants' webhooks through https://127.0.0.1:" "$(ctl doctor 2>&1)"
hook_pod "$first" team
door() { sed -n 's/.*the relay of webhooks listens on //p' "$zood_dir.log" | tail -n 1; }
at_upstream() { upstream get validatingwebhookconfiguration "$first-$1" -o json; }
metric() { curl -sSf --unix-socket "$zood_dir/zood.sock" http://zood/metrics | awk -v name="$1" '$1 == name { print $2 }'; }

count=0
configmap() { # ID [LABELS [ANNOTATIONS]]: a new one each time
  count=$((count + 1))
  as "$1" -n team create -f - <<<"{apiVersion: v1, kind: ConfigMap, metadata: {name: probe-$RANDOM-$count, labels: {${2:-plain: none}}, annotations: {${3:-}}}}"
}
says() { # TEXT COMMAND...: however it ends
  local wanted=$1 said
  shift
  said=$("$@" 2>&1)
  [[ $said =~ $wanted ]] || { echo "$said"; return 1; }
}

# ---- a webhook for the tenant's own names
check "register one" as "$first" create -f - <<<"$(hook_configuration ValidatingWebhookConfiguration mine /validate)"
expect_match "upstream calls the relay" "^https://$(door)/w/$first/" "$(at_upstream mine | jq -r '.webhooks[0].clientConfig.url')"
expect "what is read is what was written" "team hook" "$(as "$first" get validatingwebhookconfiguration mine -o 'jsonpath={.webhooks[0].clientConfig.service.namespace} {.webhooks[0].clientConfig.service.name}')"
eventually "it refuses, in the tenant's words" 30 says 'denied the request: refused in team' configmap "$first" "refuse: 'yes'"
expect_match "and lets others in, with its warning" 'Warning: seen in team' "$(configmap "$first" 2>&1)"
check "another tenant's are not its affair" configmap "$second" "refuse: 'yes'"
check "register one that notes what it is asked" as "$first" create -f - <<<"$(hook_configuration ValidatingWebhookConfiguration notes /review)"
notes() {
  configmap "$first" >/dev/null 2>&1
  grep -q '"kind":"AdmissionReview"' "$hook_calls"
}
eventually "it is asked" 30 notes
review=$(grep '"kind":"AdmissionReview"' "$hook_calls" | tail -n 1)
expect "the object is the tenant's" "team team" "$(jq -r '.request.namespace + " " + .request.object.metadata.namespace' <<<"$review")"
expect_no_match "nothing of the prefix is in it" "$first" "$review"
check "delete it" as "$first" delete validatingwebhookconfiguration notes

# ---- a mutating one
check "register a mutating one" as "$first" create -f - <<<"$(hook_configuration MutatingWebhookConfiguration changes /mutate)"
touched() { [[ $(configmap "$first" 2>/dev/null; as "$first" -n team get configmap -l touched=yes -o name | head -n 1) == *configmap/* ]]; }
eventually "what it adds is stored" 30 touched

# ---- tunnels are kept
opened=$(metric zood_relay_tunnels_opened_total)
for _ in {1..20}; do configmap "$first" >/dev/null 2>&1; done
expect "twenty more calls need no more tunnels" "$opened" "$(metric zood_relay_tunnels_opened_total)"
expect_match "and are counted" '^[1-9][0-9]*$' "$(metric 'zood_relay_calls_total{hook="validating",outcome="answered"}')"

# ---- webhooks that are no good
bad() { as "$first" apply -f - <<<"$(hook_configuration ValidatingWebhookConfiguration bad "$1" '{operations: [CREATE], apiGroups: [""], apiVersions: ["*"], resources: [secrets]}' 2)"; }
secret() { as "$first" -n team create secret generic "s-$RANDOM-$RANDOM" --dry-run=server; }
while IFS='|' read -r path words; do
  check "register $path" bad "$path"
  eventually "$path: upstream's refusal says why" 30 says "$words" secret
done <<'T'
/broken|hook.team.svc answered with status 500: it is broken
/other-uid|hook.team.svc: .*uid
/large|hook.team.svc: .*bytes
/hang|hook.team.svc: it gave no answer within [0-9]+ ms \(POST /hang\?timeout=2s: context deadline exceeded\)
/none|hook.team.svc answered with status 404
T
check "and go on" as "$first" delete validatingwebhookconfiguration bad

# ---- what is stored follows the Tenant, and where the relay is
set_webhooks() { ctl tenant get "$first" -o json | jq --arg how "$1" '.spec.webhooks = $how' | ctl tenant apply -f -; }
check "the platform wants it called directly" set_webhooks direct
eventually "the Tenant says so" 60 relayed "$first" False/Direct
expect "upstream calls the Service" "$first-team hook null" "$(at_upstream mine | jq -r '.webhooks[0].clientConfig | .service.namespace + " " + .service.name + " " + (.url | tostring)')"
expect "what is read is what was written" "team hook" "$(as "$first" get validatingwebhookconfiguration mine -o 'jsonpath={.webhooks[0].clientConfig.service.namespace} {.webhooks[0].clientConfig.service.name}')"
check "and through the relay again" set_webhooks relay
eventually "the Tenant says so" 60 relayed "$first"
eventually "it refuses again" 30 says 'denied the request: refused in team' configmap "$first" "refuse: 'yes'"
before=$(door)
stop_zood
expect_match "without zood nothing passes" 'failed calling webhook' "$(upstream -n "$first-team" create configmap "without-$RANDOM" 2>&1)"
start_zood
export_kubeconfig "$first" # its own door is at another port
expect "a start listens where upstream calls it" "$before" "$(door)"
eventually "and it refuses again" 30 says 'denied the request: refused in team' configmap "$first" "refuse: 'yes'"

# ---- without its pod
check "the pod goes" as "$first" -n team delete pod hook --grace-period 0 --force
eventually "upstream's refusal says why" 60 says 'no pod of Service hook is ready' configmap "$first"
note "a call: $(metric 'zood_relay_seconds_sum{hook="validating"}') s in $(metric 'zood_relay_seconds_count{hook="validating"}') calls"
check "delete tenant $first" ctl tenant delete "$first" --wait
stop_zood

# ---- where upstream does not reach it
zood_dir=$TMPDIR/other
start_zood_with 'relay: {advertise: "127.0.0.1:1"}'
new_tenant third
eventually "the Tenant says so" 60 relayed "$third" False/NotReachable
expect_match "and doctor why" 'relay of webhooks.*cannot call https://127.0.0.1:1: .*refused' "$(ctl doctor 2>&1)"
expect "nothing of the trials is left upstream" "" "$(upstream get validatingwebhookconfigurations -o name | grep "$(printf 'https://127.0.0.1:1' | sha256sum | cut -c1-8)")"
