// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/share_fence.hpp"

#include "common/kube/json_reads.hpp"

#include <array>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_name = "zoo-share";
constexpr std::array k_computed = {"cpu", "memory"};

bool is_computed(const std::string& name) { return name == k_computed[0] || name == k_computed[1]; }

} // namespace

std::optional<json> share_fence(const Capacity& share) {
  if (share.empty()) return std::nullopt;
  json hard = json::object();
  for (const auto& [name, amount] : share_capacity(share)) {
    if (name == "pods")
      hard[name] = amount.text();
    else if (is_computed(name) || name.find('/') != name.npos) // quotas count no others
      hard["requests." + name] = amount.text();
  }
  return json{{"apiVersion", "v1"},
              {"kind", "ResourceQuota"},
              {"metadata", {{"name", k_name}}},
              {"spec", {{"hard", std::move(hard)}}}};
}

void dress_for_fence(json& spec) {
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (auto& container : spec[list]) {
      auto& resources = container["resources"];
      if (!resources.is_object()) resources = json::object();
      const auto limits = kube::texts_at(resources, "/limits");
      const auto requests = kube::texts_at(resources, "/requests");
      for (const char* name : k_computed)
        if (!limits.contains(name) && !requests.contains(name)) resources["requests"][name] = "0";
    }
  }
}

bool is_of_fence(std::string_view message) {
  // "exceeded quota: zoo-share, ..." and "status unknown for quota: zoo-share, ..."
  return message.find("quota: zoo-share") != message.npos;
}

} // namespace zoo::clusters::sync
