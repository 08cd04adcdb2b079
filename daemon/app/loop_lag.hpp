// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace zoo::app {

/// How long tasks of the workers' event loops wait: each second every loop is posted one, and that
/// takes as long to run as the loop's turn has left. Says which delay clients feel at least.
class LoopLag {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds k_period{1};
  static constexpr std::size_t k_remembered = 10; ///< periods

  /// Watches `loops` from `from`, which is another one. All outlive stop().
  LoopLag(std::vector<net::Loop*> loops, net::Loop& from);
  ~LoopLag();
  void stop(); ///< while all loops still turn, or have been stopped; twice is once

  /// The longest delay of any loop in the last ten seconds, a task that has not run yet included.
  /// Any thread.
  std::chrono::milliseconds longest() const;

private:
  struct State;
  static void ask(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

} // namespace zoo::app
