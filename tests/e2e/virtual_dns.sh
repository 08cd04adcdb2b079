#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: clusters common
# step: all
# timeout: 900
# DNS of a virtual cluster, on fake nodes: what zood deploys, how pods come to ask it, what its administrators change stays, and none of
# it where none is wanted. That names resolve is shown in tests/node/virtual_dns.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../functional/clusters/lib.bash"

own_upstream --nodes 1
at_end() { end_keeper; }
start_clusters "  coredns_image: registry.example/coredns:1"
admin=("$KUBECTL" --kubeconfig "$zood_dir/admin.kubeconfig")

require "a cluster with a share" ctl cluster create t1 --cpu 4 --memory 8Gi
eventually "has names" 60 condition_is t1 DNSDeployed "True Deployed"
id=$(cluster_id t1)
check "its kubeconfig" ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
system() { as t1 -n kube-system "$@"; }
check "CoreDNS runs in it" system wait --for=condition=Available deployment/coredns --timeout=90s
expect "of the image that zood is told" registry.example/coredns:1 "$(system get deployment coredns -o 'jsonpath={.spec.template.spec.containers[0].image}')"
expect "with a Corefile" 1 "$(system get configmap coredns -o 'jsonpath={.data.Corefile}' | grep -c 'kubernetes cluster.local')"
for what in "list services" "watch endpointslices.discovery.k8s.io" "list pods" "list namespaces"; do
  # shellcheck disable=SC2086 # a verb and a resource
  expect "and may $what" yes "$(as t1 auth can-i $what -A --as system:serviceaccount:kube-system:coredns)"
done
expect "not secrets" no "$(as t1 auth can-i list secrets -A --as system:serviceaccount:kube-system:coredns)"
dns=$(system get service kube-dns -o 'jsonpath={.spec.clusterIP}')
expect_match "its Service has an address" '^10\.' "$dns"

# ---- pods ------------------------------------------------------------------------------------------------------------

own=$(upstream get pods -n "$id-kube-system" -o json)
expect "CoreDNS itself asks its host, upstream" Default "$(jq -r '.items[0].spec.dnsPolicy' <<<"$own")"
as t1 apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: usual}
spec: {containers: [{name: c, image: registry.example/x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: more}
spec:
  dnsConfig: {nameservers: [192.0.2.1], searches: [corp.example], options: [{name: ndots, value: "2"}]}
  containers: [{name: c, image: registry.example/x}]
---
apiVersion: v1
kind: Pod
metadata: {name: hosts}
spec: {dnsPolicy: Default, containers: [{name: c, image: registry.example/x}]}
YAML
of() { upstream get pod -n "$id-default" "$1" -o json | jq -cS '.spec | {dnsPolicy, dnsConfig}'; }
there() { upstream get pod -n "$id-default" "$1"; }
for each in usual more hosts; do eventually "pod $each is upstream" 60 there "$each"; done
expect "a usual pod asks the cluster's DNS" \
  "{\"dnsConfig\":{\"nameservers\":[\"$dns\"],\"options\":[{\"name\":\"ndots\",\"value\":\"5\"}],\"searches\":[\"default.svc.cluster.local\",\"svc.cluster.local\",\"cluster.local\"]},\"dnsPolicy\":\"None\"}" \
  "$(of usual)"
expect "one with wishes of its own, too" \
  "{\"dnsConfig\":{\"nameservers\":[\"$dns\",\"192.0.2.1\"],\"options\":[{\"name\":\"ndots\",\"value\":\"2\"}],\"searches\":[\"default.svc.cluster.local\",\"svc.cluster.local\",\"cluster.local\",\"corp.example\"]},\"dnsPolicy\":\"None\"}" \
  "$(of more)"
expect "one that asks its host does so" '{"dnsConfig":null,"dnsPolicy":"Default"}' "$(of hosts)"
expect "in the cluster each says what it said" "ClusterFirst ClusterFirst Default" "$(for each in usual more hosts; do as t1 get pod "$each" -o 'jsonpath={.spec.dnsPolicy}{"\n"}'; done | paste -sd' ')"

# ---- what changes ------------------------------------------------------------------------------------------------------

check "an administrator scales it" system scale deployment coredns --replicas=2
check "and changes its Corefile" system patch configmap coredns --type merge -p '{"data":{"Corefile":".:53 {\n    whoami\n}\n"}}'
check "and deletes its account" system delete serviceaccount coredns
has_account() { system get serviceaccount coredns; }
eventually "what is gone comes back" 90 has_account
stop_zood
start_clusters "  coredns_image: registry.example/coredns:2"
ctl cluster connect t1 --kubeconfig-file "$TMPDIR/t1.kubeconfig"
image_is() { [[ $(system get deployment coredns -o 'jsonpath={.spec.template.spec.containers[0].image}') == "$1" ]]; }
eventually "another image is rolled out" 90 image_is registry.example/coredns:2
expect "what was scaled stays so" 2 "$(system get deployment coredns -o 'jsonpath={.spec.replicas}')"
expect "and what was changed" 1 "$(system get configmap coredns -o 'jsonpath={.data.Corefile}' | grep -c whoami)"
check "none is wanted any more" "${admin[@]}" patch virtualcluster t1 --type merge -p '{"spec":{"dns":"none"}}'
eventually "which it says" 60 condition_is t1 DNSDeployed "False NoneAsked"
gone() { [[ -z $(system get deployments,configmaps,serviceaccounts,services -l virtual-cluster/dns -o name) ]]; }
eventually "and all of it goes" 60 gone
check "its rights, too" as t1 wait --for=delete clusterrolebinding/system:coredns --timeout=30s
forgotten() {
  as t1 delete pod late --ignore-not-found --grace-period=0 --force >/dev/null 2>&1
  as t1 run late --image=registry.example/x >/dev/null
  upstream wait --for=create "pod/late" -n "$id-default" --timeout=20s >/dev/null && [[ $(of late) == '{"dnsConfig":null,"dnsPolicy":"Default"}' ]]
}
eventually "a pod in it asks its host then, never the upstream's DNS" 90 forgotten
check "a Service of the administrator's own under that name" system create service clusterip kube-dns --tcp=53:53
check "and zood's is wanted again" "${admin[@]}" patch virtualcluster t1 --type merge -p '{"spec":{"dns":"coredns"}}'
eventually "which stays away from what is not its own" 60 condition_is t1 DNSDeployed "False NameTaken"
expect_no_match "it is not touched" virtual-cluster "$(system get service kube-dns -o yaml)"
check_fails "another word is refused" 'spec.dns: must be coredns or none' "${admin[@]}" patch virtualcluster t1 --type merge -p '{"spec":{"dns":"bind"}}'
require "a cluster that asks for nothing" ctl cluster create t2
eventually "has no DNS, where nothing runs" 60 condition_is t2 DNSDeployed "False NoneAsked"
check "both go" ctl cluster delete t1 t2 --timeout 120s
