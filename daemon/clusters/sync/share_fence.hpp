// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/node_dress.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>

/// A second hold on a share, which the upstream keeps: should zood's ledger be wrong, no namespace
/// of a cluster takes more than the whole share. Pure.
namespace zoo::clusters::sync {

/// ResourceQuota `zoo-share` for one namespace, without the namespace's name: pods, cpu, memory and
/// extended resources. Nothing for a share of nothing.
std::optional<nlohmann::json> share_fence(const Capacity& share);

/// Gives each container a request of zero for cpu, and for memory, if it asks for none: the quota
/// refuses pods with a container that does not ask. A request of zero changes neither on which
/// nodes a pod fits nor its quality of service class.
void dress_for_fence(nlohmann::json& spec);

/// Did the quota refuse it? `message`: of the upstream. Its counts follow what has gone within
/// moments, and are not there when it is new.
bool is_of_fence(std::string_view message);

} // namespace zoo::clusters::sync
