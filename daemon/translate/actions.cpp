// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/actions.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/cel.hpp"
#include "daemon/translate/dns_name.hpp"
#include "daemon/translate/hidden_names.hpp"
#include "daemon/translate/pod_fields.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/translate/validity.hpp"

#include <array>
#include <optional>

namespace zoo::translate {
namespace {

constexpr std::string_view k_system_role = "zoo:system:";
constexpr std::string_view k_binding = "zoo:crb:";
constexpr std::string_view k_verb = "zoo:";
constexpr std::size_t k_namespace_limit = 63;

bool inward(const Site& site) { return site.direction == Direction::inward; }

Fate put(std::string& output, std::string value) {
  output = std::move(value);
  return Fate::replace;
}

Fate put(std::string& output, std::optional<std::string_view> value) {
  if (!value) return Fate::foreign;
  output = *value;
  return Fate::replace;
}

Fate put(std::string& output, std::optional<std::string>&& value) {
  if (!value) return Fate::foreign;
  output = *std::move(value);
  return Fate::replace;
}

Fate refuse(std::string& output, std::string_view why) {
  output = why;
  return Fate::refuse;
}

/// A constant prefix, added inward, taken off outward.
Fate constant(const Site& site, std::string_view prefix, std::string_view value,
              std::string& output) {
  if (value.empty()) return Fate::keep;
  if (inward(site)) return put(output, std::string(prefix) + std::string(value));
  if (!value.starts_with(prefix) || value.size() == prefix.size()) return Fate::foreign;
  return put(output, std::string(value.substr(prefix.size())));
}

Fate namespace_of(const Site& site, std::string_view value, std::string& output) {
  if (!inward(site)) return put(output, site.mapping.name_out(value));
  // The object's own must be that of the path, which upstream sees to. It does not look at others
  // that become part of an address: the Service of a webhook.
  if (!site.in_metadata &&
      value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string_view::npos) {
    output = "must be the name of a namespace: lower-case letters, digits and '-'";
    return Fate::invalid;
  }
  return put(output, site.mapping.name_in(value));
}

/// The value of a label that holds a namespace's name. What can be no label's value matches
/// nothing, and upstream refuses it: as it stands, since the prefix could make it one.
Fate label_of_namespace(const Site& site, std::string_view value, std::string& output) {
  if (site.direction == Direction::outward) return put(output, site.mapping.name_out(value));
  if (!valid_label_value(value)) return Fate::keep;
  return inward(site) ? put(output, site.mapping.name_in(value))
                      : put(output, site.mapping.name_out(value));
}

Fate own_namespace(const Site& site, std::string_view value, std::string& output) {
  if (!inward(site)) return put(output, site.mapping.name_out(value));
  if (site.mapping.owns_name(value))
    return refuse(output, "may not begin with the tenant's own ID and a dash, " +
                              json_quote(site.mapping.prefix()));
  // What is no name of a namespace anywhere is upstream's to refuse, with its fields.
  const auto limit = k_namespace_limit - site.mapping.prefix().size();
  if (value.size() > limit && value.size() <= k_namespace_limit && dns_label(value)) {
    output = "must be no more than " + std::to_string(limit) +
             " characters, for the platform needs " + std::to_string(site.mapping.prefix().size()) +
             " of Kubernetes' 63";
    return Fate::invalid;
  }
  return put(output, site.mapping.name_in(value));
}

Fate role_name(const Site& site, std::string_view value, std::string& output) {
  if (inward(site) && system_role(value))
    return refuse(output, "names a system role, which is read-only");
  return inward(site) ? put(output, site.mapping.name_in(value))
                      : put(output, site.mapping.name_out(value));
}

/// roleRef.name. No upstream role begins with either image, so none is ever bound.
Fate role_ref(const Site& site, std::string_view value, std::string& output) {
  if (site.siblings.kind != "ClusterRole" || value.empty()) return Fate::keep;
  if (inward(site)) {
    return put(output, system_role(value) ? std::string(k_system_role) + std::string(value)
                                          : site.mapping.name_in(value));
  }
  if (value.starts_with(k_system_role)) {
    const auto own = value.substr(k_system_role.size());
    // A stored reference of this form can also be to a role of the tenant's own whose name begins
    // with `system:`. It is shown, but never written so.
    const bool shown = site.direction == Direction::outward && own.starts_with("system:");
    if (!shown && !system_role(own)) return Fate::foreign;
    return put(output, std::string(own));
  }
  const auto own = site.mapping.name_out(value);
  if (own && system_role(*own)) return Fate::foreign;
  return put(output, own);
}

Fate inert(const Site& site, std::string_view value, std::string& output) {
  return inward(site) ? put(output, site.mapping.inert_in(value))
                      : put(output, site.mapping.inert_out(value));
}

Fate signer(const Site& site, std::string_view value, std::string& output) {
  if (!inward(site)) return put(output, site.mapping.signer_out(value));
  if (value.starts_with("kubernetes.io/") && site.root.kind != "CertificateSigningRequest")
    return refuse(output, "names a signer of the platform (rule signers): name one of your own");
  return put(output, site.mapping.signer_in(value));
}

/// Names with the reserved prefix are what zood makes of others (rule binding_name).
Fate reserved_name(const Site& site, std::string_view value, std::string& output) {
  if (site.direction == Direction::outward) return Fate::keep;
  const auto* hidden = hidden_names_of_kind(site.root.group, site.root.kind);
  if (hidden == nullptr) return Fate::keep;
  if (inward(site) ? !hidden->hides(value) : value != hidden->name) return Fate::keep;
  return refuse(output, k_reserved);
}

constexpr std::string_view k_snapshots = "snapshot.storage.k8s.io";
constexpr std::string_view k_own_snapshots =
    "names the tenant's own kinds of snapshots, which the platform's storage does not know: the "
    "volume would be empty (rule volume-snapshots): ask the platform to share the group "
    "snapshot.storage.k8s.io, or clone another PersistentVolumeClaim";

constexpr std::string_view k_device_resource = "deviceclass.resource.kubernetes.io/";

/// A resource name that may carry a DeviceClass; `before`: what a quota puts in front.
Fate resource_name(const Site& site, std::string_view value, std::string& output,
                   std::string_view before = "") {
  const auto start = std::string(before) + std::string(k_device_resource);
  if (!value.starts_with(start)) return Fate::keep;
  const auto name = value.substr(start.size());
  if (inward(site))
    return put(output, start + site.mapping.overlay_in(Overlay::device_class, name));
  const auto own = site.mapping.overlay_out(Overlay::device_class, name);
  if (!own) return Fate::foreign;
  return put(output, start + std::string(*own));
}

/// `<class><suffix>`
Fate class_key(const Site& site, Overlay kind, std::string_view name, std::string_view suffix,
               std::string& output) {
  if (inward(site)) return put(output, site.mapping.overlay_in(kind, name) + std::string(suffix));
  const auto own = site.mapping.overlay_out(kind, name);
  if (!own) return Fate::foreign;
  return put(output, std::string(*own) + std::string(suffix));
}

/// Keys of a ResourceQuota (k8s.io/kubernetes pkg/quota/v1/evaluator).
Fate quota_key(const Site& site, std::string_view key, std::string& output) {
  constexpr std::string_view k_count = "count/";
  if (key.starts_with(k_count)) {
    const auto counted = key.substr(k_count.size());
    const auto dot = counted.find('.');
    if (dot == std::string_view::npos) return Fate::keep;
    const auto resource = std::string(counted.substr(0, dot + 1));
    const auto group = counted.substr(dot + 1);
    if (!inward(site)) {
      const auto own = site.mapping.group_out(group);
      if (!own) return Fate::foreign;
      return put(output, std::string(k_count) + resource + std::string(*own));
    }
    auto name = resource + site.mapping.group_in(group);
    if (name.size() > 63 && site.mapping.custom_group(group)) {
      output = "must have no more than " + std::to_string(63 - site.mapping.prefix().size()) +
               " characters behind its slash";
      return Fate::invalid;
    }
    return put(output, std::string(k_count) + name);
  }
  for (const std::string_view suffix : {".storageclass.storage.k8s.io/requests.storage",
                                        ".storageclass.storage.k8s.io/persistentvolumeclaims"}) {
    if (key.ends_with(suffix))
      return class_key(site, Overlay::storage_class, key.substr(0, key.size() - suffix.size()),
                       suffix, output);
  }
  constexpr std::string_view k_devices = ".deviceclass.resource.k8s.io/devices";
  if (key.ends_with(k_devices))
    return class_key(site, Overlay::device_class, key.substr(0, key.size() - k_devices.size()),
                     k_devices, output);
  return resource_name(site, key, output, "requests.");
}

Fate quota_scope(const Site& site, std::string_view value, std::string& output) {
  Overlay kind;
  if (site.siblings.scope_name == "PriorityClass") {
    kind = Overlay::priority_class;
  } else if (site.siblings.scope_name == "VolumeAttributesClass") {
    kind = Overlay::volume_attributes_class;
  } else {
    return Fate::keep;
  }
  return inward(site) ? put(output, site.mapping.overlay_in(kind, value))
                      : put(output, site.mapping.overlay_out(kind, value));
}

/// Keys whose value is a namespace. A template that begins with the claim's own is resolved
/// upstream, to a name with the prefix; every other, such as "${pvc.name}" or "others-${pv.name}",
/// needs it like a literal one.
Fate parameter(const Site& site, std::string_view value, std::string& output) {
  std::string key(site.key);
  for (auto& c : key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  const bool names_one = key.ends_with("-secret-namespace") || key == "secretnamespace" ||
                         key == "adminsecretnamespace" || key == "usersecretnamespace";
  if (!names_one || value.starts_with("${pvc.namespace}")) return Fate::keep;
  return namespace_of(site, value, output);
}

/// "example.com/x" <-> "zoo-inert-example.com/x": a provisioner makes what a class tells it to, an
/// ingress controller serves every class that names it, a node runs pods by the handler that a
/// class names. The platform's own classes are as they are.
Fate class_driver(const Site& site, std::string_view value, std::string& output) {
  if (value.empty() || value == "kubernetes.io/no-provisioner") return Fate::keep;
  if (inward(site)) return put(output, std::string(k_inert_driver) + std::string(value));
  if (value.starts_with(k_inert_driver))
    return put(output, std::string(value.substr(k_inert_driver.size())));
  if (site.direction == Direction::prove)
    return refuse(output, "would make the platform act for a class of the tenant's");
  return Fate::keep;
}

Fate secret_namespace(const Site& site, std::string_view value, std::string& output) {
  if (site.siblings.type != "kubernetes.io/service-account-token" || value.empty())
    return Fate::keep;
  const auto plain = crypto::base64_decode(value);
  if (!plain) {
    output = "must be base64";
    return inward(site) ? Fate::invalid : Fate::foreign;
  }
  const auto fate = namespace_of(site, *plain, output);
  if (fate == Fate::replace) output = crypto::base64_encode(output);
  return fate;
}

constexpr std::string_view k_others_service =
    "leads to a Service outside of the tenant's namespaces (rule external-names): set it anew, and "
    "it leads to the tenant's own";

Fate external_name(const Site& site, std::string_view value, std::string& output) {
  if (inward(site)) return put(output, service_name_in(site.mapping, value));
  auto own = service_name_out(site.mapping, value);
  if (own) return put(output, std::move(own));
  // Written before names were translated, or by the platform: shown, but written by no tenant.
  return site.direction == Direction::prove ? refuse(output, k_others_service) : Fate::keep;
}

/// group of "group/version", "" for core.
std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view{} : api_version.substr(0, slash);
}

bool cluster_scoped(const Siblings& siblings) {
  const auto* row =
      find_kind(siblings.api_version.empty() ? "*" : group_of(siblings.api_version), siblings.kind);
  return row != nullptr && !row->namespaced;
}

} // namespace

bool platforms_definition(const Mapping& mapping, std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const auto group = name.substr(dot + 1);
  // Upstream itself refuses a definition whose group has no dot ("apps").
  return !mapping.custom_group(group) && group.find('.') != std::string_view::npos;
}

bool fills_event_namespace(const Siblings& siblings) {
  if (siblings.kind.empty()) return false;
  const auto* row =
      find_kind(siblings.api_version.empty() ? "*" : group_of(siblings.api_version), siblings.kind);
  return row == nullptr || !row->namespaced;
}

namespace {

/// involvedObject.namespace: 2.9 of the reference. Upstream wants the Event's own namespace for a
/// cluster-scoped object, since the tenant's `default` is not called so there.
Fate event_namespace(const Site& site, std::string_view value, std::string& output) {
  if (inward(site)) {
    const bool fill = value.empty() && fills_event_namespace(site.siblings);
    return put(output, site.mapping.name_in(fill ? site.event_namespace : value));
  }
  const auto own = site.mapping.name_out(value);
  if (!own) return Fate::foreign;
  if (cluster_scoped(site.siblings) && site.direction == Direction::outward) return Fate::drop;
  return put(output, own);
}

Fate by_kind(const Site& site, std::string_view value, std::string& output) {
  const auto& siblings = site.siblings;
  if (siblings.kind.empty() || value.empty()) return Fate::keep;
  std::string_view group = "*";
  if (!siblings.api_version.empty()) {
    group = group_of(siblings.api_version);
  } else if (!siblings.group.empty()) {
    group = siblings.group;
  }
  if (group != "*" && site.mapping.custom_group(group)) return Fate::keep; // its group isolates it
  // Upstream has a RoleBinding in its place: its garbage collector would miss the owner and delete
  // what it owns.
  if (const auto* row = find_kind(group, siblings.kind);
      inward(site) && row != nullptr && row->naming == Naming::binding)
    return refuse(output, "refers to a ClusterRoleBinding, which other objects cannot refer to");
  return act_on_name(site.mapping, site.direction, group, siblings.kind, value, output);
}

Fate by_resource(const Site& site, std::string_view value, std::string& output) {
  // In a Status `kind` holds a resource, or a kind where the object is invalid.
  const auto& siblings = site.siblings;
  const auto& word = siblings.resource.empty() ? siblings.kind : siblings.resource;
  if (value.empty() || site.mapping.custom_group(siblings.group)) return Fate::keep;
  const auto* row = find_resource(siblings.group, "", word);
  if (row == nullptr) row = find_kind(siblings.group, word);
  if (row == nullptr) return Fate::keep;
  return act_on_name(site.mapping, site.direction, row->group, row->kind, value, output);
}

/// An expression of a policy or a match condition.
Fate expression(const Site& site, std::string_view value, std::string& output) {
  const auto& mapping = site.mapping;
  if (site.direction == Direction::outward) return put(output, cel_out(mapping, value));
  if (has_fence(site.root.kind) && value == fence_expression(site.root.kind, mapping) &&
      !inward(site))
    return Fate::keep; // zood's own, in upstream's names
  if (const auto why = cel_refusal(value, site.root.kind == "MutatingAdmissionPolicy");
      !why.empty())
    return refuse(output, why);
  if (inward(site)) return put(output, cel_in(mapping, value));
  if (cel_in(mapping, cel_out(mapping, value)) == value) return Fate::keep;
  return refuse(output, "reads upstream's names of groups or namespaces (rule expression-groups)");
}

struct Renamed {
  std::string_view tenant, upstream;
};
// A default of one tenant must not become the whole cluster's (2.3 of the reference).
constexpr std::array k_default_keys = {
    Renamed{"storageclass.kubernetes.io/is-default-class",
            "kept.zoo.kubezoo.io/storageclass-default"},
    Renamed{"storageclass.beta.kubernetes.io/is-default-class",
            "kept.zoo.kubezoo.io/storageclass-default-beta"},
    Renamed{"ingressclass.kubernetes.io/is-default-class",
            "kept.zoo.kubezoo.io/ingressclass-default"},
};
constexpr std::string_view k_aggregate = "rbac.authorization.k8s.io/aggregate-to-";
constexpr std::string_view k_kept_aggregate = "kept.zoo.kubezoo.io/aggregate-to-";

Fate own_annotation(const Site& site, std::string_view key, std::string& output) {
  if (!own_key(key)) return Fate::keep;
  if (inward(site)) return refuse(output, k_reserved);
  return Fate::drop;
}

Fate class_annotation(const Site& site, std::string_view key, std::string& output) {
  for (const auto& each : k_default_keys) {
    if (key == each.tenant) {
      if (inward(site)) return put(output, std::string(each.upstream));
      // A shared class is the platform's and shows its mark; what a tenant writes must not have it.
      if (site.direction == Direction::prove) return refuse(output, "would speak for all tenants");
    } else if (key == each.upstream && !inward(site)) {
      return put(output, std::string(each.tenant));
    }
  }
  return own_annotation(site, key, output);
}

Fate namespace_label(const Site& site, std::string_view key, std::string& output) {
  if (key == k_tenant_label) {
    if (inward(site)) return refuse(output, k_reserved);
    return Fate::drop;
  }
  // The server writes it on every write.
  if (key == k_name_label && inward(site)) return Fate::drop;
  // An older version of the enforced level is a wish, and shown, not enforced.
  if (key == k_version_label) {
    if (inward(site)) return put(output, std::string(k_wish_version_label));
    if (site.direction == Direction::prove)
      return refuse(output, "would enforce an older version of pod security");
  }
  if (key == k_wish_version_label && !inward(site))
    return put(output, std::string(k_version_label));
  return own_annotation(site, key, output);
}

Fate selector_label(const Site& site, std::string_view key, std::string& output) {
  if (key != k_tenant_label) return Fate::keep;
  if (inward(site)) return refuse(output, k_reserved);
  return Fate::drop;
}

Fate cluster_role_label(const Site& site, std::string_view key, std::string& output) {
  if (key.starts_with(k_aggregate)) {
    const auto rest = std::string(key.substr(k_aggregate.size()));
    if (inward(site)) return put(output, std::string(k_kept_aggregate) + rest);
    return site.direction == Direction::prove ? refuse(output, "would extend the platform's roles")
                                              : Fate::drop;
  }
  if (key.starts_with(k_kept_aggregate) && !inward(site))
    return put(output, std::string(k_aggregate) + std::string(key.substr(k_kept_aggregate.size())));
  return own_annotation(site, key, output);
}

} // namespace

bool own_key(std::string_view key) {
  const auto domain = key.substr(0, key.find('/'));
  if (domain.size() == key.size() || !domain.ends_with(k_own_domain)) return false;
  return domain.size() == k_own_domain.size() ||
         domain[domain.size() - k_own_domain.size() - 1] == '.';
}

std::string_view refusal(std::string_view key) {
  if (key == "path")
    return "names a directory of a node (rule node-paths): let a PersistentVolumeClaim with a "
           "storageClassName provision a volume";
  if (key == "externalIPs")
    return "takes the traffic of an address that may be another's (rule external-ips): use type "
           "LoadBalancer, or an Ingress";
  if (key == "extendedResourceName")
    return "is one name for the whole platform (rule extended-resources): name the DeviceClass in "
           "a ResourceClaim";
  return "may not be set by a tenant (rule platform-keys): leave it out, or ask the platform's "
         "administrator";
}

Fate act_on_name(const Mapping& mapping, Direction direction, std::string_view group,
                 std::string_view kind, std::string_view name, std::string& output) {
  const auto* row = find_kind(group, kind);
  if (row == nullptr || name.empty()) return Fate::keep;
  const bool in = direction == Direction::inward;
  switch (row->naming) {
  case Naming::keep:
    return Fate::keep;
  case Naming::prefixed:
    return in ? put(output, mapping.name_in(name)) : put(output, mapping.name_out(name));
  case Naming::overlay:
    return in ? put(output, mapping.overlay_in(row->overlay, name))
              : put(output, mapping.overlay_out(row->overlay, name));
  case Naming::volume:
    return in ? put(output, mapping.volume_in(name)) : put(output, mapping.volume_out(name));
  case Naming::crd:
    return in ? put(output, mapping.crd_name_in(name)) : put(output, mapping.crd_name_out(name));
  case Naming::role:
    // A reference to a system role (an Event about it): the copy's own name is the upstream's.
    if (system_role(name)) return Fate::keep;
    return in ? put(output, mapping.name_in(name)) : put(output, mapping.name_out(name));
  case Naming::binding:
    if (in) return put(output, std::string(k_binding) + std::string(name));
    if (!name.starts_with(k_binding)) return Fate::foreign;
    return put(output, std::string(name.substr(k_binding.size())));
  }
  return Fate::keep;
}

Fate act(Action action, std::uint8_t parameter_value, const Site& site, std::string_view value,
         std::string& output) {
  const auto& mapping = site.mapping;
  const bool in = inward(site);
  switch (action) {
  case Action::none:
  case Action::namespace_source:
  case Action::managed_fields:
  case Action::embedded:
  case Action::last_applied:
    return Fate::keep;
  case Action::name_space:
    return namespace_of(site, value, output);
  case Action::namespace_name:
    return own_namespace(site, value, output);
  case Action::cluster_name:
    return in ? put(output, mapping.name_in(value)) : put(output, mapping.name_out(value));
  case Action::overlay:
  case Action::class_name: {
    const auto kind = static_cast<Overlay>(parameter_value);
    if (action == Action::class_name && in && kind == Overlay::priority_class &&
        value.starts_with("system-") && !mapping.shared_class(kind, value))
      return refuse(output, "begins with 'system-', which is the platform's");
    return in ? put(output, mapping.overlay_in(kind, value))
              : put(output, mapping.overlay_out(kind, value));
  }
  case Action::volume:
    return in ? put(output, mapping.volume_in(value)) : put(output, mapping.volume_out(value));
  case Action::crd_name:
    if (in && platforms_definition(mapping, value))
      return refuse(output, "names a group of the platform's, which no tenant may define kinds in");
    return in ? put(output, mapping.crd_name_in(value)) : put(output, mapping.crd_name_out(value));
  case Action::source_group:
    // Upstream's source knows this group as a literal, and drops a source of any other without a
    // word: the volume would be empty (docs/decisions/163).
    if (in && value == k_snapshots && mapping.custom_group(value))
      return refuse(output, k_own_snapshots);
    [[fallthrough]];
  case Action::group:
    if (value == k_no_group && !in) return Fate::keep;
    return in ? put(output, mapping.group_in(value)) : put(output, mapping.group_out(value));
  case Action::api_version:
    return in ? put(output, mapping.api_version_in(value))
              : put(output, mapping.api_version_out(value));
  case Action::signer:
    return signer(site, value, output);
  case Action::class_driver:
    return class_driver(site, value, output);
  case Action::by_kind:
    return by_kind(site, value, output);
  case Action::by_resource:
    return by_resource(site, value, output);
  case Action::role_name:
    return role_name(site, value, output);
  case Action::role_ref:
    return role_ref(site, value, output);
  case Action::inert_subject:
    if (site.siblings.kind == "ServiceAccount") return Fate::keep;
    return inert(site, value, output);
  case Action::inert_namespace:
    return inert(site, value, output);
  case Action::verb:
    return constant(site, k_verb, value, output);
  case Action::binding_kind:
    if (in)
      return value == "ClusterRoleBinding" ? put(output, std::string("RoleBinding")) : Fate::keep;
    return value == "RoleBinding" ? put(output, std::string("ClusterRoleBinding")) : Fate::keep;
  case Action::binding_name:
    return constant(site, k_binding, value, output);
  case Action::binding_namespace:
    if (in) return put(output, mapping.name_in("kube-system"));
    if (value != mapping.name_in("kube-system")) return Fate::foreign;
    return Fate::drop;
  case Action::label_namespace:
    return label_of_namespace(site, value, output);
  case Action::selector_values:
    return site.siblings.key == k_name_label ? label_of_namespace(site, value, output) : Fate::keep;
  case Action::selector_key:
    if (value == k_tenant_label && in)
      return refuse(
          output,
          "names a label that is reserved (rule reserved-names): the selector covers the tenant's "
          "own namespaces without it");
    return Fate::keep;
  case Action::quota_scope:
    return quota_scope(site, value, output);
  case Action::resource_key:
    return resource_name(site, value, output);
  case Action::parameter:
    return parameter(site, value, output);
  case Action::secret_namespace:
    return secret_namespace(site, value, output);
  case Action::plain_secret_namespace:
    return site.siblings.type == "kubernetes.io/service-account-token"
               ? namespace_of(site, value, output)
               : Fate::keep;
  case Action::event_namespace:
    return event_namespace(site, value, output);
  case Action::text:
    if (site.direction != Direction::outward) return Fate::keep;
    return put(output, stored_text_out(mapping, value, site.words));
  case Action::cel:
    return expression(site, value, output);
  case Action::rule_scope:
    if (in) return put(output, std::string("Namespaced"));
    if (site.direction == Direction::prove && value != "Namespaced")
      return refuse(output, "must be Namespaced");
    return Fate::keep;
  case Action::external_name:
    return external_name(site, value, output);
  case Action::pod_field:
    return pod_field(site.direction, value, output);
  case Action::root_ca:
    return root_ca(site.direction, value, output);
  case Action::reserved_name:
    return reserved_name(site, value, output);
  case Action::authorities: // the walk has it: it is told by the name of the object
    return Fate::keep;
  case Action::refuse:
    if (site.direction == Direction::outward || value.empty()) return Fate::keep;
    return refuse(output, refusal(site.key));
  case Action::hide:
    return site.direction == Direction::outward ? Fate::drop : Fate::keep;
  }
  return Fate::keep;
}

Fate act_on_key(KeyAction action, const Site& site, std::string_view key, std::string& output) {
  switch (action) {
  case KeyAction::none:
    return Fate::keep;
  case KeyAction::quota:
    return quota_key(site, key, output);
  case KeyAction::resource:
    return resource_name(site, key, output);
  case KeyAction::annotations:
    return own_annotation(site, key, output);
  case KeyAction::class_annotations:
    return class_annotation(site, key, output);
  case KeyAction::namespace_labels:
    return namespace_label(site, key, output);
  case KeyAction::selector_labels:
  case KeyAction::definition_labels:
    return selector_label(site, key, output);
  case KeyAction::cluster_role_labels:
    return cluster_role_label(site, key, output);
  }
  return Fate::keep;
}

} // namespace zoo::translate
