// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/sync_room.hpp"
#include "daemon/clusters/usage.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters::sync {

/// Answers what one cluster's API server asks about the usage of its pods and Nodes, one question
/// after the other, by what the upstream's metrics API says. Any thread.
class UsageAnswers {
public:
  /// JSON text. On the thread that has answered.
  using Done = std::function<void(Result<std::string> answer)>;

  UsageAnswers(const SyncRoom& room, const PodTable& table) : room_(room), table_(table) {}
  /// Who still waits is told that nobody answers any more.
  ~UsageAnswers();
  UsageAnswers(const UsageAnswers&) = delete;

  /// Does not block; work() answers. False: k_most questions wait, and `done` is not called.
  bool ask(UsageRequest request, Done done);
  /// The key "q/" of the queue. Blocking.
  WorkNext work();

  static constexpr std::size_t k_most = 64; ///< questions of one cluster that wait
  static constexpr std::size_t k_answer_bytes = std::size_t{16} << 20; ///< of upstream's answer
  /// How long what upstream has said, or that it says nothing, serves further questions. What a
  /// metrics-server knows is older as a rule: it looks every 15 seconds.
  static constexpr std::chrono::seconds k_kept{2};
  /// A question that took the processor a time T is followed by a pause of k_rest times T before
  /// the next one of the cluster, so that this takes one of its workers a twentieth of its time.
  static constexpr int k_rest = 20;

private:
  using Clock = std::chrono::steady_clock;
  struct Question {
    UsageRequest request;
    Done done;
  };
  Result<std::string> answer(const UsageRequest& request);
  Result<std::vector<NodeLabels>> nodes(const UsageRequest& request);
  const Result<std::vector<PodUsage>>& usage();
  Result<std::vector<PodUsage>> read();

  const SyncRoom& room_;
  const PodTable& table_;
  std::mutex mutex_;
  std::deque<Question> waiting_;
  Clock::time_point free_at_{}; ///< under the mutex: when the next question may be answered
  // Of work(), which one thread at a time calls.
  std::optional<Result<std::vector<PodUsage>>> known_;
  Clock::time_point known_until_{};
};

} // namespace zoo::clusters::sync
