// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/histogram.hpp"
#include "common/base/result.hpp"
#include "daemon/upstream/control_tally.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace zoo::upstream {

/// What was asked of the upstream, and how it answered: counts for /metrics. Any thread, no lock.
class Tally {
public:
  enum class Asks : std::uint8_t { read, write, watch, token_review };
  static Asks kind_of(std::string_view method, std::string_view target, bool long_running);

  /// The head of an answer has come, so long after the request was made.
  void answered(Asks asks, int status, std::chrono::microseconds took);
  void failed(Code code);                                           ///< there was no answer
  void event() { events_.fetch_add(1, std::memory_order_relaxed); } ///< of a shared watch
  /// A shared watch whose place upstream had forgotten went on with what had changed since, or its
  /// subscribers had to begin anew.
  void gap(bool bridged) { gaps_[bridged ? 1 : 0].fetch_add(1, std::memory_order_relaxed); }
  /// A TokenReview is over: upstream knows the token's user, knows none, or has not said.
  void reviewed(const Result<void>& said);
  /// `control`: what zood has asked for itself; told in the same families.
  void write(MetricText& out, const ControlTally& control) const;

private:
  using Count = std::atomic<std::uint64_t>;
  std::array<Histogram, 4> took_; ///< by Asks
  Count unavailable_{0}, timeout_{0}, refused_{0}, throttled_{0}, server_error_{0}, events_{0};
  std::array<Count, 2> gaps_{};
  std::array<Count, 3> reviews_{}; ///< authenticated, refused, unavailable
};

} // namespace zoo::upstream
