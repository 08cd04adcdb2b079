// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/mirror_kind.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/volumes.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_service_name = "kubernetes.io/service-name";
constexpr const char* k_managed_by = "endpointslice.kubernetes.io/managed-by";
constexpr const char* k_last_applied = "kubectl.kubernetes.io/last-applied-configuration";

/// ConfigMaps that are in each namespace upstream, and are not the cluster's.
constexpr std::array<std::string_view, 2> k_taken_maps = {"kube-root-ca.crt", "zoo-root-ca.crt"};
constexpr std::string_view k_instead = ".cluster";

/// The cluster's own API server's Service and what belongs to it: zood makes those by themselves.
bool is_own_api(std::string_view space, std::string_view service) {
  return space == "default" && service == "kubernetes";
}

/// Another name of zood.internal would lead pods nowhere.
bool wants_service(const json& object) {
  const bool names_zood = kube::text_at(object, "/spec/type") == "ExternalName" &&
                          kube::text_at(object, "/spec/externalName") == k_inside_name;
  return !names_zood && !is_own_api(kube::text_at(object, "/metadata/namespace"),
                                    kube::text_at(object, "/metadata/name"));
}

/// Those that no controller makes of a Service's selector: upstream's makes these of the pods
/// there.
bool wants_slice(const json& object) {
  const auto labels = kube::texts_at(object, "/metadata/labels");
  const auto service = labels.find(k_service_name);
  if (service == labels.end() || service->second.empty()) return false;
  const auto manager = labels.find(k_managed_by);
  if (manager != labels.end() && manager->second == "endpointslice-controller.k8s.io") return false;
  return !is_own_api(kube::text_at(object, "/metadata/namespace"), service->second);
}

/// A token of the cluster's is bytes like others upstream, which takes it from nobody.
Result<void> dress_secret(json& object, const MirrorTerms&) {
  if (object.value("type", json()) == "kubernetes.io/service-account-token")
    object["type"] = "Opaque";
  return {};
}

/// Upstream's controllers take away what they take for their own.
Result<void> dress_slice(json& object, const MirrorTerms& terms) {
  object["metadata"]["labels"][k_managed_by] = "virtual-cluster.zood";
  const auto endpoints = object.find("endpoints");
  if (endpoints == object.end() || !endpoints->is_array()) return {};
  for (auto& each : *endpoints) {
    if (!each.is_object()) continue;
    if (!terms.named_node) each.erase("nodeName");
    const auto target = each.find("targetRef");
    if (target == each.end() || !target->is_object()) continue;
    target->erase("uid");
    target->erase("resourceVersion");
  }
  return {};
}

/// As kube-apiserver counts them for a ResourceQuota (pkg/quota/v1/evaluator/core/services.go), and
/// the one for the health of a load balancer.
std::uint32_t service_ports(const json& object) {
  const auto type = kube::text_at(object, "/spec/type");
  if (type != "NodePort" && type != "LoadBalancer") return 0;
  const auto spec = object.value("spec", json::object());
  const bool all =
      type == "NodePort" || spec.value("allocateLoadBalancerNodePorts", json()) != false;
  std::uint32_t out = 0;
  for (const auto& port : kube::list_at(spec, "/ports"))
    if (all || (port.is_object() && port.value("nodePort", json(0)) != 0)) ++out;
  const bool local = kube::text_at(spec, "/externalTrafficPolicy") == "Local";
  return out + (type == "LoadBalancer" && local ? 1 : 0);
}

json service_status(const json& own, const json& there) {
  const json::json_pointer at("/status/loadBalancer"), conditions("/status/conditions");
  const auto part = [](const json& of, const json::json_pointer& pointer) {
    return of.contains(pointer) ? of.at(pointer) : json();
  };
  const auto empty = [](const json& value) { return value.is_null() || value.empty(); };
  json out = json::object();
  for (const auto& [name, pointer] : {std::pair{"loadBalancer", at}, {"conditions", conditions}}) {
    const auto before = part(own, pointer), now = part(there, pointer);
    if (before == now || (empty(before) && empty(now))) continue;
    // A merge patch leaves members of an object that it does not name.
    if (now.is_object() && before.is_object())
      for (const auto& each : before.items())
        if (!now.contains(each.key())) out[name][each.key()] = nullptr;
    if (now.is_object())
      out[name].update(now);
    else
      out[name] = now;
  }
  return out.empty() ? json() : json{{"status", std::move(out)}};
}

const std::vector<MirrorKind>& rows() {
  static const std::vector<MirrorKind> all = [] {
    std::vector<MirrorKind> out;
    MirrorKind maps{"", "v1", "configmaps", "ConfigMap"};
    maps.referenced = true;
    maps.members = {"data", "binaryData", "immutable"};
    maps.remade = true;
    out.push_back(std::move(maps));
    MirrorKind secrets{"", "v1", "secrets", "Secret"};
    secrets.referenced = true;
    secrets.members = {"data", "type", "immutable"};
    secrets.dress = dress_secret;
    secrets.remade = true;
    out.push_back(std::move(secrets));
    MirrorKind services{"", "v1", "services", "Service"};
    services.wanted = wants_service;
    services.members = {"spec"};
    services.shown_status = service_status;
    services.ports = service_ports;
    out.push_back(std::move(services));
    MirrorKind slices{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"};
    slices.wanted = wants_slice;
    slices.members = {"addressType", "endpoints", "ports"};
    slices.dress = dress_slice;
    slices.remade = true;
    out.push_back(std::move(slices));
    MirrorKind policies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
    policies.members = {"spec"};
    out.push_back(std::move(policies));
    MirrorKind claims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
    claims.members = {"spec"};
    claims.dress = dress_claim;
    claims.keep = keep_claim;
    claims.shown = shown_claim;
    claims.shown_status = shown_claim_status;
    out.push_back(std::move(claims));
    MirrorKind budgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
    budgets.members = {"spec"};
    budgets.optional = true;
    out.push_back(std::move(budgets));
    return out;
  }();
  return all;
}

} // namespace

std::string MirrorKind::collection(std::string_view name_space) const {
  std::string out =
      group.empty() ? fmt::format("/api/{}", version) : fmt::format("/apis/{}/{}", group, version);
  if (!name_space.empty()) out += kube::path({"namespaces", name_space});
  return out + "/" + std::string(resource);
}

std::string MirrorKind::path(std::string_view name_space, std::string_view name) const {
  return collection(name_space) + kube::path({name});
}

std::span<const MirrorKind> mirror_kinds() { return rows(); }

bool is_on(const MirrorKind& kind, const MirrorOptions& options) {
  return !kind.optional || (kind.resource == "poddisruptionbudgets" && options.disruption_budgets);
}

int mirror_kind_of(std::string_view resource) {
  const auto& all = rows();
  for (std::size_t at = 0; at < all.size(); ++at)
    if (all[at].resource == resource) return static_cast<int>(at);
  return -1;
}

namespace {

/// Has somebody else objects of this name in the cluster's namespaces upstream, or would have one
/// whose name in the cluster is this one?
bool is_taken(const MirrorKind& kind, std::string_view name) {
  if (kind.resource == "secrets") return name.starts_with(k_token_secret);
  if (kind.resource != "configmaps") return false;
  while (name.ends_with(k_instead))
    name.remove_suffix(k_instead.size());
  return std::find(k_taken_maps.begin(), k_taken_maps.end(), name) != k_taken_maps.end();
}

} // namespace

std::string name_there(const MirrorKind& kind, std::string_view name) {
  std::string out(name);
  if (is_taken(kind, name)) out += k_instead;
  return out;
}

std::optional<std::string> name_here(const MirrorKind& kind, std::string_view name) {
  if (!is_taken(kind, name)) return std::string(name);
  if (!name.ends_with(k_instead)) return std::nullopt;
  return std::string(name.substr(0, name.size() - k_instead.size()));
}

Result<MirrorWish> dress_object(const MirrorKind& kind, const json& object,
                                const MirrorTerms& terms) {
  const auto uid = kube::text_at(object, "/metadata/uid");
  const auto space = kube::text_at(object, "/metadata/namespace");
  const auto name = kube::text_at(object, "/metadata/name");
  if (space.size() > k_longest_namespace)
    return fail(Code::invalid,
                "metadata.namespace: names of namespaces whose objects are to be upstream have {} "
                "characters at most, and this one has {}",
                k_longest_namespace, space.size());
  auto annotations = plain_texts(object, "/metadata/annotations");
  annotations.erase(k_last_applied);
  MirrorWish out;
  out.object = {{"apiVersion", kind.group.empty() ? std::string(kind.version)
                                                  : fmt::format("{}/{}", kind.group, kind.version)},
                {"kind", kind.kind},
                {"metadata",
                 {{"name", name_there(kind, name)},
                  {"namespace", space},
                  {"labels", plain_texts(object, "/metadata/labels")},
                  {"annotations", std::move(annotations)}}}};
  for (const auto& member : kind.members)
    if (const auto found = object.find(member); found != object.end() && !found->is_null())
      out.object[member] = *found;
  if (kind.dress != nullptr) ZOO_TRY_VOID(kind.dress(out.object, terms));
  const json all = {out.object, terms.id};
  const auto text = kube::text_of(all);
  out.hash = crypto::short_digest(text, 16);
  out.bytes = text.size();
  out.labels = {{k_id_label, terms.id}};
  out.annotations = {{k_uid_annotation, uid.empty() ? std::string(k_unborn) : uid},
                     {k_hash_annotation, out.hash},
                     {k_keys_annotation, keys_text(out.object["metadata"])}};
  return out;
}

json dressed_anew(const MirrorKind& kind, json there, const MirrorWish& wish,
                  std::string_view known) {
  put_texts(there["metadata"], wish.object["metadata"], known);
  auto next = there;
  for (const auto& member : kind.members) {
    next.erase(member);
    if (const auto found = wish.object.find(member); found != wish.object.end())
      next[member] = *found;
  }
  if (kind.keep != nullptr) kind.keep(next, there);
  return next;
}

// ---- what is to be done about one ----

MirrorThere mirror_there(const json& object) {
  MirrorThere out;
  const auto annotations = kube::texts_at(object, "/metadata/annotations");
  const auto text = [&](const char* key) {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::string() : found->second;
  };
  out.uid = kube::text_at(object, "/metadata/uid");
  out.owner = text(k_uid_annotation);
  out.hash = text(k_hash_annotation);
  out.leaving = !kube::text_at(object, "/metadata/deletionTimestamp").empty();
  const auto version = kube::text_at(object, "/metadata/resourceVersion");
  std::from_chars(version.data(), version.data() + version.size(), out.version);
  out.made = kube::unix_seconds(kube::text_at(object, "/metadata/creationTimestamp"));
  return out;
}

std::string_view step_name(MirrorStep step) {
  constexpr std::array<std::string_view, 7> k_names = {"nothing", "create", "change", "replace",
                                                       "remove",  "wait",   "foreign"};
  return k_names[static_cast<std::size_t>(step)];
}

MirrorStep mirror_step(const std::optional<MirrorHere>& here,
                       const std::optional<MirrorThere>& there, std::int64_t now) {
  if (!there) return here ? MirrorStep::create : MirrorStep::nothing;
  if (there->owner.empty()) return here ? MirrorStep::foreign : MirrorStep::nothing;
  if (there->leaving) return MirrorStep::nothing; // when it has gone, that is heard
  const bool unborn = there->owner == k_unborn;
  if (!here) {
    if (unborn && now - there->made < k_unborn_seconds) return MirrorStep::wait;
    return MirrorStep::remove;
  }
  if (unborn) return MirrorStep::change;
  if (there->owner != here->uid) return MirrorStep::replace;
  return there->hash != here->hash ? MirrorStep::change : MirrorStep::nothing;
}

// ---- which objects a pod names ----

namespace {

json* member(json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

void name_of(json* reference, const char* key, std::string_view resource,
             const std::function<void(std::string_view, json&)>& each) {
  if (reference == nullptr) return;
  if (auto* name = member(*reference, key); name != nullptr && name->is_string())
    each(resource, *name);
}

template <class Take>
void each_of(json* list, Take&& take) {
  if (list == nullptr || !list->is_array()) return;
  for (auto& one : *list)
    take(one);
}

} // namespace

void each_reference(json& spec, const std::function<void(std::string_view, json&)>& each) {
  constexpr std::string_view k_maps = "configmaps", k_secrets = "secrets";
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    each_of(member(spec, list), [&](json& container) {
      each_of(member(container, "envFrom"), [&](json& source) {
        name_of(member(source, "configMapRef"), "name", k_maps, each);
        name_of(member(source, "secretRef"), "name", k_secrets, each);
      });
      each_of(member(container, "env"), [&](json& variable) {
        auto* const from = member(variable, "valueFrom");
        if (from == nullptr) return;
        name_of(member(*from, "configMapKeyRef"), "name", k_maps, each);
        name_of(member(*from, "secretKeyRef"), "name", k_secrets, each);
      });
    });
  each_of(member(spec, "imagePullSecrets"),
          [&](json& reference) { name_of(&reference, "name", k_secrets, each); });
  each_of(member(spec, "volumes"), [&](json& volume) {
    name_of(member(volume, "configMap"), "name", k_maps, each);
    name_of(member(volume, "secret"), "secretName", k_secrets, each);
    name_of(member(volume, "azureFile"), "secretName", k_secrets, each);
    for (const char* driver : {"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"})
      if (auto* of = member(volume, driver); of != nullptr)
        name_of(member(*of, "secretRef"), "name", k_secrets, each);
    if (auto* csi = member(volume, "csi"); csi != nullptr)
      name_of(member(*csi, "nodePublishSecretRef"), "name", k_secrets, each);
    if (auto* projected = member(volume, "projected"); projected != nullptr)
      each_of(member(*projected, "sources"), [&](json& source) {
        name_of(member(source, "configMap"), "name", k_maps, each);
        name_of(member(source, "secret"), "name", k_secrets, each);
      });
  });
}

std::vector<std::string> references_of(const json& pod) {
  std::vector<std::string> out;
  auto spec = pod.value("spec", json::object());
  const auto space = kube::text_at(pod, "/metadata/namespace");
  each_reference(spec, [&](std::string_view resource, json& name) {
    const auto text = name.get<std::string>();
    if (!text.empty() && out.size() < k_most_references)
      out.push_back(fmt::format("{}/{}/{}", mirror_kind_of(resource), space, text));
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

} // namespace zoo::clusters::sync
