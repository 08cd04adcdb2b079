// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/quantity.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

/// What an object costs, as the ResourceQuota plugin of kube-apiserver and the controller of
/// kube-controller-manager count it (k8s.io/kubernetes pkg/quota/v1/evaluator). Pure: any thread.
namespace zoo::quota {

/// Amounts by resource name: "pods", "requests.cpu", "count/deployments.apps".
using ResourceList = std::map<std::string, kube::Quantity, std::less<>>;

/// Adds each amount of `more`.
void add(ResourceList& to, const ResourceList& more);
ResourceList plus(ResourceList a, const ResourceList& b);
/// `a` less `b`, name by name; what is zero or below is left out.
ResourceList beyond(const ResourceList& a, const ResourceList& b);
/// The names of `a` that `by` has as well.
ResourceList only(const ResourceList& a, const ResourceList& by);

/// Reads a resource list ({"cpu": "500m", "pods": 10}). Code::invalid, naming the entry.
Result<ResourceList> read_resources(translate::JsonNode list);

/// A kind, as rules of admission name it.
struct Counted {
  std::string_view group;    ///< "" is the core group
  std::string_view resource; ///< "pods"
};

/// The name by which objects of a kind are counted: "count/pods", "count/deployments.apps".
std::string count_name(const Counted& kind);

/// Everything that may be charged for one object. Pods that have ended, or whose time to end is
/// over at `now`, cost `count/pods` alone. Of ResourceClaims that stand for extended resources,
/// what the pod has paid already is not known here and is counted.
/// Code::invalid: an amount that is no quantity.
Result<ResourceList> usage_of(const Counted& kind, translate::JsonNode object,
                              std::chrono::system_clock::time_point now);

/// May objects of this kind be charged under that name?
bool charges(const Counted& kind, std::string_view name);

} // namespace zoo::quota
