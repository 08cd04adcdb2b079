// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/sync_room.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string_view>

namespace zoo::clusters::sync {

/// The APIService v1beta1.metrics.k8s.io of the cluster. `authorities`: of the cluster, in PEM.
/// Pure.
nlohmann::json usage_api(std::string_view authorities);
/// Is it the one that zood has made? Another one, of a metrics-server in the cluster, stays. Pure.
bool is_own_usage_api(const nlohmann::json& api_service);

/// How often zood looks whether the upstream has such an API.
inline constexpr std::chrono::seconds k_usage_look{60};

/// Gives the cluster the API by which `kubectl top` and autoscalers learn what pods use, where
/// upstream has it, and takes it away where it has it no more. While upstream's does not answer
/// nothing is changed. An APIService of this name that is another's stays as it is. Blocking.
Result<void> keep_usage_api(const SyncRoom& room);

} // namespace zoo::clusters::sync
