#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: gateway tenants admin common
# step: verify
# timeout: 600
# What a tenant may not write, how much it may store, and how much it may ask at the same time: guards, ceilings, flow.
. "$(dirname "$0")/../e2e/lib.sh"

cat >"$TMPDIR/zood.yaml" <<YAML
dir: $zood_dir
upstream: {kubeconfig: $ZOO_E2E_KUBECONFIG}
admin: {listen: "127.0.0.1:0"}
YAML
start_zood --config "$TMPDIR/zood.yaml"
new_tenant a
new_tenant b
admin() { "$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig" "$@"; }
terms() { admin patch tenant "$a" --type merge -p "$1"; } # JSON
# used WHAT: of the tenant, as zooctl top knows it.
used() { ctl top "$a" -o json | jq -r ".items[0].usage.quota[\"$1\"].used"; }
make() { as "$a" create -f - <<<"$1"; }

# ---- ceilings -----------------------------------------------------------------------------------------------------

require "ceilings" terms '{"spec":{"quota":{"namespaces":3,"customresourcedefinitions":1,"webhooks":1,"policies":"1","services.nodeports":2,"services.loadbalancers":0}}}'
check_fails "a ceiling that does not exist" "spec.quota.namespace: unknown field, did you mean 'namespaces'" terms '{"spec":{"quota":{"namespace":3}}}'
makers=()
for ((i = 0; i < 10; ++i)); do
  as "$a" create namespace "team$i" >"$TMPDIR/team$i.out" 2>&1 &
  makers+=($!)
done
wait "${makers[@]}"
expect "of ten namespaces at once exactly three are made" 3 "$(grep -l 'created' "$TMPDIR"/team?.out | wc -l)"
expect "which upstream says too" 5 "$(upstream get namespaces -o name | grep -c "/$a-")"
check_fails "the others are refused in the words of a quota" 'namespaces "more" is forbidden: exceeded quota: tenant, requested: namespaces=1, used: namespaces=3, limited: namespaces=3' \
  as "$a" create namespace more
check "not by an apply of one that is there" bash -c "'$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' get ns $(grep -l created "$TMPDIR"/team?.out | head -1 | sed 's/.*\/\(team.\).out/\1/') -o yaml | '$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' apply --server-side --force-conflicts -f - 2>&1"
check_fails "but of another one" 'exceeded quota' as "$a" apply --server-side -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"more"}}'
check_fails "a dry run is told as well" 'exceeded quota' as "$a" create namespace more --dry-run=server
expect_match "zooctl top shows it" " 3/3 " "$(ctl top "$a")"
expect "and its status" '3/3' "$(admin get tenant "$a" -o jsonpath='{.status.usage.quota.namespaces.used}/{.status.usage.quota.namespaces.limit}')"
check "a neighbour notices nothing" as "$b" create namespace more
gone=$(as "$a" get namespaces -o name | grep team | head -1)
check "one of them goes" as "$a" delete "$gone" --wait
eventually "and there is room again" 30 as "$a" create namespace more

definition() { # PLURAL
  cat <<JSON
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"$1.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
 "names":{"plural":"$1","singular":"${1%s}","kind":"${1^}"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}
JSON
}
check "one definition" make "$(definition ones)"
check_fails "but not two" 'exceeded quota: tenant, requested: customresourcedefinitions=1' make "$(definition twos)"
webhooks() { # KIND NAME
  echo '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"'"$1"'WebhookConfiguration","metadata":{"name":"'"$2"'"},"webhooks":['"${3:-}"']}'
}
check "one configuration of webhooks" make "$(webhooks Validating one)"
check_fails "both kinds are counted together" 'requested: webhooks=1, used: webhooks=1' make "$(webhooks Mutating two)"
check_fails "a namespace of a webhook's Service is a name" 'must be the name of a namespace' \
  as "$a" replace -f - <<<"$(webhooks Validating one '{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"../x","name":"y"}},"rules":[]}')"

service() { # NAME TYPE PORTS...
  local name=$1 type=$2 ports='' port
  shift 2
  for port; do ports+="{\"name\":\"p$port\",\"port\":$port},"; done
  echo '{"apiVersion":"v1","kind":"Service","metadata":{"name":"'"$name"'","namespace":"default"},"spec":{"type":"'"$type"'","ports":['"${ports%,}"']}}'
}
check "two node ports" make "$(service nodes NodePort 1 2)"
check_fails "but not three" 'requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2' make "$(service third NodePort 3)"
check "what is there may be changed" as "$a" annotate service nodes a=b
check "a Service of the cluster alone" make "$(service inside ClusterIP 4)"
check_fails "is no way around, by a patch" 'exceeded quota' as "$a" patch service inside -p '{"spec":{"type":"NodePort"}}'
check_fails "nor by an update" 'exceeded quota' as "$a" replace -f - <<<"$(service inside NodePort 4)"
check_fails "no load balancer" 'services.loadbalancers=1' make "$(service outside LoadBalancer 5)"
require "one load balancer" terms '{"spec":{"quota":{"services.loadbalancers":1}}}'
eventually "is heard" 30 bash -c "'$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' top '$a' -o json | jq -e '.items[0].usage.quota[\"services.loadbalancers\"].limit == 1'"
allocates() { service outside LoadBalancer 5 | sed 's/"type"/"allocateLoadBalancerNodePorts":'"$1"',"type"/'; }
check_fails "none with ports" 'exceeded quota: tenant, requested: services.nodeports=1' make "$(allocates true)"
check_fails "null asks for them too" 'exceeded quota: tenant, requested: services.nodeports=1' make "$(allocates null)"
check "but without" make "$(allocates false)"
check "it goes" as "$a" delete service outside
check "the ports go" as "$a" delete service nodes
eventually "and others come" 30 as "$a" patch service inside -p '{"spec":{"type":"NodePort"}}'

require "a ceiling on all objects" terms '{"spec":{"quota":{"objects":100000,"bytes":"1Gi"}}}'
eventually "counts them" 30 bash -c "'$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' create configmap c\$RANDOM\$RANDOM && '$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' top '$a' -o json | jq -e '.items[0].usage.quota.objects.used > 10'"
has=$(used objects)
require "two more" terms '{"spec":{"quota":{"objects":'$((has + 2))',"bytes":null}}}'
eventually "is heard" 30 bash -c "'$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' top '$a' -o json | jq -e '.items[0].usage.quota.objects.limit == $((has + 2))'"
for name in first second third; do as "$a" create configmap "$name" >"$TMPDIR/$name.out" 2>&1; done
expect_match "the first is made" created "$(cat "$TMPDIR/first.out")"
check_fails "the last is not" 'exceeded quota: tenant, requested: objects=1' as "$a" create configmap fourth
# Bytes: what is stored is more than what was sent, by what upstream adds to it (docs/decisions/121).
require "a ceiling on bytes" terms '{"spec":{"quota":{"objects":null,"bytes":"1Gi"}}}'
eventually "counts them" 30 bash -c "'$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' create configmap c\$RANDOM\$RANDOM && '$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' top '$a' -o json | jq -e '.items[0].usage.quota.bytes.used > 1000'"
has=$(used bytes)
require "room for five bodies, not six" terms '{"spec":{"quota":{"bytes":'$((has + 60000))'}}}'
eventually "is heard" 30 bash -c "'$ZOO_BUILD/bin/zooctl' --dir '$zood_dir' top '$a' -o json | jq -e '.items[0].usage.quota.bytes.limit == $((has + 60000))'"
jq -n --arg text "$(head -c 10000 /dev/zero | tr '\0' x)" '{apiVersion: "v1", kind: "ConfigMap", metadata: {namespace: "default", generateName: "body-"}, data: {text: $text}}' >"$TMPDIR/body.json"
makers=()
for ((i = 0; i < 20; ++i)); do
  as "$a" create -f "$TMPDIR/body.json" >"$TMPDIR/body$i.out" 2>&1 &
  makers+=($!)
done
wait "${makers[@]}"
expect "of twenty at once five are made" "5 created 15 exceeded quota" "$(grep -ho 'created\|exceeded quota' "$TMPDIR"/body?.out "$TMPDIR"/body1?.out | sort | uniq -c | sed 's/^ *//' | xargs)"
stored=$(as "$a" get configmaps -o json --show-managed-fields | jq '[.items[] | select(.metadata.name | startswith("body-")) | tojson | length] | add')
if ((stored > 50000 && stored < 60000)); then passed "which are $stored bytes"; else failed "they are below the ceiling" <<<"$stored"; fi
require "without ceilings" terms '{"spec":{"quota":null}}'

# ---- guards -------------------------------------------------------------------------------------------------------

pod='{"apiVersion":"v1","kind":"Pod","metadata":{"name":"placed","namespace":"default"},"spec":{"nodeName":"kwok-1","containers":[{"name":"c","image":"none"}]}}'
check_fails "a pod past the scheduler" 'spec.nodeName goes past the scheduler: use a nodeSelector or an affinity \(rule guards.node_names' make "$pod"
check_fails "by an apply" 'guards.node_names' as "$a" apply --server-side -f - <<<"$pod"
check "a deployment" as "$a" create deployment web --image=none
check_fails "gets no node by a patch of its template" 'guards.node_names' as "$a" patch deployment web --type json -p '[{"op":"add","path":"/spec/template/spec/nodeName","value":"kwok-1"}]'
check_fails "a volume of anybody's" 'guards.volume_drivers' make '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":"disk.example.com","volumeHandle":"h"}}}'
check_fails "the platform's priority" "priorityClassName \"system-node-critical\" is the platform's" make '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"high","namespace":"default"},"spec":{"priorityClassName":"system-node-critical","containers":[{"name":"c","image":"none"}]}}'
require "other terms" terms '{"spec":{"guards":{"nodeNames":true,"volumeDrivers":["disk.example.com"],"ingressHosts":["*.{tenant}.example.com"],"priority":100,"endpoints":false}}}'
eventually "let it place pods" 30 make "$pod"
eventually "and clients send back what they read" 30 bash -c "'$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' get pod placed -o json | jq '.metadata.labels.x=\"y\"' | '$KUBECTL' --kubeconfig '$TMPDIR/$a.kubeconfig' replace -f -"
check "a volume of that driver" make '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":"disk.example.com","volumeHandle":"h"}}}'
check "goes again" as "$a" delete pv v
ingress() { echo '{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i","namespace":"default"},"spec":{"rules":[{"host":"'"$1"'","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":1}}}}]}}]}}'; }
check_fails "a host of somebody else's" 'guards.ingress_hosts' make "$(ingress www.example.com)"
check "its own host" make "$(ingress "www.$a.example.com")"
check_fails "and it stays so" 'guards.ingress_hosts' as "$a" patch ingress i --type json -p '[{"op":"replace","path":"/spec/rules/0/host","value":"www.example.com"}]'
check_fails "a priority above its highest" 'value 101 is above 100' make '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"p"},"value":101}'
check_fails "endpoints by hand" 'guards.endpoints' make '{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"e","namespace":"default"},"subsets":[]}'

# ---- flow ---------------------------------------------------------------------------------------------------------

check_fails "a share that is none" 'spec.flow.weight: must be from 1' terms '{"spec":{"flow":{"weight":0}}}'
unpack "$a"
unpack "$b"
ask() { # TENANT PATH CURL'S ARGUMENTS...
  local who=$1 path=$2
  shift 2
  curl -sS --http1.1 --max-time 120 --cacert "$TMPDIR/$who.ca" --cert "$TMPDIR/$who.crt" --key "$TMPDIR/$who.key" "$@" "https://$zood_address$path"
}
require "KubeZoo's annotation" admin annotate tenant "$a" tce.kubezoo/max-requests-inflight=1
mkfifo "$TMPDIR/body"
ask "$a" /api/v1/namespaces/default/configmaps -X POST -H 'Content-Type: application/json' -T - <"$TMPDIR/body" >"$TMPDIR/slow.out" 2>&1 &
slow=$!
exec 9>"$TMPDIR/body" # a request whose body does not end holds the tenant's one place
held() { [[ $(ctl top "$a" -o json | jq '.items[0].usage.flow.requestsInflight.used') == 1 ]]; }
eventually "a request that waits for its body has a place" 30 held
full() { ask "$a" /api/v1/pods -i | tr -d '\r' >"$TMPDIR/full.out" && grep -q '^HTTP/1.1 429' "$TMPDIR/full.out"; }
eventually "the tenant's one place is taken" 30 full
expect_match "it is told when to come again" '^retry-after: 1$' "$(cat "$TMPDIR/full.out")"
expect_match "and why" '1 requests in flight, its limit; try again.*"reason":"TooManyRequests"' "$(cat "$TMPDIR/full.out")"
expect "its neighbour is served" 200 "$(ask "$b" /api/v1/pods -o /dev/null -w '%{http_code}')"
expect "zooctl top counts the refusals" true "$(ctl top "$a" -o json | jq '.items[0].usage.flow | .refused > 0 and .requestsInflight.limit == 1')"
exec 9>&-
wait "$slow"
check "and the place is given back" as "$a" get pods
require "the share of watches" admin patch tenant "$a" --type merge -p '{"metadata":{"annotations":{"tce.kubezoo/max-requests-inflight":null}},"spec":{"flow":{"maxLongRunning":1,"maxMutationsInflight":0}}}'
ask "$a" '/api/v1/namespaces?watch=1&resourceVersion=0' -N >"$TMPDIR/watch.out" 2>&1 &
watch=$!
eventually "one" 30 grep -q ADDED "$TMPDIR/watch.out"
expect_match "but not two" '1 watches, logs and tunnels open, its limit' "$(ask "$a" '/api/v1/configmaps?watch=1')"
kill "$watch"
wait "$watch" 2>/dev/null
expect_match "no writes" '0 writes in flight, its limit' "$(ask "$a" /api/v1/namespaces/default/configmaps -X POST -H 'Content-Type: application/json' -d '{}')"
require "bytes" terms '{"spec":{"flow":{"maxMutationsInflight":null,"maxBufferedBytes":"1Ki"}}}'
head -c 2000 /dev/zero | tr '\0' ' ' >"$TMPDIR/large"
eventually "that are held" 30 bash -c "curl -sS --cacert '$TMPDIR/$a.ca' --cert '$TMPDIR/$a.crt' --key '$TMPDIR/$a.key' -X POST -H 'Content-Type: application/json' --data-binary @'$TMPDIR/large' 'https://$zood_address/api/v1/namespaces/default/configmaps' | grep -q 'bodies of this tenant.s requests, and answers .*, have 1024 bytes together'"

# Places of all tenants together: the one that is taken is another tenant's, and the queue is short.
printf 'limits: {total_inflight: 1, queue: 0, queue_wait: 100ms}\n' >>"$TMPDIR/zood.yaml"
check "a little place for all" kill -HUP "${zood_pids[$zood_dir]}"
eventually "is still enough" 30 as "$b" get pods
check "one tenant goes" ctl tenant delete "$a" --wait
check "and the other" ctl tenant delete "$b" --wait
