// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/sync_room.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::clusters::sync {

/// The Event as the cluster shows it, of upstream's in the cluster's names; nothing if it says what
/// the cluster's own scheduler has said already. `pod_uid`: of the cluster's pod. Pure.
std::optional<nlohmann::json> shown_event(const nlohmann::json& event, std::string_view pod_uid);

/// How many may be shown: so many a minute, and as many at once. Pure but for the clock it is
/// given.
class EventPace {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t k_a_minute = 50;
  bool take(Clock::time_point now); ///< false: not now

private:
  Clock::time_point since_{};
  std::size_t taken_ = 0;
};

/// What upstream's kubelets, scheduler and controllers say of one cluster's pods, shown there. At
/// most EventPace::k_a_minute a minute; how many were left out is said once a minute. Any thread.
class PodEvents {
public:
  static constexpr std::size_t k_most = 500;                        ///< that wait
  static constexpr std::size_t k_most_bytes = std::size_t{1} << 20; ///< of them

  PodEvents(const SyncRoom& room, const PodTable& pods) : room_(room), pods_(pods) {}
  /// Upstream has this Event of a pod. Does not block.
  void hear(std::string_view event);
  /// The key "e/" of the queue. Blocking.
  Result<WorkNext> work();

private:
  Result<void> show(const std::string& text);
  Result<void> tell_left_out(std::size_t count);

  const SyncRoom& room_;
  const PodTable& pods_;
  std::mutex mutex_;
  std::deque<std::string> waiting_;
  std::size_t bytes_ = 0, left_out_ = 0;
  EventPace pace_;
  EventPace::Clock::time_point told_{};
};

} // namespace zoo::clusters::sync
