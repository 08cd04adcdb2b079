// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/sync_room.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::clusters::sync {

/// Keeps the Secrets with the tokens of one cluster's pods upstream (pod_tokens.hpp). Any thread.
class TokenKeeper {
public:
  TokenKeeper(const SyncRoom& room, const PodTable& pods) : room_(room), pods_(pods) {}

  /// Everything that upstream has was read anew: pods without a Secret, or with one that ends soon,
  /// are looked at. Blocking.
  Result<void> patrol();
  /// A key of the queue without "t/": the pod's tokens are there, and are got again in time.
  /// Blocking.
  Result<WorkNext> work(const std::string& pod);

private:
  Result<std::string> ask(const nlohmann::json& pod, std::string_view audience,
                          std::int64_t seconds, std::int64_t& ends);

  const SyncRoom& room_;
  const PodTable& pods_;
};

} // namespace zoo::clusters::sync
