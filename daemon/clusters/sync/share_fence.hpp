// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/node_dress.hpp"

#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

/// A second hold on a share, which the upstream keeps: should zood's ledger be wrong, no namespace
/// of a cluster takes more than the whole share. Pure.
namespace zoo::clusters::sync {

/// ResourceQuotas for one namespace, without the namespace's name: `zoo-share` for pods and
/// extended resources, and `zoo-share-requests` for cpu and memory of pods that ask for any, since
/// a quota of these refuses pods that do not. None for a share of nothing.
std::vector<nlohmann::json> share_fence(const Capacity& share);

/// Has each container of a pod that asks for anything ask for cpu and memory, be it zero: what the
/// quota demands, and what changes neither its place nor its class. A pod that asks for nothing
/// stays so.
void dress_for_fence(nlohmann::json& spec);

/// Did the quota refuse it? `message`: of the upstream. Its counts follow what has gone within
/// moments, and are not there when it is new.
bool is_of_fence(std::string_view message);

} // namespace zoo::clusters::sync
