# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: classes of its own that name the platform's provisioners, drivers, ingress controllers and container runtimes, and the
#   capacity of a shared class: the provisioner makes a volume of any directory of a node, the controller serves others' hosts, a
#   pod leaves the sandbox that is the nodes' default. And the old annotation of an Ingress, for a class that is not shared.
# Without the fence: a provisioner obeys each class that names it, whoever made it (CVE-2025-62878).
# Rule: whoever acts for a tenant's own class is stored as zoo-inert-NAME, which nobody is; its capacities are of its own classes.
storage=/apis/storage.k8s.io/v1
net=/apis/networking.k8s.io/v1
class='{"metadata":{"name":"evil"},"provisioner":"rancher.io/local-path","parameters":{"pathPattern":"../../..","allowUnsafePathPattern":"true"},"volumeBindingMode":"WaitForFirstConsumer"}'
made "a class of the platform's provisioner" POST $storage/storageclasses json "$class"
expect "it is shown as it was written" rancher.io/local-path "$(jq -r .provisioner <<<"$answer")"
expect "nobody acts for it" zoo-inert-rancher.io/local-path "$(stored "$storage/storageclasses/$evil-evil" .provisioner)"
try PATCH $storage/storageclasses/evil merge '{"provisioner":"rancher.io/local-path"}'
expect "nor after a patch" zoo-inert-rancher.io/local-path "$(stored "$storage/storageclasses/$evil-evil" .provisioner)"
for patch in 'merge {"metadata":{"labels":{"a":"b"}}}' 'patch [{"op":"replace","path":"/provisioner","value":"rancher.io/local-path"}]' 'patch [{"op":"copy","from":"/parameters/pathPattern","path":"/provisioner"}]'; do
  try PATCH $storage/storageclasses/evil "${patch%% *}" "${patch#* }"
  expect "nor after ${patch#* }" zoo-inert-rancher.io/local-path "$(stored "$storage/storageclasses/$evil-evil" .provisioner)"
done
made "one without a provisioner" POST $storage/storageclasses json '{"metadata":{"name":"evil-none"},"provisioner":"kubernetes.io/no-provisioner"}'
expect "stays without" kubernetes.io/no-provisioner "$(stored "$storage/storageclasses/$evil-evil-none" .provisioner)"
made "a class of attributes" POST $storage/volumeattributesclasses json '{"metadata":{"name":"evil"},"driverName":"csi.example.com","parameters":{"iops":"1000000"}}'
expect "nobody acts for it either" zoo-inert-csi.example.com "$(stored "$storage/volumeattributesclasses/$evil-evil" .driverName)"
made "a class of Ingresses" POST $net/ingressclasses json '{"metadata":{"name":"evil"},"spec":{"controller":"k8s.io/ingress-nginx"}}'
expect "it is shown as it was written" k8s.io/ingress-nginx "$(jq -r .spec.controller <<<"$answer")"
expect "no controller of the platform's serves it" zoo-inert-k8s.io/ingress-nginx "$(stored "$net/ingressclasses/$evil-evil" .spec.controller)"
for name in evil nginx; do
  made "an Ingress of class $name by annotation" POST $net/namespaces/team/ingresses json '{"metadata":{"name":"evil-'$name'","annotations":{"kubernetes.io/ingress.class":"'$name'"}},"spec":{"rules":[{"host":"evil.example.com"}]}}'
  expect "it is shown as it was written" $name "$(jq -r '.metadata.annotations["kubernetes.io/ingress.class"]' <<<"$answer")"
  expect "and is the tenant's own" "$evil-$name" "$(stored "$net/namespaces/$evil-team/ingresses/evil-$name" '.metadata.annotations["kubernetes.io/ingress.class"]')"
done
made "a class of pods" POST /apis/node.k8s.io/v1/runtimeclasses json '{"metadata":{"name":"evil"},"handler":"runc"}'
expect "it is shown as it was written" runc "$(jq -r .handler <<<"$answer")"
expect "no handler of the nodes is called so" zoo-inert-runc "$(stored "/apis/node.k8s.io/v1/runtimeclasses/$evil-evil" .handler)"
as_tenant=(-H "Impersonate-User: zoo:$evil" -H 'Impersonate-Group: zoo:tenants')
for one in "$storage/storageclasses {\"metadata\":{\"name\":\"$evil-direct\"},\"provisioner\":\"rancher.io/local-path\"}" \
  "$storage/volumeattributesclasses {\"metadata\":{\"name\":\"$evil-direct\"},\"driverName\":\"csi.example.com\",\"parameters\":{\"a\":\"b\"}}" \
  "/apis/node.k8s.io/v1/runtimeclasses {\"metadata\":{\"name\":\"$evil-direct\"},\"handler\":\"runc\"}" \
  "$net/ingressclasses {\"metadata\":{\"name\":\"$evil-direct\"},\"spec\":{\"controller\":\"k8s.io/ingress-nginx\"}}"; do
  curl_more=("${as_tenant[@]}")
  direct POST "${one%% *}?dryRun=All" json "${one#* }"
  refused "upstream alone refuses it: ${one%% *}" '403|422'
  expect_match "by the policy" zoo-tenants-cluster-scoped "$answer"
  would "make it" POST "${one%% *}" json "${one#* }"
done
capacity() { printf '{"metadata":{"name":"evil"},"storageClassName":"%s","nodeTopology":{},"capacity":"1Pi"}' "$1"; }
made "the capacity of its own class" POST $storage/namespaces/team/csistoragecapacities json "$(capacity evil)"
expect "is of that" "$evil-evil" "$(stored "$storage/namespaces/$evil-team/csistoragecapacities/evil" .storageClassName)"
curl_more=("${as_tenant[@]}")
direct POST "$storage/namespaces/$evil-team/csistoragecapacities?dryRun=All" json "$(capacity standard)"
refused "another class's upstream refuses" '403|422'
expect_match "by the policy" zoo-tenants-capacities "$answer"
would "tell of the platform's" POST "$storage/namespaces/$evil-team/csistoragecapacities" json "$(capacity standard | sed 's/"evil"/"evil-direct"/')"
