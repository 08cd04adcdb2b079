// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/watch_parts.hpp"

#include <cstddef>
#include <unordered_map>

namespace zoo::upstream {

/// What all watches of one tenant keep on one loop for clients that do not read, and for selectors:
/// each has bounds of its own, and thousands of them together would keep gigabytes. In bytes; an
/// event that several wait for counts once. Loop thread.
class WatchOwner {
public:
  std::size_t waiting() const { return bytes_; }
  std::size_t keys() const { return keys_; }

  void wait(const EventPtr& event) { // for one subscriber more
    if (waiting_[event.get()]++ == 0) bytes_ += event->text.size();
    bytes_ += k_waiting;
  }
  void waited(const EventPtr& event) {
    bytes_ -= k_waiting;
    const auto found = waiting_.find(event.get());
    if (--found->second > 0) return;
    bytes_ -= event->text.size();
    waiting_.erase(found);
  }
  void count_keys(std::size_t before, std::size_t now) { keys_ = keys_ - before + now; }

private:
  static constexpr std::size_t k_waiting = 128;                 ///< that it costs besides its text
  std::unordered_map<const SharedEvent*, std::size_t> waiting_; ///< for how many
  std::size_t bytes_ = 0, keys_ = 0;
};

} // namespace zoo::upstream
