// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/histogram.hpp"
#include "common/base/result.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace zoo::upstream {

/// What zood asks of the upstream for itself, by the clients that upstream::Credential makes: its
/// controllers, and what administrators ask for. Counts that Tally writes beside those of the data
/// path. Any thread, no lock.
class ControlTally {
public:
  /// An answer has come whole, so long after the request was made.
  void answered(int status, std::chrono::microseconds took) {
    took_.add(took);
    if (status == 429) throttled_.fetch_add(1, std::memory_order_relaxed);
    if (status >= 500) server_error_.fetch_add(1, std::memory_order_relaxed);
  }
  /// There was none. What zood has given up itself is no error of the upstream's.
  void failed(Code code) {
    if (code == Code::timeout) timeout_.fetch_add(1, std::memory_order_relaxed);
    if (code == Code::unavailable) unavailable_.fetch_add(1, std::memory_order_relaxed);
  }

private:
  friend class Tally;
  using Count = std::atomic<std::uint64_t>;
  Histogram took_;
  Count unavailable_{0}, timeout_{0}, throttled_{0}, server_error_{0};
};

} // namespace zoo::upstream
