// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/client.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <string>
#include <utility>

namespace zoo::clusters::sync {

/// Connects to the API server of a virtual cluster.
using ConnectOwn = std::function<std::unique_ptr<upstream::ControlApi>(
    kube::ClusterAccess access, kube::KubeClientOptions options)>;
inline std::unique_ptr<upstream::ControlApi> connect_to_own(kube::ClusterAccess access,
                                                            kube::KubeClientOptions options) {
  return std::make_unique<upstream::KubeApi>(std::move(access), upstream::KubeApi::Authorization(),
                                             std::move(options));
}

/// How many lists of one virtual cluster are in memory at a time: what its tenant stores makes them
/// as large as it likes.
using ListTurns = std::counting_semaphore<2>;

/// What is to be heard of one collection of a virtual cluster's API server.
struct OwnWatch {
  ListTurns& turns;        ///< of the cluster
  std::string path{};      ///< of all namespaces
  kube::Query selectors{}; ///< of each request
  /// It is there, or was changed: always an object. One for which this throws is passed over.
  std::function<void(const nlohmann::json& object)> found{};
  std::function<void(const nlohmann::json& object)> gone{};
  std::function<void()> listed{}; ///< all that are there were found
};

/// Lists the collection, when it has its turn, and watches it from there on. Returns without an
/// error when it is time to list it again: after `patrol`, or where the API server has forgotten
/// the place; else with the first error. `calls` ends a request that is under way, `stop` the
/// whole. Blocks.
Result<void> hear_once(kube::ClusterAccess access, const OwnWatch& watch,
                       std::chrono::milliseconds patrol, const std::stop_token& calls,
                       const std::stop_token& stop);

/// The form of hear_once().
using Hear = std::function<Result<void>(kube::ClusterAccess access, const OwnWatch& watch,
                                        std::chrono::milliseconds patrol,
                                        const std::stop_token& calls, const std::stop_token& stop)>;

/// Calls `hear` again and again until `stop`; after an error, and after what was over within a
/// second, with a growing pause. The error goes to `failed` first.
void keep_hearing(const std::stop_token& stop, const std::function<Result<void>()>& hear,
                  const std::function<void(const Error& error)>& failed);

} // namespace zoo::clusters::sync
