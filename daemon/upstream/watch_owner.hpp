// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/watch_parts.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

namespace zoo::upstream {

/// What all watches of one tenant keep on one loop for clients that do not read, and for selectors:
/// each has bounds of its own, and thousands of them together would keep gigabytes. In bytes; an
/// event that several wait for counts once. Subscribers are named by their numbers. Loop thread.
class WatchOwner {
public:
  std::size_t waiting() const { return bytes_; }
  std::size_t keys() const { return keys_; }

  /// What this subscriber has waiting now.
  std::size_t wait(const EventPtr& event, std::uint64_t subscriber) {
    if (waiting_[event.get()]++ == 0) bytes_ += event->text.size();
    bytes_ += k_waiting;
    return held_[subscriber] += event->text.size();
  }
  void waited(const EventPtr& event, std::uint64_t subscriber) {
    bytes_ -= k_waiting;
    const auto holder = held_.find(subscriber);
    holder->second -= event->text.size();
    if (holder->second == 0) held_.erase(holder);
    const auto found = waiting_.find(event.get());
    if (--found->second > 0) return;
    bytes_ -= event->text.size();
    waiting_.erase(found);
  }
  /// Who has most waiting; only while something waits.
  std::uint64_t largest() const {
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(held_.begin(), held_.end(), less)->first;
  }
  void count_keys(std::size_t before, std::size_t now) { keys_ = keys_ - before + now; }

  /// Those whose events wait until their tenant may hold more (Branch::wait_for_room), in turn.
  std::deque<std::uint64_t> line;
  bool crowded = false;                        ///< the branch knows that there is a line
  std::chrono::steady_clock::time_point moved; ///< when somebody of it had room last

private:
  static constexpr std::size_t k_waiting = 128;                 ///< that it costs besides its text
  std::unordered_map<const SharedEvent*, std::size_t> waiting_; ///< for how many
  std::unordered_map<std::uint64_t, std::size_t> held_;         ///< bytes, by subscriber
  std::size_t bytes_ = 0, keys_ = 0;
};

} // namespace zoo::upstream
