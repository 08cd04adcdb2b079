// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/scopes.hpp"

#include "daemon/quota/pod_usage.hpp"

#include <algorithm>

namespace zoo::quota {
namespace {

using translate::JsonNode;

/// As a label selector would match one label, whose value is one of `names`; none: no such label.
bool selects(const Scope& scope, const std::vector<std::string>& names) {
  if (scope.op == "Exists") return !names.empty();
  if (scope.op == "DoesNotExist") return names.empty();
  const auto listed = [&](const std::string& name) {
    return std::find(scope.values.begin(), scope.values.end(), name) != scope.values.end();
  };
  if (scope.op == "In") return std::any_of(names.begin(), names.end(), listed);
  if (scope.op == "NotIn") return names.empty() || !std::all_of(names.begin(), names.end(), listed);
  return false;
}

std::vector<std::string> non_empty(std::vector<std::string> names) {
  std::erase(names, std::string());
  return names;
}

bool pod_in(const Scope& scope, JsonNode pod) {
  if (scope.name == "Terminating") return pod_terminates(pod);
  if (scope.name == "NotTerminating") return !pod_terminates(pod);
  if (scope.name == "BestEffort") return pod_is_best_effort(pod);
  if (scope.name == "NotBestEffort") return !pod_is_best_effort(pod);
  if (scope.name == "CrossNamespacePodAffinity") return pod_looks_across_namespaces(pod);
  return scope.name == "PriorityClass" &&
         selects(scope, non_empty({pod["spec"]["priorityClassName"].string()}));
}

bool claim_in(const Scope& scope, JsonNode claim) {
  const auto status = claim["status"];
  return scope.name == "VolumeAttributesClass" &&
         selects(
             scope,
             non_empty({claim["spec"]["volumeAttributesClassName"].string(),
                        status["currentVolumeAttributesClassName"].string(),
                        status["modifyVolumeStatus"]["targetVolumeAttributesClassName"].string()}));
}

} // namespace

std::vector<Scope> scopes_of(JsonNode spec) {
  std::vector<Scope> out;
  for (auto& name : spec["scopes"].strings())
    out.push_back({std::move(name), "Exists", {}});
  for (auto each = spec["scopeSelector"]["matchExpressions"].first(); each; each = each.next()) {
    auto values = each["values"].strings();
    std::sort(values.begin(), values.end());
    out.push_back({each["scopeName"].string(), each["operator"].string(), std::move(values)});
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool in_scope(const std::vector<Scope>& scopes, const Counted& kind, JsonNode object) {
  if (scopes.empty()) return true;
  if (!kind.group.empty()) return false;
  const bool pod = kind.resource == "pods";
  if (!pod && kind.resource != "persistentvolumeclaims") return false;
  return std::all_of(scopes.begin(), scopes.end(), [&](const Scope& each) {
    return pod ? pod_in(each, object) : claim_in(each, object);
  });
}

} // namespace zoo::quota
