// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/definitions.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::tenants {
namespace {

using nlohmann::json;

json readable_version(const std::string& name, bool served, bool storage) {
  return {{"name", name},
          {"served", served},
          {"storage", storage},
          {"schema",
           {{"openAPIV3Schema",
             {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}}}};
}

} // namespace

std::string missing_version(std::string_view message, std::string_view group) {
  // "request to convert CR from an invalid group/version: example.com/v1alpha1"
  // (k8s.io/apiextensions-apiserver pkg/apiserver/conversion/converter.go)
  const auto begins = "invalid group/version: " + std::string(group) + "/";
  const auto at = message.find(begins);
  if (at == message.npos) return {};
  const auto rest = message.substr(at + begins.size());
  const auto end = std::find_if_not(rest.begin(), rest.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  return {rest.begin(), end};
}

json readable_definition(const json& definition, const std::string& version) {
  auto out = definition;
  auto versions = json::array();
  bool there = version.empty();
  for (const auto& each : definition.value("/spec/versions"_json_pointer, json::array())) {
    const auto name = each.value("name", std::string());
    there = there || name == version;
    versions.push_back(
        readable_version(name, each.value("served", false), each.value("storage", false)));
  }
  if (!there) versions.push_back(readable_version(version, false, false));
  out["spec"]["versions"] = std::move(versions);
  out["spec"]["conversion"] = {{"strategy", "None"}};
  // Upstream serves nothing of a kind that lacks one of these.
  const auto wanted = definition.value("/spec/names"_json_pointer, json::object());
  auto& accepted = out["status"]["acceptedNames"];
  for (const auto* name : {"plural", "singular", "kind", "listKind"}) {
    if (accepted.value(name, std::string()).empty() && wanted.contains(name))
      accepted[name] = wanted[name];
  }
  return out;
}

bool hides_objects(const json& definition) {
  for (const auto* name : {"plural", "singular", "kind", "listKind"}) {
    const auto at = json::json_pointer("/status/acceptedNames") / name;
    if (definition.value(at, std::string()).empty()) return false; // nothing was ever stored
  }
  const auto conditions = definition.value("/status/conditions"_json_pointer, json::array());
  return std::none_of(conditions.begin(), conditions.end(), [](const json& condition) {
    return condition.value("type", "") == "Established" && condition.value("status", "") == "True";
  });
}

json established(const json& definition) {
  auto out = definition;
  auto conditions = json::array();
  for (const auto& each : definition.value("/status/conditions"_json_pointer, json::array()))
    if (each.value("type", "") != "Established") conditions.push_back(each);
  conditions.push_back({{"type", "Established"},
                        {"status", "True"},
                        {"reason", "TenantGoes"},
                        {"message", "its objects are deleted with its tenant"}});
  out["status"]["conditions"] = std::move(conditions);
  return out;
}

} // namespace zoo::tenants
