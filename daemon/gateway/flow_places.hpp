// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace zoo::gateway {

/// The places of all tenants. Closed while somebody waits: then only the FlowScheduler gives any,
/// under its lock. That somebody waits and how many places are taken is one word, so that whoever
/// gives one back either did so before the scheduler looked, or sees that it must be told.
/// Thread-safe.
class alignas(64) FlowPlaces {
public:
  void set_total(std::uint32_t total) { total_.store(total); }
  /// One if there is room and nobody waits.
  bool take() {
    auto word = word_.load(std::memory_order_relaxed);
    while (word < total_.load(std::memory_order_relaxed)) { // k_closed is above all totals
      if (word_.compare_exchange_weak(word, word + 1)) return true;
    }
    return false;
  }
  /// True: somebody waits, and the scheduler must hear of it.
  bool give_back() { return (word_.fetch_sub(1) & k_closed) != 0; }

  /// The scheduler's, under its lock: while it is closed nobody else takes any.
  void close() { word_.fetch_or(k_closed); }
  void open() { word_.fetch_and(~k_closed); }
  void take_closed() { word_.fetch_add(1); }
  /// A tenant without any request in flight need not wait for those who hold their places long: up
  /// to half as many places again are there for `first` requests.
  bool has_room(bool first) const {
    const std::uint64_t total = total_.load();
    return taken() < total || (first && taken() < total + total / 2 + 1);
  }
  std::uint32_t taken() const { return static_cast<std::uint32_t>(word_.load()); }

private:
  static constexpr std::uint64_t k_closed = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> word_ = 0;
  std::atomic<std::uint32_t> total_ = 0;
};

} // namespace zoo::gateway
