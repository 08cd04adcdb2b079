// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/usage.hpp"

#include "daemon/quota/pod_usage.hpp"

#include <algorithm>
#include <array>

namespace zoo::quota {
namespace {

using kube::Quantity;
using translate::JsonNode;
using translate::JsonType;

constexpr std::string_view k_requests = "requests.";
constexpr std::string_view k_limits = "limits.";
constexpr std::string_view k_huge_pages = "hugepages-";
constexpr std::string_view k_by_storage_class = ".storageclass.storage.k8s.io/";
constexpr std::string_view k_by_device_class = ".deviceclass.resource.k8s.io/devices";
constexpr std::string_view k_device_class = "deviceclass.resource.kubernetes.io/";
constexpr std::string_view k_class_annotation = "volume.beta.kubernetes.io/storage-class";
/// resource.k8s.io AllocationResultsMaxSize: what "all devices" is charged as.
constexpr std::int64_t k_all_devices = 32;

/// Counted by their plain names, too, since before there was "count/".
constexpr std::array<std::string_view, 6> k_by_plain_name = {
    "configmaps", "persistentvolumeclaims", "replicationcontrollers",
    "secrets",    "resourcequotas",         "services"};

constexpr std::array<std::string_view, 3> k_computed = {"cpu", "memory", "ephemeral-storage"};

bool one_of(const auto& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string joined(std::string_view a, std::string_view b) {
  return std::string(a) + std::string(b);
}

/// "example.com/gpu"; not "cpu", not "kubernetes.io/x". Names that would be no quota's are not
/// stored by Kubernetes in the first place.
bool is_extended(std::string_view name) {
  if (name.starts_with(k_device_class)) return true;
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with(k_requests);
}

Result<void> charge_pod(ResourceList& out, JsonNode pod) {
  out["pods"] = Quantity::of(1);
  ZOO_TRY(const auto requests, pod_requests(pod));
  ZOO_TRY(const auto limits, pod_limits(pod));
  for (const auto name : k_computed) {
    if (const auto found = requests.find(name); found != requests.end()) {
      out.insert_or_assign(std::string(name), found->second);
      out.insert_or_assign(joined(k_requests, name), found->second);
    }
    if (const auto found = limits.find(name); found != limits.end())
      out.insert_or_assign(joined(k_limits, name), found->second);
  }
  for (const auto& [name, amount] : requests) {
    const bool pages = name.starts_with(k_huge_pages);
    if (pages) out.insert_or_assign(name, amount);
    if (pages || is_extended(name)) out.insert_or_assign(joined(k_requests, name), amount);
  }
  return {};
}

void charge_service(ResourceList& out, JsonNode service) {
  const auto spec = service["spec"];
  const auto type = spec["type"].string();
  std::int64_t ports = 0, chosen = 0;
  for (auto each = spec["ports"].first(); each; each = each.next()) {
    ++ports;
    if (each["nodePort"].integer().value_or(0) != 0) ++chosen;
  }
  const bool balanced = type == "LoadBalancer";
  const auto allocates = spec["allocateLoadBalancerNodePorts"];
  if (balanced && allocates.is(JsonType::boolean) && !allocates.boolean()) ports = chosen;
  out["services.loadbalancers"] = Quantity::of(balanced ? 1 : 0);
  out["services.nodeports"] = Quantity::of(balanced || type == "NodePort" ? ports : 0);
}

Result<void> charge_claim(ResourceList& out, JsonNode claim) {
  const auto spec = claim["spec"];
  // The annotation goes before the field (component-helpers storage/volume,
  // GetPersistentVolumeClaimClass).
  const auto annotated = claim["metadata"]["annotations"][k_class_annotation];
  const auto storage_class = (annotated ? annotated : spec["storageClassName"]).string();
  const auto by_class = joined(storage_class, k_by_storage_class);
  if (!storage_class.empty())
    out.insert_or_assign(by_class + "persistentvolumeclaims", Quantity::of(1));
  ZOO_TRY(const auto asked, read_resources(spec["resources"]["requests"]));
  const auto wanted = asked.find("storage");
  if (wanted == asked.end()) return {};
  auto bytes = wanted->second;
  ZOO_TRY(const auto allocated, read_resources(claim["status"]["allocatedResources"]));
  if (const auto found = allocated.find("storage");
      found != allocated.end() && found->second > bytes.rounded_up())
    bytes = found->second;
  bytes = bytes.rounded_up();
  out.insert_or_assign("requests.storage", bytes);
  if (!storage_class.empty()) out.insert_or_assign(by_class + "requests.storage", bytes);
  return {};
}

std::int64_t devices_of(JsonNode request) {
  const auto mode = request["allocationMode"].string();
  if (mode == "All") return k_all_devices;
  if (mode == "ExactCount" || mode.empty()) return request["count"].integer().value_or(1);
  return 0;
}

void charge_devices(ResourceList& out, JsonNode claim) {
  ResourceList by_class;
  const auto class_name = [](JsonNode request) {
    return joined(request["deviceClassName"].string(), k_by_device_class);
  };
  for (auto each = claim["spec"]["devices"]["requests"].first(); each; each = each.next()) {
    if (each["firstAvailable"].first()) {
      // Of what may be chosen, the most of each class.
      ResourceList most;
      for (auto option = each["firstAvailable"].first(); option; option = option.next()) {
        auto& known = most[class_name(option)];
        known = std::max(known, Quantity::of(devices_of(option)));
      }
      std::erase_if(most, [](const auto& entry) { return entry.second.zero(); });
      add(by_class, most);
    } else if (const auto exactly = each["exactly"]; exactly.is(JsonType::object)) {
      add(by_class, {{class_name(exactly), Quantity::of(devices_of(exactly))}});
    }
  }
  for (const auto& [name, amount] : by_class) {
    const auto own = name.substr(0, name.size() - k_by_device_class.size());
    out.insert_or_assign(joined("requests.deviceclass.resource.kubernetes.io/", own), amount);
  }
  add(out, by_class);
}

bool pod_name(std::string_view name) {
  if (name == "pods" || one_of(k_computed, name) || name.starts_with(k_huge_pages)) return true;
  const bool asked = name.starts_with(k_requests);
  if (!asked && !name.starts_with(k_limits)) return false;
  const auto of = name.substr(asked ? k_requests.size() : k_limits.size());
  return one_of(k_computed, of) || (asked && (of.starts_with(k_huge_pages) || is_extended(of)));
}

bool claim_name(std::string_view name) {
  const auto at = name.find(k_by_storage_class);
  const auto of = at == std::string_view::npos ? name : name.substr(at + k_by_storage_class.size());
  return of == "persistentvolumeclaims" || of == "requests.storage";
}

bool device_name(std::string_view name) {
  return name.ends_with(k_by_device_class) ||
         name.starts_with("requests.deviceclass.resource.kubernetes.io/");
}

} // namespace

void add(ResourceList& to, const ResourceList& more) {
  for (const auto& [name, amount] : more) {
    auto [found, fresh] = to.try_emplace(name, amount);
    if (!fresh) found->second += amount;
  }
}

ResourceList plus(ResourceList a, const ResourceList& b) {
  add(a, b);
  return a;
}

ResourceList beyond(const ResourceList& a, const ResourceList& b) {
  ResourceList out;
  for (const auto& [name, amount] : a) {
    const auto found = b.find(name);
    const auto rest = found == b.end() ? amount : amount - found->second;
    if (rest > Quantity{}) out.emplace_hint(out.end(), name, rest);
  }
  return out;
}

ResourceList only(const ResourceList& a, const ResourceList& by) {
  ResourceList out;
  for (const auto& [name, amount] : a)
    if (by.contains(name)) out.emplace_hint(out.end(), name, amount);
  return out;
}

Result<ResourceList> read_resources(JsonNode list) {
  ResourceList out;
  for (auto each = list.first(); each; each = each.next()) {
    auto amount =
        Quantity::parse(each.is(JsonType::string) ? each.string() : std::string(each.raw()));
    if (!amount) return fail(std::move(amount).error().context("{}", each.raw_key()));
    out.insert_or_assign(each.key(), *amount);
  }
  return out;
}

std::string count_name(const Counted& kind) {
  auto out = joined("count/", kind.resource);
  if (!kind.group.empty()) out += '.' + std::string(kind.group);
  return out;
}

Result<ResourceList> usage_of(const Counted& kind, JsonNode object,
                              std::chrono::system_clock::time_point now) {
  ResourceList out{{count_name(kind), Quantity::of(1)}};
  if (kind.group.empty()) {
    if (one_of(k_by_plain_name, kind.resource))
      out.insert_or_assign(std::string(kind.resource), Quantity::of(1));
    if (kind.resource == "pods" && pod_is_charged(object, now)) {
      ZOO_TRY_VOID(charge_pod(out, object));
    } else if (kind.resource == "services") {
      charge_service(out, object);
    } else if (kind.resource == "persistentvolumeclaims") {
      ZOO_TRY_VOID(charge_claim(out, object));
    }
  } else if (kind.group == "resource.k8s.io" && kind.resource == "resourceclaims") {
    charge_devices(out, object);
  }
  return out;
}

bool charges(const Counted& kind, std::string_view name) {
  if (name == count_name(kind)) return true;
  if (!kind.group.empty())
    return kind.group == "resource.k8s.io" && kind.resource == "resourceclaims" &&
           device_name(name);
  if (one_of(k_by_plain_name, kind.resource) && name == kind.resource) return true;
  if (kind.resource == "pods") return pod_name(name);
  if (kind.resource == "services")
    return name == "services.loadbalancers" || name == "services.nodeports";
  return kind.resource == "persistentvolumeclaims" && claim_name(name);
}

} // namespace zoo::quota
