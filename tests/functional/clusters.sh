#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters keeper net cli app packaging
# timeout: 600
# Virtual clusters at the admin API and by zooctl: a control plane of one's own, the doors to it, what is killed comes back
# and costs nobody else a process, sleep, certificates, and its end.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/clusters/lib.bash"
at_end() { end_keeper; }

start_clusters

# ---- a control plane of one's own ----------------------------------------------------------------------------------

expect_match "creating one says how long it took" '^virtualcluster/t1 is Initialized \([0-9.]+ s\)' \
  "$(ctl cluster create t1 --node node1 --node node2 --cpu 10 --memory 100Gi --resource nvidia.com/gpu=2 2>&1)"
require "its kubeconfig works from that second on" in_cluster t1 create namespace mine
check "its controllers work: the namespace has its account" in_cluster t1 wait --for=create serviceaccount/default -n mine --timeout=30s
expect "its user is cluster-admin" yes "$(in_cluster t1 auth can-i '*' '*')"
expect_match "without being system:masters" 'zoo:cluster-admins:1:[0-9a-f]{32}"' "$(in_cluster t1 auth whoami -o json)"
expect "it has no nodes, for upstream has none of these names" "" "$(in_cluster t1 get nodes -o name)"
nodes_told() { [[ $(field t1 '.status.conditions[] | select(.type == "NodesReady") | "\(.status) \(.reason)"') == "False NodeNotFound" ]]; }
eventually "and its conditions say so" 60 nodes_told
expect "shares of other resources are kept" 2 "$(field t1 '.spec.promoteResources.resources["nvidia.com/gpu"]')"
expect_match "the list shows it" '^t1 +[a-z0-9]{6} +Initialized +[0-9.]+ +node1,node2 +10 +100Gi ' "$(ctl cluster list)"
expect "its files are zood's alone" 700 "$(stat -c %a "$zood_dir/clusters/$(cluster_id t1)")"
expect "each of its keys is" "" "$(find "$zood_dir/clusters/$(cluster_id t1)/pki" -type f ! -perm 600)"
id=$(cluster_id t1)

admin=("$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig")
start_secret() { "${admin[@]}" get --raw "/apis/kosmos.io/v1alpha1/namespaces/default/virtualclusters/t1" | jq -r .spec.kubeconfig; }
secret=$(start_secret)
expect_match "GET of one shows the kubeconfig" '^[A-Za-z0-9+/=]{1000,}$' "$secret"
expect "a list does not" null "$("${admin[@]}" get --raw /apis/kosmos.io/v1alpha1/virtualclusters | jq -r '.items[0].spec.kubeconfig')"
expect "nor zooctl" null "$(field t1 .spec.kubeconfig)"
expect_no_match "nor zood's log" "${secret:100:60}" "$(cat "$zood_dir.log")"
"${admin[@]}" get virtualcluster t1 -o yaml >"$TMPDIR/t1.yaml"
check "applying it as it is shown changes nothing" "${admin[@]}" apply -f "$TMPDIR/t1.yaml"
expect_no_match "nor keeps it" 'kubeconfig"?:' "$("${admin[@]}" get virtualclusters -o yaml)"
check "kubectl applies the proposal's object" "${admin[@]}" apply -f - <<YAML
apiVersion: kosmos.io/v1alpha1
kind: VirtualCluster
metadata: {name: t1, namespace: default}
spec:
  kubeconfig: XXXXXX
  promoteResources:
    nodes: [node1, node2]
    resources: {cpu: 10, memory: 100Gi, nvidia.com/gpu: 2}
YAML
expect "and the kubeconfig is still there" "$secret" "$(start_secret)"
expect "the phase stays" Initialized "$(field t1 .status.phase)"
check_status "a name that is taken" 5 ctl cluster create t1
check_fails "is told what to do" 'zooctl cluster connect t1' ctl cluster create t1
check_fails "a name that is not there" "did you mean 't1'" ctl cluster describe t2
check_fails "a version that is not there" 'Kubernetes 1.2.3 is not in clusters.binaries' \
  ctl cluster create old --kubernetes 1.2.3 --timeout 1s
check "which goes again" ctl cluster delete old
check_fails "a limit of nothing" 'say what it may have' ctl cluster limit t1
check_fails "one that is none" 'spec.limits.nodePorts must be a number of 0 to 10000' ctl cluster limit t1 --node-ports 20000
check "so many Services" ctl cluster limit t1 --services 7
expect "stand in its spec" 7 "$(field t1 .spec.limits.services)"
check_fails "a share that is none" 'must be a quantity' ctl cluster create bad --cpu much
check_fails "its record stays with the zood that has its processes" 'virtual clusters, .default/t1. for one.*not moved to etcd' \
  ctl store migrate --dry-run --to <(echo 'store: {driver: etcd, etcd: {endpoints: ["http://127.0.0.1:1"]}}')
expect_match "the log of a component" 'etcd|level|{' "$(ctl cluster logs t1 etcd --tail 5 2>&1; echo '{')"
expect_match "doctor knows it" '1 of 1 are as they should be' "$(ctl doctor -o json | jq -r '.findings[].message')"
expect_match "and metrics count it" 'zood_virtual_clusters\{phase="Initialized"\} 1' "$(curl -s --unix-socket "$zood_dir/zood.sock" http://zood/metrics)"

# ---- two in one namespace do not meet --------------------------------------------------------------------------------

require "a second one" ctl cluster create t2
expect "has nothing of the first" "" "$(in_cluster t2 get namespace mine -o name --ignore-not-found)"
check "connects by kubeconfig file" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
check "and the other" ctl cluster connect t2 --kubeconfig-file "$TMPDIR/t2.kubeconfig"
unpack t1
unpack t2
name_of() { ctl cluster get "$1" -o json | jq -r .status.serverName; }
# at NAME CERTIFICATE-OF [CURL'S OPTIONS]: the status code of a request by server name.
at() {
  curl -s -o /dev/null -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/$1.ca" --cert "$TMPDIR/$2.crt" --key "$TMPDIR/$2.key" \
    --connect-to "::$zood_address" "https://$(name_of "$1")/api/v1/namespaces" "${@:3}"
}
expect "by its name one reaches the first" 200 "$(at t1 t1)"
expect "the second's certificate is nobody there" 401 "$(at t1 t2)"
token=$(in_cluster t2 create token default)
expect "nor is the second's token" 401 \
  "$(curl -s -o /dev/null -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/t1.ca" -H "Authorization: Bearer $token" \
    --connect-to "::$zood_address" "https://$(name_of t1)/api/v1/namespaces")"
expect_match "each shows the certificate of its own authority" "$(cluster_id t2)-ca" \
  "$(openssl s_client -connect "$zood_address" -servername "$(name_of t2)" </dev/null 2>/dev/null | openssl x509 -noout -issuer)"
expect_match "a name of nobody is refused" 'unrecognized.name' \
  "$(openssl s_client -connect "$zood_address" -servername zzzzzz.vc.zood.internal </dev/null 2>&1)"
expect_match "other names are zood's own" 'zood' \
  "$(openssl s_client -connect "$zood_address" -servername example.com </dev/null 2>/dev/null | openssl x509 -noout -issuer)"
direct=$(field t1 .status.directServer)
expect "without a name there is the direct port" 200 \
  "$(curl -s -o /dev/null -w '%{http_code}' --max-time 20 --cacert "$TMPDIR/t1.ca" --cert "$TMPDIR/t1.crt" --key "$TMPDIR/t1.key" "$direct/api/v1/namespaces")"
check "whose kubeconfig connect prints" "$KUBECTL" --kubeconfig <(ctl cluster connect --direct --print t1) get namespaces
expect "a watch goes through" ADDED "$(at_watch() {
  curl -sN --max-time 5 --cacert "$TMPDIR/t1.ca" --cert "$TMPDIR/t1.crt" --key "$TMPDIR/t1.key" \
    "$direct/api/v1/namespaces?watch=1&resourceVersion=0&timeoutSeconds=2"
}; at_watch | jq -r .type | sort -u)"

# ---- what is killed comes back, and nothing else -------------------------------------------------------------------

before=$(component_pids t1) before_t2=$(component_pids t2)
kill -KILL "$(component_pid t1 kube-apiserver)"
restarted() { [[ $(field t1 '.status.components[] | select(.name == "kube-apiserver") | .restarts') == 1 ]]; }
eventually "an API server that is killed is started again" 30 restarted
eventually "and serves" 60 in_cluster t1 get namespace mine
expect "the others of its cluster run on" "$(grep -v apiserver <<<"$before")" "$(component_pids t1 | grep -v apiserver)"
expect "and those of the other one" "$before_t2" "$(component_pids t2)"
before=$(component_pids t1)
stop_zood KILL
expect "without zood they run" "" "$(while read -r _ pid; do [[ -d /proc/$pid ]] || echo "$pid"; done <<<"$before")"
start_clusters
expect "a zood that comes finds them" "$before" "$(component_pids t1)"
eventually "and lets clients to them" 30 in_cluster t1 get namespace mine
keeper=$(keeper_pid)
kill -KILL "$keeper"
another_keeper() { [[ $(keeper_pid) != "$keeper" ]] && component_pids t1 | says_line etcd; }
eventually "a keeper that is killed is started again" 30 another_keeper
same_processes() { [[ $(component_pids t1) == "$before" ]]; }
eventually "with the processes that run" 30 same_processes
etcd=$(component_pid t1 etcd)
kill -KILL "$etcd"
another_etcd() { [[ $(component_pid t1 etcd) != "$etcd" && $(component_pid t1 etcd) -gt 1 ]]; }
eventually "which it supervises" 30 another_etcd
eventually "nothing is lost" 60 in_cluster t1 get namespace mine

# ---- pause, sleep, wake ---------------------------------------------------------------------------------------------

check "pause stops it" ctl cluster pause t1
expect "all of it" "" "$(processes_in "$zood_dir/clusters/$id")"
check_fails "nobody gets in" 'unrecognized name|connection|EOF|handshake' in_cluster t1 get namespaces --request-timeout=5s
check "resume starts it" ctl cluster resume t1
check "with all that was there" in_cluster t1 get namespace mine
check "a short sleep is set" "${admin[@]}" patch virtualcluster t2 --type merge -p '{"spec":{"sleep":{"after":"2s"}}}'
eventually "it falls asleep when nobody is connected" 60 phase_is t2 Paused
expect "for that reason" Asleep "$(field t2 .status.reason)"
check "resume wakes it, too" ctl cluster resume t2
eventually "until it sleeps again" 60 phase_is t2 Paused
check "it is paused while it sleeps" ctl cluster pause t2
is_paused() { [[ $(field t2 .status.reason) == Paused ]]; }
eventually "which zood has seen" 30 is_paused
check "and resumed, which starts it" ctl cluster resume t2
eventually "once more it sleeps" 60 phase_is t2 Paused
check "and is longer awake from then on" "${admin[@]}" patch virtualcluster t2 --type merge -p '{"spec":{"sleep":{"after":"1h"}}}'
# The connection that wakes it waits for nine seconds; on a machine that is busy the next one is answered.
is_answered() { [[ $(at t2 t2) == 200 ]]; }
eventually "a connection wakes it, and is answered" 60 is_answered
expect "it is Initialized again" Initialized "$(eventually "t2 is back" 30 phase_is t2 Initialized >/dev/null; field t2 .status.phase)"

check "a cluster is paused" ctl cluster pause t2
mv "$zood_dir/clusters/$(cluster_id t2)" "$TMPDIR/away"
check "and wished to run again" ctl cluster resume t2 --no-wait
lost() { [[ $(field t2 '.status.conditions[] | select(.type == "ControlPlaneReady") | .reason') == DataLost ]]; }
eventually "without its data it is not started empty" 30 lost
mv "$TMPDIR/away" "$zood_dir/clusters/$(cluster_id t2)"
eventually "and runs when they are back" 60 phase_is t2 Initialized

# ---- certificates ---------------------------------------------------------------------------------------------------

check "its certificates are good" ctl cluster certs check t1
serial() { openssl x509 -noout -serial -in "$zood_dir/clusters/$id/pki/$1.crt"; }
old=$(serial apiserver) pids=$(component_pids t1)
check "they are made anew" ctl cluster certs rotate t1
expect "each is another one" other "$([[ $old != "$(serial apiserver)" ]] && echo other)"
shown() { openssl s_client -connect "$zood_address" -servername "$(name_of t1)" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
new_is_shown() { [[ $(shown) == "$(serial apiserver)" ]]; }
eventually "the API server shows it" 90 new_is_shown
expect "without a restart" "$pids" "$(component_pids t1)"
expect "what was handed out works on" 200 "$(at t1 t1)"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$TMPDIR/later.key" -out "$TMPDIR/later.csr" \
  -subj /O=zoo:cluster-admins:2/CN=later 2>/dev/null
check "its administrator asks for a certificate of a group to come" in_cluster t1 create -f - <<YAML
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: later}
spec: {request: $(base64 -w0 <"$TMPDIR/later.csr"), signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}
YAML
check "and approves of it" in_cluster t1 certificate approve later
later_is_signed() { in_cluster t1 get csr later -o 'jsonpath={.status.certificate}' | base64 -d >"$TMPDIR/later.crt" && [[ -s $TMPDIR/later.crt ]]; }
eventually "and has it" 30 later_is_signed
check "revoking takes it back" ctl cluster certs revoke t1
expect "from that second on" 403 "$(at t1 t1)"
expect "and nobody is in the next group beforehand" 403 "$(at t1 later)"
check "and hands out another" in_cluster t1 get namespaces

# ---- a full bastion ------------------------------------------------------------------------------------------------

stop_zood
start_clusters "  memory_reserve: 100000Gi"
check_fails "a full machine is told with numbers" '[0-9]+ MiB of memory are free' ctl cluster create full --timeout 1s
expect "and waited for" "Pending BastionFull" "$(field full '"\(.status.phase) \(.status.reason)"')"
check "what runs, runs on" in_cluster t1 get namespaces
stop_zood
start_clusters "  disk_reserve: 100000Gi"
disk_is_told() { [[ $(field full .status.message) =~ ^[0-9]+\ MiB\ of\ disk\ are\ free ]]; }
eventually "a full disk, too" 30 disk_is_told
check "what runs, runs on" in_cluster t1 get namespaces
expect "etcd has its quota" yes "$(tr '\0' '\n' <"/proc/$(component_pid t1 etcd)/cmdline" | says_line -xF -- --quota-backend-bytes=536870912 && echo yes)"
stop_zood
start_clusters
eventually "until there is room" 60 phase_is full Initialized

# ---- the end -------------------------------------------------------------------------------------------------------

check "all go" ctl cluster delete t1 t2 full
expect "with their processes" "" "$(processes_in "$zood_dir/clusters")"
expect "their files" "" "$(find "$zood_dir/clusters" -mindepth 1 -maxdepth 1 -type d)"
expect "and their ports" refused "$(curl -s --max-time 5 -k "$direct/readyz" >/dev/null || echo refused)"
require "the same name" ctl cluster create t1
expect "comes back as another" other "$([[ $(cluster_id t1) != "$id" ]] && echo other)"
expect "with nothing in it" "" "$(in_cluster t1 get namespace mine -o name --ignore-not-found)"
check "and goes" ctl cluster delete t1
