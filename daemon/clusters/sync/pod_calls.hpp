// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/clusters/sync/calls.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

/// Requests about one pod, of either side's API server. Blocking; any thread.
namespace zoo::clusters::sync {

/// "namespace/name" in the cluster's names. A value.
struct PodKey : ObjectName {
  using ObjectName::ObjectName;
  std::string path() const;                            ///< in the cluster
  std::string path_there(const std::string& id) const; ///< upstream
};

/// A strategic merge patch. What it has made is not asked for: a pod is kilobytes.
Result<void> patch_pod(upstream::ControlApi& api, const std::string& path,
                       const nlohmann::json& patch);
/// The same of its status, in the cluster.
Result<void> patch_status(upstream::ControlApi& api, const PodKey& key,
                          const nlohmann::json& patch);

} // namespace zoo::clusters::sync
