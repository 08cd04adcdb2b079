// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/sync_room.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::clusters::sync {

/// How pods of a cluster reach its API server: Service default/kubernetes has the same ClusterIP in
/// the cluster and upstream, and leads to zood's address and the cluster's direct port.
struct OwnApi {
  std::string address; ///< the ClusterIP
  std::string trouble; ///< why pods cannot reach it; "": they can
};

/// Makes it so, on both sides. Blocking.
Result<OwnApi> keep_own_api(const SyncRoom& room, const std::string& advertised,
                            std::uint16_t port);

/// By this the cluster's API server asks zood (zood.internal/services) before it stores a Service,
/// so that its addresses and ports are the upstream's. `authorities`: of the cluster, in PEM. Pure.
nlohmann::json service_hook(std::string_view authorities);
inline constexpr const char* k_service_hook = "zoo-services";

/// Puts it back where somebody has taken it away, or changed it. Blocking.
Result<void> keep_service_hook(const SyncRoom& room);

} // namespace zoo::clusters::sync
