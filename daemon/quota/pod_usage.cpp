// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/pod_usage.hpp"

#include <algorithm>
#include <ctime>
#include <optional>

namespace zoo::quota {
namespace {

using kube::Quantity;
using translate::JsonNode;
using translate::JsonType;

constexpr std::string_view k_huge_pages = "hugepages-";

/// The larger amount of each name.
void raise_to(ResourceList& to, const ResourceList& other) {
  for (const auto& [name, amount] : other) {
    auto [found, fresh] = to.try_emplace(name, amount);
    if (!fresh && found->second < amount) found->second = amount;
  }
}

bool pod_level(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(k_huge_pages);
}

bool any_pod_level(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const auto& each) { return pod_level(each.first); });
}

bool resize_is_infeasible(JsonNode pod) {
  for (auto each = pod["status"]["conditions"].first(); each; each = each.next())
    if (each["type"].string() == "PodResizePending") return each["reason"].string() == "Infeasible";
  return false;
}

JsonNode status_of(JsonNode statuses, std::string_view container) {
  JsonNode out;
  for (auto each = statuses.first(); each; each = each.next())
    if (each["name"].string() == container) out = each; // the last one, as in a map
  return out;
}

/// Which of the two lists of a container's `resources` is summed up.
enum class Side : std::uint8_t { requests, limits };

std::string_view member(Side side) { return side == Side::requests ? "requests" : "limits"; }

struct Sum {
  JsonNode pod;
  Side side;
  bool infeasible;

  /// What a container has or is to have, be it larger than the specification or not.
  Result<ResourceList> of(JsonNode container, std::string_view statuses) const {
    ZOO_TRY(auto wanted, read_resources(container["resources"][member(side)]));
    const auto status = status_of(pod["status"][statuses], container["name"].string());
    if (!status["resources"].is(JsonType::object)) return wanted;
    ZOO_TRY(auto actual, read_resources(status["resources"][member(side)]));
    if (!infeasible) raise_to(actual, wanted);
    if (side == Side::requests) {
      ZOO_TRY(const auto allocated, read_resources(status["allocatedResources"]));
      raise_to(actual, allocated);
    }
    return actual;
  }

  /// What the pod says of itself, as far as it may, goes before what its containers have together
  /// (KEP-2837).
  Result<ResourceList> of_pod() const {
    ZOO_TRY(auto sum, of_containers());
    ZOO_TRY(const auto own, read_resources(pod["spec"]["resources"][member(side)]));
    for (const auto& [name, amount] : own)
      if (pod_level(name)) sum.insert_or_assign(name, amount);
    return sum;
  }

  Result<ResourceList> of_containers() const {
    ResourceList sum;
    const auto spec = pod["spec"];
    for (auto each = spec["containers"].first(); each; each = each.next()) {
      ZOO_TRY(const auto one, of(each, "containerStatuses"));
      add(sum, one);
    }
    // Each init container runs beside the sidecars before it; sidecars go on beside all others.
    ResourceList sidecars, first;
    for (auto each = spec["initContainers"].first(); each; each = each.next()) {
      if (each["restartPolicy"].string() == "Always") {
        ZOO_TRY(const auto one, of(each, "initContainerStatuses"));
        add(sum, one);
        add(sidecars, one);
        raise_to(first, sidecars);
      } else {
        ZOO_TRY(auto one, read_resources(each["resources"][member(side)]));
        add(one, sidecars);
        raise_to(first, one);
      }
    }
    raise_to(sum, first);
    return sum;
  }
};

/// Unix seconds, and seconds. The clock counts nanoseconds in 64 bits, which end in 2262: both
/// together are before that.
constexpr std::time_t k_latest = 9'000'000'000;
constexpr std::int64_t k_longest_grace = 200'000'000;

/// The time of an RFC 3339 text in UTC, as Kubernetes writes it.
std::optional<std::chrono::system_clock::time_point> parse_time(const std::string& text) {
  std::tm parts{};
  const auto* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::system_clock::from_time_t(
      std::clamp(::timegm(&parts), std::time_t{0}, k_latest));
}

bool term_looks_across(JsonNode term) {
  return term["namespaces"].first() || term["namespaceSelector"].is(JsonType::object);
}

bool affinity_looks_across(JsonNode affinity) {
  for (auto each = affinity["requiredDuringSchedulingIgnoredDuringExecution"].first(); each;
       each = each.next())
    if (term_looks_across(each)) return true;
  for (auto each = affinity["preferredDuringSchedulingIgnoredDuringExecution"].first(); each;
       each = each.next())
    if (term_looks_across(each["podAffinityTerm"])) return true;
  return false;
}

/// Is there CPU or memory above zero? An amount that is none counts as nothing.
bool computes(JsonNode resources) {
  for (const auto side : {Side::requests, Side::limits}) {
    const auto list = read_resources(resources[member(side)]);
    if (!list) continue;
    for (const auto* name : {"cpu", "memory"}) {
      const auto found = list->find(name);
      if (found != list->end() && found->second > Quantity{}) return true;
    }
  }
  return false;
}

} // namespace

Result<ResourceList> pod_requests(JsonNode pod) {
  ZOO_TRY(auto sum, (Sum{pod, Side::requests, resize_is_infeasible(pod)}.of_pod()));
  ZOO_TRY(const auto overhead, read_resources(pod["spec"]["overhead"]));
  add(sum, overhead);
  return sum;
}

Result<ResourceList> pod_limits(JsonNode pod) {
  ZOO_TRY(auto sum, (Sum{pod, Side::limits, resize_is_infeasible(pod)}.of_pod()));
  ZOO_TRY(const auto overhead, read_resources(pod["spec"]["overhead"]));
  for (const auto& [name, amount] : overhead)
    if (const auto found = sum.find(name); found != sum.end() && !found->second.zero())
      found->second += amount;
  return sum;
}

bool pod_is_charged(JsonNode pod, std::chrono::system_clock::time_point now) {
  const auto phase = pod["status"]["phase"].string();
  if (phase == "Failed" || phase == "Succeeded") return false;
  const auto ends = pod_charge_ends(pod);
  return !ends || now <= *ends;
}

std::optional<std::chrono::system_clock::time_point> pod_charge_ends(JsonNode pod) {
  const auto metadata = pod["metadata"];
  const auto grace = metadata["deletionGracePeriodSeconds"].integer();
  const auto deleted = parse_time(metadata["deletionTimestamp"].string());
  if (!grace || !deleted) return std::nullopt;
  return *deleted + std::chrono::seconds(std::clamp(*grace, std::int64_t{0}, k_longest_grace));
}

bool pod_terminates(JsonNode pod) {
  return pod["spec"]["activeDeadlineSeconds"].integer().value_or(-1) >= 0;
}

bool pod_is_best_effort(JsonNode pod) {
  if (const auto told = pod["status"]["qosClass"].string(); !told.empty())
    return told == "BestEffort";
  const auto spec = pod["spec"];
  for (const auto side : {Side::requests, Side::limits})
    if (const auto own = read_resources(spec["resources"][member(side)]);
        own && any_pod_level(*own))
      return !computes(spec["resources"]);
  for (const auto* list : {"containers", "initContainers"})
    for (auto each = spec[list].first(); each; each = each.next())
      if (computes(each["resources"])) return false;
  return true;
}

bool pod_looks_across_namespaces(JsonNode pod) {
  const auto affinity = pod["spec"]["affinity"];
  return affinity_looks_across(affinity["podAffinity"]) ||
         affinity_looks_across(affinity["podAntiAffinity"]);
}

} // namespace zoo::quota
