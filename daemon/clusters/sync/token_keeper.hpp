// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/sync_room.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::clusters::sync {

/// Keeps the Secrets with the tokens of one cluster's pods upstream (pod_tokens.hpp). Any thread.
class TokenKeeper {
public:
  static constexpr std::size_t k_most_begun = 64; ///< pods of which some tokens were got

  TokenKeeper(const SyncRoom& room, const PodTable& pods) : room_(room), pods_(pods) {}

  /// Everything that upstream has was read anew: pods without a Secret, or with one that ends soon,
  /// are looked at. Blocking.
  Result<void> patrol();
  /// The pod, as the cluster has it, was made upstream in this moment: its Secret is not there yet.
  /// Whatever is in the way is left to work(). Blocking.
  void begin(const std::string& key, const nlohmann::json& pod);
  /// A key of the queue without "t/": the pod's tokens are there, and are got again in time.
  /// Blocking.
  Result<WorkNext> work(const std::string& pod);

private:
  /// What was got for a pod before its turn was over.
  struct Begun {
    std::string uid;
    std::vector<std::pair<std::string, std::string>> tokens; ///< by TokenWant::key, in their order
    std::int64_t ends = 0;                                   ///< the first of them
    WorkTime::Clock::time_point since = WorkTime::Clock::now();
  };
  /// `there`: the Secret as upstream has it; null: it has none.
  Result<WorkNext> put(const std::string& key, const PodFacts& facts, const nlohmann::json& pod,
                       const nlohmann::json& there);
  std::string secrets_of(const std::string& space) const; ///< of a namespace of the cluster
  Begun take_begun(const std::string& pod, const std::string& uid);
  void put_begun(const std::string& pod, Begun begun);
  Result<std::string> ask(const nlohmann::json& pod, std::string_view audience,
                          std::int64_t seconds, std::int64_t& ends);

  const SyncRoom& room_;
  const PodTable& pods_;
  std::mutex mutex_;
  std::map<std::string, Begun> begun_;
};

} // namespace zoo::clusters::sync
