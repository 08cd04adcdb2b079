// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/share_fence.hpp"

#include "common/kube/json_reads.hpp"

#include <array>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr const char* k_name = "zoo-share";
constexpr std::array k_computed = {"cpu", "memory"};

json quota(std::string name, json hard) {
  return {{"apiVersion", "v1"},
          {"kind", "ResourceQuota"},
          {"metadata", {{"name", std::move(name)}}},
          {"spec", {{"hard", std::move(hard)}}}};
}

bool is_computed(const std::string& name) { return name == k_computed[0] || name == k_computed[1]; }

bool asks(const json& container) {
  const json::json_pointer requests("/resources/requests"), limits("/resources/limits");
  for (const auto& at : {requests, limits})
    if (container.contains(at) && container.at(at).is_object())
      for (const auto& each : container.at(at).items())
        if (is_computed(each.key())) return true;
  return false;
}

} // namespace

std::vector<json> share_fence(const Capacity& share) {
  std::vector<json> out;
  if (share.empty()) return out;
  json computed = json::object(), others = json::object();
  for (const auto& [name, amount] : share_capacity(share)) {
    if (is_computed(name))
      computed["requests." + name] = amount.text();
    else if (name == "pods")
      others[name] = amount.text();
    else if (name.find('/') != name.npos) // an extended resource; no other one is counted by quotas
      others["requests." + name] = amount.text();
  }
  out.push_back(quota(k_name, std::move(others)));
  if (computed.empty()) return out;
  out.push_back(quota(std::string(k_name) + "-requests", std::move(computed)));
  out.back()["spec"]["scopes"] = json::array({"NotBestEffort"});
  return out;
}

void dress_for_fence(json& spec) {
  bool any = false;
  for (const char* list : {"/initContainers", "/containers"})
    for (const auto& each : kube::list_at(spec, list))
      any = any || asks(each);
  if (!any) return;
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
