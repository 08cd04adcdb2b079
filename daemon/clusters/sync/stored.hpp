// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

/// What one virtual cluster takes of the upstream's store: a number of objects says little of it,
/// since one may be a kilobyte or more than a megabyte, and each change of it is stored again.
namespace zoo::clusters::sync {

/// The bytes of all objects that a cluster has upstream, pods and what they need together, as they
/// were sent. Any thread.
class StoredBytes {
public:
  static constexpr std::size_t k_most = std::size_t{128} << 20;

  /// Something that had `before` bytes is to have `now`. False: there is no room for what is more,
  /// and nothing is changed.
  bool swap(std::size_t before, std::size_t now);
  void set(std::size_t before, std::size_t now); ///< the same of what is there already
  bool fits(std::size_t more) const; ///< is there room for so many beside those that it has?
  std::size_t sum() const;

private:
  mutable std::mutex mutex_;
  std::size_t sum_ = 0;
};

/// Why something of so many bytes is refused, in the cluster's words; the same as long as it is.
std::string no_room_for(std::size_t bytes);

/// How fast a cluster may write upstream: so many bytes at once, and then so many a second. What is
/// larger than what is left is written all the same, and the next ones wait longer. Any thread; no
/// call blocks.
class WritePace {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t k_at_once = std::int64_t{32} << 20;
  static constexpr std::int64_t k_a_second = std::int64_t{256} << 10;
  static constexpr std::int64_t k_least = 1024; ///< as what the smallest object counts

  /// Zero: something may be written now. Else when to ask again: each who asks another time.
  std::chrono::milliseconds wait(Clock::time_point now = Clock::now());
  /// So many bytes are being written.
  void spend(std::size_t bytes, Clock::time_point now = Clock::now());

private:
  void refill(Clock::time_point now);

  std::mutex mutex_;
  std::int64_t left_ = k_at_once;
  Clock::time_point filled_{}, slot_{};
};

} // namespace zoo::clusters::sync
