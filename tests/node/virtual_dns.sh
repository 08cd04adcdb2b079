#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters
# timeout: 300
# Names in pods of a virtual cluster, by the CoreDNS that zood runs in it: Services, ports, pods of headless Services, and nothing of
# the upstream's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

at_end() {
  ctl cluster delete t1 --ignore-not-found --timeout 60s >/dev/null 2>&1
  end_keeper
}
# Pods ask the cluster's API server at an address of this machine that they reach.
zoo_clusters_listen=$machine:0
start_clusters
require "a cluster with both nodes" ctl cluster create t1 --node node-1 --node node-2
id=$(cluster_id t1)
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
is_there() { upstream get pods -n "$id-kube-system" -o name | says_line pod/coredns; }
eventually "CoreDNS is upstream" 60 is_there
has_address() { [[ $(upstream get service kube-dns -n "$id-kube-system" -o 'jsonpath={.spec.clusterIP}') == "$(as t1 -n kube-system get service kube-dns -o 'jsonpath={.spec.clusterIP}')" ]]; }
eventually "and its Service, at the address that it has in the cluster" 60 has_address
require "it runs" as t1 -n kube-system wait --for=condition=Available deployment/coredns --timeout=120s

serves() { # NAME MEMBERS
  pod "$1" "$tools" "$2" '{"ports": [{"name": "http", "containerPort": 8080}], "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1}}' -- /agnhost netexec --http-port=8080
}
check "a namespace" as t1 create namespace shop
check "a client" create t1 "$(pod client "$tools" -- /agnhost pause)"
check "a server" as t1 create -n shop -f - <<<"$(serves server '{}' | jq -c '.metadata.labels.app = "web"')"
check "its Service" as t1 create -n shop -f - <<<'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
  "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}'
check "a StatefulSet" as t1 create -n shop -f - <<<"$(serves db '{}' | jq -c '{apiVersion: "apps/v1", kind: "StatefulSet", metadata: {name: "db"},
  spec: {replicas: 1, serviceName: "db", selector: {matchLabels: {app: "db"}}, template: {metadata: {labels: {app: "db"}}, spec: .spec}}}')"
check "its Service, without an address" as t1 create -n shop -f - <<<'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
  "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"name": "http", "port": 8080}]}}'
require "the client runs" ready t1 pod/client
require "the server" ready t1 -n shop pod/server
require "the StatefulSet" as t1 -n shop rollout status statefulset/db --timeout=90s
web=$(as t1 -n shop get service web -o 'jsonpath={.spec.clusterIP}')
first=$(as t1 -n shop get pod db-0 -o 'jsonpath={.status.podIP}')
by() {
  case $1 in
    glibc) inside t1 client sh -c "getent ahostsv4 $2 | awk '\$2 == \"STREAM\" { print \$1 }'" ;;
    musl) inside t1 client lookup-musl "$2" ;;
    Go) inside t1 client probe lookup "$2" ;;
  esac 2>&1
}
eventually "names are known" 60 says "$web" by Go web.shop
eventually "those of pods, too" 60 says "$first" by Go db-0.db.shop
for resolver in glibc musl Go; do
  expect "a Service, asked by $resolver" "$web" "$(by "$resolver" web.shop.svc.cluster.local)"
  expect "a pod of a headless one, asked by $resolver" "$first" "$(by "$resolver" db-0.db.shop.svc)"
  expect_no_match "a Service of the upstream, asked by $resolver" '^10\.' "$(by "$resolver" metrics.kube-public.svc.cluster.local)"
done
# As kubelets write it: with the namespace that the pod has upstream.
full=$(as t1 -n shop exec db-0 -- awk '$3 == "db-0" { print $2 }' /etc/hosts)
expect "what a pod takes for its own full name" "db-0.db.$id-shop.svc.cluster.local" "$full"
for resolver in glibc musl Go; do expect "leads to it, asked by $resolver" "$first" "$(by "$resolver" "$full")"; done
expect "the port of a Service by its name" "80 web.shop.svc.cluster.local." "$(inside t1 client probe srv _http._tcp.web.shop.svc.cluster.local)"
expect "a name leads to the server" server "$(inside t1 client curl -s --max-time 10 http://web.shop.svc.cluster.local/hostname)"
expect "pods ask the cluster's DNS" "nameserver $(as t1 -n kube-system get service kube-dns -o 'jsonpath={.spec.clusterIP}')" "$(inside t1 client grep ^nameserver /etc/resolv.conf)"
