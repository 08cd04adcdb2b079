// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/usage.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Which objects a quota speaks of. Pure: any thread.
namespace zoo::quota {

/// One condition of a quota, from `scopes` or `scopeSelector.matchExpressions`.
struct Scope {
  std::string name; ///< "BestEffort", "PriorityClass"
  std::string op;   ///< "Exists", "DoesNotExist", "In", "NotIn"; of `scopes`: "Exists"
  std::vector<std::string> values;
  auto operator<=>(const Scope&) const = default;
};

/// The conditions of a ResourceQuotaSpec, in order and each once, so that two quotas that speak of
/// the same objects have equal lists.
std::vector<Scope> scopes_of(translate::JsonNode spec);

/// All that scopes ask of one object, so that they can be asked when it is not at hand any more.
struct ScopeFacts {
  enum class Kind : std::uint8_t { other, pod, claim } kind = Kind::other;
  bool terminating = false, best_effort = false, across = false; ///< of a pod
  std::vector<std::string> classes; ///< PriorityClass of a pod, VolumeAttributesClasses of a claim
};
ScopeFacts scope_facts(const Counted& kind, translate::JsonNode object);

/// Do all of them hold for this object? With none: yes. Only pods and claims have what a scope
/// can ask for; for other kinds a quota with scopes never counts.
bool in_scope(const std::vector<Scope>& scopes, const ScopeFacts& facts);
bool in_scope(const std::vector<Scope>& scopes, const Counted& kind, translate::JsonNode object);

} // namespace zoo::quota
