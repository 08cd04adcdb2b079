// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// Requests about one pod, of either side's API server. Blocking; any thread.
namespace zoo::clusters::sync {

/// "namespace/name" in the cluster's names. A value.
struct PodKey {
  std::string space, name;
  explicit PodKey(const std::string& text)
      : space(text.substr(0, text.find('/'))), name(text.substr(text.find('/') + 1)) {}
  std::string path() const;                            ///< in the cluster
  std::string path_there(const std::string& id) const; ///< upstream
};

/// A strategic merge patch; returns what it has made.
Result<nlohmann::json> patch_pod(upstream::ControlApi& api, const std::string& path,
                                 const nlohmann::json& patch);
/// The same of its status, in the cluster.
Result<void> patch_status(upstream::ControlApi& api, const PodKey& key,
                          const nlohmann::json& patch);

/// It went, or another one has its name: whoever hears of that looks again.
bool is_gone(const Error& error);
/// It will not be taken as it is.
bool is_refusal(const Error& error);

/// Deletes the pod of that UID; `grace` -1: with its own. Nobody's any more, or another one by now:
/// that is as good as done.
Result<void> removed(upstream::ControlApi& api, const std::string& path, std::string_view uid,
                     std::int64_t grace);

} // namespace zoo::clusters::sync
