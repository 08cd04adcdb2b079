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

bool pod_in(const Scope& scope, const ScopeFacts& pod) {
  if (scope.name == "Terminating") return pod.terminating;
  if (scope.name == "NotTerminating") return !pod.terminating;
  if (scope.name == "BestEffort") return pod.best_effort;
  if (scope.name == "NotBestEffort") return !pod.best_effort;
  if (scope.name == "CrossNamespacePodAffinity") return pod.across;
  return scope.name == "PriorityClass" && selects(scope, pod.classes);
}

bool claim_in(const Scope& scope, const ScopeFacts& claim) {
  return scope.name == "VolumeAttributesClass" && selects(scope, claim.classes);
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

ScopeFacts scope_facts(const Counted& kind, JsonNode object) {
  ScopeFacts out;
  if (!kind.group.empty()) return out;
  if (kind.resource == "pods") {
    out.kind = ScopeFacts::Kind::pod;
    out.terminating = pod_terminates(object);
    out.best_effort = pod_is_best_effort(object);
    out.across = pod_looks_across_namespaces(object);
    out.classes = non_empty({object["spec"]["priorityClassName"].string()});
  } else if (kind.resource == "persistentvolumeclaims") {
    const auto status = object["status"];
    out.kind = ScopeFacts::Kind::claim;
    out.classes =
        non_empty({object["spec"]["volumeAttributesClassName"].string(),
                   status["currentVolumeAttributesClassName"].string(),
                   status["modifyVolumeStatus"]["targetVolumeAttributesClassName"].string()});
  }
  return out;
}

bool in_scope(const std::vector<Scope>& scopes, const ScopeFacts& facts) {
  if (scopes.empty()) return true;
  if (facts.kind == ScopeFacts::Kind::other) return false;
  return std::all_of(scopes.begin(), scopes.end(), [&](const Scope& each) {
    return facts.kind == ScopeFacts::Kind::pod ? pod_in(each, facts) : claim_in(each, facts);
  });
}

bool in_scope(const std::vector<Scope>& scopes, const Counted& kind, JsonNode object) {
  return scopes.empty() || in_scope(scopes, scope_facts(kind, object));
}

} // namespace zoo::quota
