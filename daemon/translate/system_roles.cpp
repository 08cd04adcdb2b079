// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/target.hpp"

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

/// The ClusterRoles of authz/roles/system.json, in byte order; a test holds the two together.
constexpr std::array<std::string_view, 69> k_names = {
    "admin",
    "cluster-admin",
    "edit",
    "system:aggregate-to-admin",
    "system:aggregate-to-edit",
    "system:aggregate-to-view",
    "system:auth-delegator",
    "system:basic-user",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    "system:certificates.k8s.io:kube-apiserver-client-approver",
    "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
    "system:certificates.k8s.io:kubelet-serving-approver",
    "system:certificates.k8s.io:legacy-unknown-approver",
    "system:controller:attachdetach-controller",
    "system:controller:certificate-controller",
    "system:controller:clusterrole-aggregation-controller",
    "system:controller:cronjob-controller",
    "system:controller:daemon-set-controller",
    "system:controller:deployment-controller",
    "system:controller:device-taint-eviction-controller",
    "system:controller:disruption-controller",
    "system:controller:endpoint-controller",
    "system:controller:endpointslice-controller",
    "system:controller:endpointslicemirroring-controller",
    "system:controller:ephemeral-volume-controller",
    "system:controller:expand-controller",
    "system:controller:generic-garbage-collector",
    "system:controller:horizontal-pod-autoscaler",
    "system:controller:job-controller",
    "system:controller:legacy-service-account-token-cleaner",
    "system:controller:namespace-controller",
    "system:controller:node-controller",
    "system:controller:persistent-volume-binder",
    "system:controller:pod-garbage-collector",
    "system:controller:pv-protection-controller",
    "system:controller:pvc-protection-controller",
    "system:controller:replicaset-controller",
    "system:controller:replication-controller",
    "system:controller:resource-claim-controller",
    "system:controller:resourcequota-controller",
    "system:controller:root-ca-cert-publisher",
    "system:controller:route-controller",
    "system:controller:selinux-warning-controller",
    "system:controller:service-account-controller",
    "system:controller:service-cidrs-controller",
    "system:controller:service-controller",
    "system:controller:statefulset-controller",
    "system:controller:ttl-after-finished-controller",
    "system:controller:ttl-controller",
    "system:controller:validatingadmissionpolicy-status-controller",
    "system:controller:volumeattributesclass-protection-controller",
    "system:discovery",
    "system:heapster",
    "system:kube-aggregator",
    "system:kube-controller-manager",
    "system:kube-dns",
    "system:kube-scheduler",
    "system:kubelet-api-admin",
    "system:monitoring",
    "system:node",
    "system:node-bootstrapper",
    "system:node-problem-detector",
    "system:node-proxier",
    "system:persistent-volume-provisioner",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
    "system:volume-scheduler",
    "view",
};

} // namespace

std::span<const std::string_view> system_roles() { return k_names; }

bool system_role(std::string_view name) {
  return std::binary_search(k_names.begin(), k_names.end(), name);
}

} // namespace zoo::translate
