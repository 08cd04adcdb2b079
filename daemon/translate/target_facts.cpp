// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/target.hpp"

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

using enum NameRule;
using enum Treatment;

// The kinds whose names or whose treatment differ from "namespaced, all verbs". The scope of every
// kind comes from the upstream's discovery; this table says what the scope cannot.
constexpr std::array k_facts = {
    KindFacts{"", "namespaces", "Namespace", prefixed, served, {}},
    KindFacts{"", "nodes", "Node", verbatim, mixed, {}},
    KindFacts{"", "persistentvolumes", "PersistentVolume", volume, served, {}},
    // Upstream's would speak of the platform's control plane.
    KindFacts{"", "componentstatuses", "ComponentStatus", verbatim, kept, {}},
    KindFacts{"admissionregistration.k8s.io",
              "mutatingadmissionpolicies",
              "MutatingAdmissionPolicy",
              prefixed,
              served,
              {}},
    KindFacts{"admissionregistration.k8s.io",
              "mutatingadmissionpolicybindings",
              "MutatingAdmissionPolicyBinding",
              prefixed,
              served,
              {}},
    KindFacts{"admissionregistration.k8s.io",
              "mutatingwebhookconfigurations",
              "MutatingWebhookConfiguration",
              prefixed,
              served,
              {}},
    KindFacts{"admissionregistration.k8s.io",
              "validatingadmissionpolicies",
              "ValidatingAdmissionPolicy",
              prefixed,
              served,
              {}},
    KindFacts{"admissionregistration.k8s.io",
              "validatingadmissionpolicybindings",
              "ValidatingAdmissionPolicyBinding",
              prefixed,
              served,
              {}},
    KindFacts{"admissionregistration.k8s.io",
              "validatingwebhookconfigurations",
              "ValidatingWebhookConfiguration",
              prefixed,
              served,
              {}},
    KindFacts{"apiextensions.k8s.io",
              "customresourcedefinitions",
              "CustomResourceDefinition",
              crd,
              served,
              {}},
    KindFacts{"apiregistration.k8s.io", "apiservices", "APIService", verbatim, kept, {}},
    KindFacts{"authentication.k8s.io",
              "selfsubjectreviews",
              "SelfSubjectReview",
              verbatim,
              create_only,
              {}},
    KindFacts{"authentication.k8s.io", "tokenreviews", "TokenReview", verbatim, create_only, {}},
    KindFacts{"authorization.k8s.io",
              "localsubjectaccessreviews",
              "LocalSubjectAccessReview",
              verbatim,
              create_only,
              {}},
    KindFacts{"authorization.k8s.io",
              "selfsubjectaccessreviews",
              "SelfSubjectAccessReview",
              verbatim,
              create_only,
              {}},
    KindFacts{"authorization.k8s.io",
              "selfsubjectrulesreviews",
              "SelfSubjectRulesReview",
              verbatim,
              create_only,
              {}},
    KindFacts{"authorization.k8s.io",
              "subjectaccessreviews",
              "SubjectAccessReview",
              verbatim,
              create_only,
              {}},
    KindFacts{"certificates.k8s.io",
              "certificatesigningrequests",
              "CertificateSigningRequest",
              prefixed,
              served,
              {}},
    KindFacts{"certificates.k8s.io",
              "clustertrustbundles",
              "ClusterTrustBundle",
              signer_bundle,
              served,
              {}},
    KindFacts{"flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema", verbatim, kept, {}},
    KindFacts{"flowcontrol.apiserver.k8s.io",
              "prioritylevelconfigurations",
              "PriorityLevelConfiguration",
              verbatim,
              kept,
              {}},
    KindFacts{
        "internal.apiserver.k8s.io", "storageversions", "StorageVersion", verbatim, hidden, {}},
    KindFacts{"networking.k8s.io", "ingressclasses", "IngressClass", overlay, served,
              Overlay::ingress_class},
    KindFacts{"networking.k8s.io", "ipaddresses", "IPAddress", service_address, mixed, {}},
    KindFacts{"networking.k8s.io", "servicecidrs", "ServiceCIDR", verbatim, mixed, {}},
    KindFacts{"node.k8s.io", "runtimeclasses", "RuntimeClass", overlay, served,
              Overlay::runtime_class},
    KindFacts{k_rbac_group,
              "clusterrolebindings",
              "ClusterRoleBinding",
              cluster_role_binding,
              served,
              {}},
    KindFacts{k_rbac_group, "clusterroles", "ClusterRole", cluster_role, served, {}},
    KindFacts{"resource.k8s.io", "deviceclasses", "DeviceClass", overlay, served,
              Overlay::device_class},
    KindFacts{"resource.k8s.io", "devicetaintrules", "DeviceTaintRule", verbatim, hidden, {}},
    KindFacts{"resource.k8s.io",
              "resourcepoolstatusrequests",
              "ResourcePoolStatusRequest",
              verbatim,
              hidden,
              {}},
    KindFacts{"resource.k8s.io", "resourceslices", "ResourceSlice", verbatim, read_only, {}},
    KindFacts{"scheduling.k8s.io", "priorityclasses", "PriorityClass", overlay, served,
              Overlay::priority_class},
    KindFacts{"storage.k8s.io", "csidrivers", "CSIDriver", verbatim, mixed, {}},
    KindFacts{"storage.k8s.io", "csinodes", "CSINode", verbatim, mixed, {}},
    KindFacts{"storage.k8s.io", "storageclasses", "StorageClass", overlay, served,
              Overlay::storage_class},
    // Made by upstream's controllers for volumes of all tenants, under names of their own.
    KindFacts{"storage.k8s.io", "volumeattachments", "VolumeAttachment", attachment, mixed, {}},
    KindFacts{"storage.k8s.io", "volumeattributesclasses", "VolumeAttributesClass", overlay, served,
              Overlay::volume_attributes_class},
    KindFacts{"storagemigration.k8s.io",
              "storageversionmigrations",
              "StorageVersionMigration",
              verbatim,
              hidden,
              {}},
};

} // namespace

const KindFacts* find_facts(std::string_view group, std::string_view resource) {
  const auto* found = std::find_if(k_facts.begin(), k_facts.end(), [&](const KindFacts& each) {
    return each.group == group && each.resource == resource;
  });
  return found == k_facts.end() ? nullptr : &*found;
}

const KindFacts* find_facts_of_kind(std::string_view group, std::string_view kind) {
  const auto* found = std::find_if(k_facts.begin(), k_facts.end(), [&](const KindFacts& each) {
    return each.kind == kind && (group.empty() || each.group == group);
  });
  return found == k_facts.end() ? nullptr : &*found;
}

std::string object_name_in(const Mapping& mapping, const KindFacts* facts, std::string_view name) {
  if (facts == nullptr || mapping.identity() || name.empty()) return std::string(name);
  switch (facts->names) {
  case verbatim:
  case service_address:
  case attachment:
    break;
  case prefixed:
    return mapping.name_in(name);
  case overlay:
    return mapping.overlay_in(*facts->overlay, name);
  case crd:
    return mapping.crd_name_in(name);
  case volume:
    return mapping.volume_in(name);
  case cluster_role:
    return system_role(name) ? std::string(name) : mapping.name_in(name);
  case cluster_role_binding:
    return std::string(k_binding_prefix) + std::string(name);
  case signer_bundle: {
    // `dom:path:name`; without a colon the bundle has no signer and is a plain private name.
    if (name.find(':') == std::string_view::npos) return mapping.name_in(name);
    return mapping.prefix() + std::string(name);
  }
  }
  return std::string(name);
}

std::optional<std::string> object_name_out(const Mapping& mapping, const KindFacts* facts,
                                           std::string_view name) {
  if (facts == nullptr || mapping.identity() || name.empty()) return std::string(name);
  const auto owned = [](std::optional<std::string_view> value) {
    return value ? std::optional<std::string>(*value) : std::nullopt;
  };
  switch (facts->names) {
  case verbatim:
  case service_address:
  case attachment:
    break;
  case prefixed:
  case signer_bundle:
    return owned(mapping.name_out(name));
  case overlay:
    return owned(mapping.overlay_out(*facts->overlay, name));
  case crd:
    return mapping.crd_name_out(name);
  case volume:
    return owned(mapping.volume_out(name));
  case cluster_role:
    return system_role(name) ? std::string(name) : owned(mapping.name_out(name));
  case cluster_role_binding:
    if (!name.starts_with(k_binding_prefix)) return std::nullopt;
    return std::string(name.substr(k_binding_prefix.size()));
  }
  return std::string(name);
}

} // namespace zoo::translate
