// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>

namespace zoo::clusters {

/// CPU time of this thread; unlike elapsed time it does not grow on a busy machine.
inline std::chrono::nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// How much of its loop's time one virtual cluster may take by objects that are looked at for it:
/// other tenants are served on that loop, and an object may be megabytes. Loop thread only.
class LookPace {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr int k_rest = 20; ///< times what a look took, before the next one
  /// What takes less is what objects usually are, and needs no rest.
  static constexpr std::chrono::microseconds k_free{2'000};

  /// May something be looked at now? Asked before a request is sent, and again before its answer is
  /// read: many may be under way.
  bool may(Clock::time_point now = Clock::now()) const { return now >= free_at_; }
  /// A look took so much of thread_time(); `now`: its end.
  void took(Clock::duration spent, Clock::time_point now = Clock::now()) {
    if (spent > k_free) free_at_ = std::max(free_at_, now) + k_rest * spent;
  }

private:
  Clock::time_point free_at_{};
};

} // namespace zoo::clusters
