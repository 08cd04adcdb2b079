// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace zoo {

/// How long something took, counted by buckets for /metrics. Any thread, no lock.
class Histogram {
public:
  /// Upper ends of the buckets in microseconds; what is longer counts towards +Inf alone.
  static constexpr std::array<std::int64_t, 12> k_ends = {
      500,    1'000,   2'500,   5'000,     10'000,    25'000,
      50'000, 100'000, 250'000, 1'000'000, 5'000'000, 30'000'000};

  void add(std::chrono::microseconds took);
  /// Its samples with these labels, of the family that was begun; nothing if nothing was counted.
  void write(MetricText& out, MetricText::Labels labels) const;

private:
  std::array<std::atomic<std::uint64_t>, k_ends.size() + 1> buckets_{}; ///< not cumulative
  std::atomic<std::uint64_t> micros_{0};
};

} // namespace zoo
