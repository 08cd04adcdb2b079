// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/quantity.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::clusters::sync {

/// Of which resource how much: a few of them, sorted by name, each once. Small, for there is one a
/// pod.
using Amounts = std::vector<std::pair<std::string, kube::Quantity>>;

kube::Quantity amount_of(const Amounts& amounts, std::string_view resource); ///< or zero
void add(std::map<std::string, kube::Quantity>& to, const Amounts& amounts);
void take(std::map<std::string, kube::Quantity>& from, const Amounts& amounts);

/// What a pod that asks for no cpu, or no memory, counts as, against a share.
inline constexpr std::string_view k_least_cpu = "100m", k_least_memory = "128Mi";

/// What the scheduler sets aside for a pod (k8s.io/component-helpers resource.PodRequests): the sum
/// of its containers and of the init containers that go on beside them, or the largest of the other
/// init containers, if that is more; what is written for the whole pod goes before. To that the
/// overhead of its RuntimeClass. And one of "pods". What cannot be read counts as nothing: the API
/// server that stored it has taken it. Pure.
Amounts pod_requests(const nlohmann::json& pod);
/// The same, where one that asks for no cpu, or no memory, counts as asking for the least.
Amounts pod_claims(const nlohmann::json& pod);
/// What a pod upstream claims by those of its containers that the cluster knows, which `containers`
/// names. Upstream's own webhooks may have added others, which are not the cluster's to pay for.
Amounts pod_claims(nlohmann::json pod, const std::vector<std::string>& containers);

/// Of each resource the larger amount.
Amounts larger_of(const Amounts& one, const Amounts& other);

} // namespace zoo::clusters::sync
