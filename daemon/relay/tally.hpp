// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/histogram.hpp"
#include "daemon/translate/webhook_relay.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zoo::relay {

/// What became of a call.
enum class Outcome : std::uint8_t {
  answered,    ///< by the tenant's webhook; what it said went upstream
  unreachable, ///< no pod, no tunnel, no TLS, or the webhook broke the connection
  timeout,     ///< the webhook took longer than it has
  unusable,    ///< it answered what upstream would not take, or what reaches out of the tenant
  refused,     ///< for want of room, or a review that is none
};
inline constexpr std::size_t k_outcomes = 5;

/// Counts of the relay's calls, for /metrics. Any thread.
class Tally {
public:
  void count(translate::Hook hook, Outcome outcome, std::chrono::microseconds took);
  void stranger() { strangers_.fetch_add(1, std::memory_order_relaxed); } ///< no such path
  void opened() { opened_.fetch_add(1, std::memory_order_relaxed); }      ///< a tunnel
  void tunnels(std::size_t now) { tunnels_.store(now, std::memory_order_relaxed); }
  void calls(std::size_t now) { calls_.store(now, std::memory_order_relaxed); }
  std::uint64_t count_of(translate::Hook hook, Outcome outcome) const;
  void write(MetricText& out) const;

private:
  std::array<std::array<std::atomic<std::uint64_t>, k_outcomes>, translate::k_hooks.size()>
      counts_{};
  std::array<Histogram, translate::k_hooks.size()> seconds_; ///< of calls that were answered
  std::atomic<std::uint64_t> strangers_{0}, opened_{0};
  std::atomic<std::size_t> tunnels_{0}, calls_{0};
};

} // namespace zoo::relay
