// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_status.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr std::array k_plain = {"phase",   "message", "reason", "hostIP",
                                "hostIPs", "podIP",   "podIPs", "startTime"};
constexpr std::array k_container_lists = {
    std::pair("initContainerStatuses", "/status/initContainerStatuses"),
    std::pair("containerStatuses", "/status/containerStatuses"),
    std::pair("ephemeralContainerStatuses", "/status/ephemeralContainerStatuses")};
/// Conditions that kubelets take away again.
constexpr std::array k_passing = {"PodResizePending", "PodResizeInProgress"};
/// Lists that a strategic merge patch would add to.
constexpr std::array k_merged = {"hostIPs", "podIPs"};

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

json conditions_of(const json& pod, const StatusTerms& terms) {
  json out = json::array();
  // Gates that somebody upstream has added are no business of the cluster's.
  const auto gates = status_terms(pod).gates;
  for (const auto& each : kube::list_at(pod, "/status/conditions")) {
    if (!each.is_object()) continue;
    const auto type = each.value("type", json());
    if (!type.is_string()) continue;
    const auto name = type.get<std::string>();
    if (among(terms.gates, name) || among(gates, name)) continue;
    if (type == "PodScheduled" && each.value("status", json()) != "True") continue;
    auto own = each;
    own.erase("observedGeneration"); // of another object
    own.erase("lastProbeTime");      // the API server writes null for none
    out.push_back(std::move(own));
  }
  std::sort(out.begin(), out.end(), [](const json& a, const json& b) {
    return a["type"].get_ref<const std::string&>() < b["type"].get_ref<const std::string&>();
  });
  return out;
}

} // namespace

StatusTerms status_terms(const json& pod) {
  StatusTerms out;
  out.uid = kube::text_at(pod, "/metadata/uid");
  const auto* const generation = kube::find_at(pod, "/metadata/generation");
  if (generation != nullptr && generation->is_number_integer())
    out.generation = generation->get<std::int64_t>();
  for (const char* list : {"/spec/initContainers", "/spec/containers", "/spec/ephemeralContainers"})
    for (const auto& each : kube::list_at(pod, list))
      if (auto name = kube::text_at(each, "/name"); !name.empty())
        out.containers.push_back(std::move(name));
  for (const auto& each : kube::list_at(pod, "/spec/readinessGates"))
    if (auto type = kube::text_at(each, "/conditionType"); !type.empty())
      out.gates.push_back(std::move(type));
  return out;
}

json status_alone(const json& pod) {
  json out = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  for (const char* key : {"name", "namespace"})
    out["metadata"][key] = kube::value_at(pod, fmt::format("/metadata/{}", key));
  if (const auto& gates = kube::list_at(pod, "/spec/readinessGates"); !gates.empty())
    out["spec"]["readinessGates"] = gates;
  out["status"] = kube::value_at(pod, "/status");
  return out;
}

json shown_status(const json& pod, const StatusTerms& terms) {
  json out = json::object();
  const auto status = pod.find("status");
  if (status == pod.end() || !status->is_object()) return out;
  for (const char* key : k_plain)
    if (const auto found = status->find(key); found != status->end() && !found->is_null())
      out[key] = *found;
  for (const auto& [key, pointer] : k_container_lists) {
    json own = json::array();
    for (const auto& each : kube::list_at(pod, pointer))
      if (among(terms.containers, kube::text_at(each, "/name"))) own.push_back(each);
    if (!own.empty()) out[key] = std::move(own);
  }
  if (auto conditions = conditions_of(pod, terms); !conditions.empty())
    out["conditions"] = std::move(conditions);
  return out;
}

bool says_nothing(const json& shown) {
  for (const auto& [key, value] : shown.items()) {
    if (key == "phase" && value == "Pending") continue;
    if (key != "conditions") return false;
    for (const auto& each : value)
      if (each.value("type", json()) != "PodScheduled") return false;
  }
  return true;
}

json status_patch(const json& shown, const StatusTerms& terms) {
  json status = shown, gone = json::array();
  for (const char* key : k_plain)
    if (!status.contains(key)) status[key] = nullptr;
  for (const auto& [key, pointer] : k_container_lists)
    if (!status.contains(key)) status[key] = nullptr;
  for (const char* type : k_passing) {
    const bool there = std::any_of(
        kube::list_at(shown, "/conditions").begin(), kube::list_at(shown, "/conditions").end(),
        [type](const json& each) { return each.value("type", json()) == type; });
    if (!there) gone.push_back({{"type", type}, {"$patch", "delete"}});
  }
  for (const char* key : k_merged)
    if (status[key].is_array()) status[key].push_back({{"$patch", "replace"}});
  if (terms.generation != 0) {
    status["observedGeneration"] = terms.generation;
    if (status.contains("conditions"))
      for (auto& each : status["conditions"])
        each["observedGeneration"] = terms.generation;
  }
  for (auto& each : gone)
    status["conditions"].push_back(std::move(each));
  return {{"metadata", {{"uid", terms.uid}}}, {"status", std::move(status)}};
}

std::string lacking(std::string_view message) {
  constexpr std::string_view k_insufficient = "Insufficient ";
  if (message.find("Too many pods") != message.npos) return "pods";
  const auto at = message.find(k_insufficient);
  if (at == message.npos) return {};
  message.remove_prefix(at + k_insufficient.size());
  auto name = message.substr(0, message.find_first_of(", "));
  while (name.ends_with('.'))
    name.remove_suffix(1);
  return std::string(name.substr(0, 253));
}

std::uint64_t fingerprint(const json& value) {
  const auto digest = crypto::sha256(kube::text_of(value));
  std::uint64_t out = 0;
  std::memcpy(&out, digest.data(), sizeof(out));
  return out;
}

} // namespace zoo::clusters::sync
