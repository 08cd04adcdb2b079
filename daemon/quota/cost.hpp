// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/quota/limits.hpp"
#include "daemon/quota/scopes.hpp"
#include "daemon/quota/usage.hpp"

#include <chrono>
#include <optional>
#include <string>

/// What one object costs, kept without the object. Pure: any thread.
namespace zoo::quota {

struct Cost {
  ResourceList all; ///< usage_of()
  ScopeFacts facts;
  /// From then on it is charged for being stored alone: a pod whose time to end is over.
  std::optional<std::chrono::system_clock::time_point> ends;
};

/// Code::invalid: an amount that is no quantity.
Result<Cost> cost_of(const Counted& kind, translate::JsonNode object,
                     std::chrono::system_clock::time_point now);

/// What of it this limit counts.
ResourceList charged(const Cost& cost, const Limit& limit);

/// By which objects of a kind are told apart in one namespace: "pods/web-1",
/// "deployments.apps/web".
std::string object_key(const Counted& kind, std::string_view name);

/// Is each amount of `a` at most that of `b`? A name that `b` has not is zero there.
bool within(const ResourceList& a, const ResourceList& b);
/// Takes each amount of `less` away; what is zero then is left out.
void subtract(ResourceList& from, const ResourceList& less);
/// The larger of both, name by name.
ResourceList larger(ResourceList a, const ResourceList& b);
/// "pods=1,requests.cpu=500m", as ResourceQuota's own refusals say it.
std::string amounts_text(const ResourceList& list);

} // namespace zoo::quota
