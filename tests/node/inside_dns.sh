#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: translate upstream cli
# timeout: 400
# Names inside a tenant's pods are those of its own cluster: by the resolvers of glibc, musl and Go, from two namespaces, for two
# tenants with the same names.
. "$(dirname "$0")/lib.sh"

start_zood_for_pods
new_tenant a
new_tenant b
given_access "$a" "$b"
require "CoreDNS gets the rules that zooctl prints" tenants_names
serves() { # NAME MEMBERS
  pod "$1" "$tools" "$2" '{"ports": [{"name": "http", "containerPort": 8080}], "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1}}' -- /agnhost netexec --http-port=8080
}
database() {
  serves db '{}' | jq -c '{apiVersion: "apps/v1", kind: "StatefulSet", metadata: {name: "db"},
    spec: {replicas: 1, serviceName: "db", selector: {matchLabels: {app: "db"}}, template: {metadata: {labels: {app: "db"}}, spec: .spec}}}'
}
for id in "$a" "$b"; do
  check "a namespace of $id" as "$id" create namespace shop
  check "a client in another one" create "$id" "$(pod client "$tools" -- /agnhost pause)"
  # Not of the Service's name, which it would find in its own /etc/hosts.
  check "a server" as "$id" create -n shop -f - <<<"$(serves web '{}' | jq -c '.metadata.name = "server"')"
  check "its Service, with a port that has a name" as "$id" create -n shop -f - <<<'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}'
  check "one of that name in the client's namespace" as "$id" create service clusterip web --tcp=80:8080
  check "a StatefulSet" as "$id" create -n shop -f - <<<"$(database)"
  check "its Service, without an address" as "$id" create -n shop -f - <<<'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
    "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"name": "http", "port": 8080}]}}'
  check "a Service that is another name of it" as "$id" create service externalname else --external-name web.shop.svc.cluster.local
  check "and one that is a name outside" as "$id" create service externalname far --external-name www.example.com
done
for id in "$a" "$b"; do
  require "the client of $id runs" ready "$id" pod/client
  require "the server" ready "$id" -n shop pod/server
  require "the StatefulSet" as "$id" -n shop rollout status statefulset/db --timeout=90s
done
address() { as "$1" get -n "$2" service "$3" -o 'jsonpath={.spec.clusterIP}'; }
pod_address() { as "$1" get -n "$2" pod "$3" -o 'jsonpath={.status.podIP}'; }

# ---- the table of names, by each resolver
# by RESOLVER ID NAMESPACE POD NAME: its IPv4 addresses.
by() {
  case $1 in
    glibc) within "$2" "$3" "$4" sh -c "getent ahostsv4 $5 | awk '\$2 == \"STREAM\" { print \$1 }'" ;;
    musl) within "$2" "$3" "$4" lookup-musl "$5" ;;
    Go) within "$2" "$3" "$4" probe lookup "$5" ;;
  esac 2>&1
}
zood_inside=$(upstream -n zoo-system get service zood -o 'jsonpath={.spec.clusterIP}')
for id in "$a" "$b"; do
  near=$(address "$id" default web) far=$(address "$id" shop web) first=$(pod_address "$id" shop db-0)
  eventually "the addresses of $id are known to DNS" 60 says "$far" by Go "$id" default client web.shop
  eventually "those of its pods, too" 60 says "$first" by Go "$id" default client db-0.db.shop
  while read -r name wanted; do
    for resolver in glibc musl Go; do
      expect "$name, asked by $resolver" "$wanted" "$(by "$resolver" "$id" default client "$name")"
    done
  done <<N
web $near
web.default $near
web.shop $far
web.shop.svc $far
web.shop.svc.cluster.local $far
db.shop $first
db-0.db.shop $first
db-0.db.shop.svc $first
db-0.db.shop.svc.cluster.local $first
$(tr . - <<<"$first").shop.pod.cluster.local $first
WEB.Shop.SVC $far
kubernetes.default.svc $zood_inside
kubernetes.default $zood_inside
kubernetes $zood_inside
kubernetes.default.svc.cluster.local $zood_inside
else $far
far 192.0.2.7
www.example.com 192.0.2.7
N
  for resolver in glibc musl Go; do
    expect_match "a name that is not there, asked by $resolver" 'no such host|does not resolve|^$' "$(by "$resolver" "$id" default client nothing.shop.svc.cluster.local)"
    expect "the first name, asked from the namespace itself by $resolver" "$far" "$(by "$resolver" "$id" shop server web)"
  done
  expect "a name leads to the tenant's own server" server "$(inside "$id" client curl -s --max-time 10 http://web.shop.svc.cluster.local/hostname)"
  expect "the API server's name is one of its certificate" 200 "$(inside "$id" client sh -c \
    'curl -s -o /dev/null -w "%{http_code}" --cacert /var/run/secrets/kubernetes.io/serviceaccount/ca.crt -H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" https://kubernetes.default.svc/version')"
done
expect_no_match "two tenants do not get the same addresses" "$(address "$a" shop web)" "$(by Go "$b" default client web.shop.svc.cluster.local)"

# ---- SRV records, and what is shown in answers
zone=svc.cluster.local.$a.zoo.cluster.local.
expect "the port of a Service by its name" "80 web.shop.$zone" "$(within "$a" default client probe srv _http._tcp.web.shop.svc.cluster.local)"
expect "of a Service without an address" "8080 db-0.db.shop.$zone" "$(within "$a" default client probe srv _http._tcp.db.shop.svc.cluster.local)"
expect "whose target can be asked for as it is" "$(pod_address "$a" shop db-0)" "$(by Go "$a" default client "db-0.db.shop.$zone")"
expect_no_match "no answer has the prefix of the tenant's namespaces" "$a-" "$(within "$a" default client sh -c 'dig +search web.shop.svc; dig +search SRV _http._tcp.db.shop.svc; dig +search else')"
expect "TCP says the same" "$(address "$a" shop web)" "$(within "$a" default client dig +tcp +search +short web.shop)"

# ---- the cache keeps them apart
in_turn() { for _ in 1 2 3; do by musl "$a" default client web.shop.svc; by musl "$b" default client web.shop.svc; done | xargs; }
both="$(address "$a" shop web) $(address "$b" shop web)"
expect "asked in turn" "$both $both $both" "$(in_turn)"

# ---- pods' own settings
own='{"dnsConfig": {"nameservers": ["192.0.2.53"], "searches": ["example.com"], "options": [{"name": "ndots", "value": "2"}, {"name": "timeout", "value": "1"}]}}'
check "a pod with settings of its own" create "$a" "$(pod own "$tools" "$own" -- /agnhost pause)"
check "one that wants none of the cluster" create "$a" "$(pod plain "$tools" '{"dnsPolicy": "Default"}' -- /agnhost pause)"
require "they run" ready "$a" pod/own pod/plain
settings=$(inside "$a" own cat /etc/resolv.conf)
expect "the tenant's searches come first" "search default.svc.cluster.local.$a.zoo.cluster.local svc.cluster.local.$a.zoo.cluster.local cluster.local.$a.zoo.cluster.local $a.zoo.cluster.local example.com" "$(grep ^search <<<"$settings")"
expect "its own name server after the cluster's" "nameserver 10.0.0.10 nameserver 192.0.2.53" "$(grep ^nameserver <<<"$settings" | xargs)"
expect "its options, but for ndots" "ndots:7 timeout:1" "$(sed -n 's/^options //p' <<<"$settings" | tr ' ' '\n' | sort | xargs)"
expect "by it a name is found" 192.0.2.7 "$(by musl "$a" default own www)"
expect_no_match "the other one has no searches of a tenant" zoo "$(inside "$a" plain cat /etc/resolv.conf)"

# ---- the second layer: full names, for clients that do not search
before=$(upstream -n kube-system get configmap coredns -o 'jsonpath={.data.Corefile}')
absolute() { within "$1" default client dig +short "web.shop.svc.cluster.local." | tail -n 1; }
expect "without it a full name is none of the tenant's" "" "$(absolute "$a")"
# Where this cluster would ask for names outside, there is nobody but CoreDNS itself.
check "CoreDNS gets it" set_corefile "$(ctl dns corefile --second-layer | grep -v '^ *forward ')"$'\n'"$before"
for id in "$a" "$b"; do
  eventually "then a full name is the one of $id" 60 says "$(address "$id" shop web)" absolute "$id"
  expect "and the others are as they were" "$(address "$id" shop web)" "$(by musl "$id" default client web.shop.svc)"
done
check "CoreDNS is as it was" set_corefile "$before"

# ---- doctor, who does not reach the address of a Service from outside of the nodes
expect_match "doctor has looked at pods" "a pod in namespace .* would find zood" "$(ctl doctor)"
expect_match "and at names" "names inside pods: " "$(ctl doctor)"
