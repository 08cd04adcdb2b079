// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/tenants/footprint.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::tenants {

/// Is anything upstream under the prefix of a tenant that is to be made (DESIGN 9)? Who asks at the
/// same time shares a round: its reads answer for all of its IDs, and all who wait for it read.
/// Rounds begin at least `apart` after each other, for kube-apiserver answers a consistent list
/// from its watch cache, which asks etcd how far it is once in 100 ms and lets whoever comes
/// earlier wait (k8s.io/apiserver/pkg/storage/cacher/progress/watch_progress.go).
///
/// Blocking; any thread, with an api of its own. Bounded by the threads that call.
class Survey {
public:
  static constexpr std::chrono::milliseconds k_apart{100};
  explicit Survey(std::chrono::milliseconds apart = k_apart) : apart_(apart) {}
  Survey(const Survey&) = delete;

  /// The first thing found under `<id>-`, in words; "" if there is nothing. Nothing that it rests
  /// on was read before the call. An upstream that cannot be asked: its error.
  Result<std::string> occupied(upstream::ControlApi& api, std::string_view id);

private:
  using Clock = std::chrono::steady_clock;
  struct Round;
  struct Place;
  struct Task;
  struct Finds;

  void begin(upstream::ControlApi& api, Round& round, std::unique_lock<std::mutex>& lock);
  void help(upstream::ControlApi& api, Round& round, std::unique_lock<std::mutex>& lock);
  void take(Round& round, const Task& task, const Finds& finds);
  static Result<Finds> read(upstream::ControlApi& api, const Place& place, const Task& task,
                            const std::vector<std::string>& prefixes, std::size_t known);

  const std::chrono::milliseconds apart_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Round> gathering_; ///< takes IDs; null: the next one makes it
  bool running_ = false;             ///< a round reads
  Clock::time_point began_{};        ///< the last round
  std::vector<Kind> kinds_;          ///< of the last minute
  Clock::time_point kinds_read_{};
  std::map<std::string, std::size_t> sizes_; ///< of collections, as last seen: a few dozen
};

} // namespace zoo::tenants
