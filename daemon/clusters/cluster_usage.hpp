// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/clusters/usage.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::clusters {

/// What the pods of one virtual cluster use, as the upstream's metrics API says when it is asked
/// for, and for k_kept afterwards. Who asks is told in turn, one at a time. On the cluster's loop.
class ClusterUsage {
public:
  using Usages = std::shared_ptr<const std::vector<PodUsage>>;
  /// Code::unavailable: the upstream does not say.
  using Done = std::function<void(Result<Usages>)>;

  /// `api`: the upstream as zood, on this loop; asked for when it is needed. It is zood that asks,
  /// since pods of all namespaces are listed at once, which the cluster's user may not; the answer
  /// is of pods with the cluster's mark in its namespaces.
  ClusterUsage(net::Loop& loop, std::string id, std::function<upstream::Caller&()> api,
               FindPlace place, int rest = k_rest);

  /// `done` comes once, perhaps from inside this call, unless what is returned is destroyed before.
  /// What it does with the answer counts as time that the loop has spent on it.
  std::shared_ptr<void> read(Done done);

  /// What a metrics-server knows is older than that as a rule: it looks every 15 seconds.
  static constexpr std::chrono::seconds k_kept{2};
  static constexpr std::size_t k_answer_bytes = 8u << 20; ///< some 20,000 pods; docs/limits.md
  /// What took the loop a time T - to read what upstream says, to answer somebody - is followed by
  /// nothing else for k_rest times T. So one cluster takes a twentieth of its loop at most.
  static constexpr int k_rest = 20;

private:
  using Clock = std::chrono::steady_clock;
  void go();
  void ask();
  void answered(Result<upstream::Answer> answer);
  void spent(Clock::time_point since);

  const std::string id_;
  const std::function<upstream::Caller&()> api_;
  const FindPlace place_;
  const int rest_;
  Usages known_;                            ///< null: nothing, or it is too old
  net::Timer forget_;                       ///< known_
  std::deque<std::weak_ptr<Done>> waiting_; ///< as many as there are answers (usage_inside.hpp)
  Clock::time_point free_at_{};             ///< when the loop may be taken again
  net::Timer pause_;                        ///< until then
  bool busy_ = false;                       ///< it is waited for that, or for upstream
  std::unique_ptr<upstream::BufferedCall> call_;
};

} // namespace zoo::clusters
