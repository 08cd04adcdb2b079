// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/loop_lag.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::app {

struct LoopLag::State {
  struct One {
    net::Loop* loop = nullptr;
    std::optional<Clock::time_point> asked; ///< and not answered
    std::array<Clock::duration, k_remembered> lags{};
  };
  mutable std::mutex mutex; ///< for a few instructions
  std::vector<One> loops;
  std::size_t period = 0;
  bool stopped = false;
  net::Loop* from = nullptr;
  std::optional<net::Timer> timer; ///< on `from`'s thread
};

LoopLag::LoopLag(std::vector<net::Loop*> loops, net::Loop& from)
    : state_(std::make_shared<State>()) {
  for (auto* loop : loops)
    state_->loops.push_back({loop, {}, {}});
  state_->from = &from;
  from.post([state = state_] {
    state->timer.emplace(*state->from);
    ask(state);
  });
}

LoopLag::~LoopLag() { stop(); }

void LoopLag::stop() {
  {
    const std::scoped_lock lock(state_->mutex);
    if (std::exchange(state_->stopped, true)) return;
  }
  net::run_and_wait(*state_->from, [this] { state_->timer.reset(); });
}

void LoopLag::ask(const std::shared_ptr<State>& state) {
  const std::scoped_lock lock(state->mutex);
  if (state->stopped || !state->timer) return;
  const auto period = ++state->period % k_remembered;
  for (std::size_t i = 0; i < state->loops.size(); ++i) {
    auto& one = state->loops[i];
    one.lags[period] = {};
    if (one.asked) continue;
    one.asked = Clock::now();
    one.loop->post([state, i] {
      const std::scoped_lock held(state->mutex);
      auto& answered = state->loops[i];
      auto& lag = answered.lags[state->period % k_remembered];
      lag = std::max(lag, Clock::now() - *answered.asked);
      answered.asked.reset();
    });
  }
  state->timer->start(k_period, [weak = std::weak_ptr<State>(state)] {
    if (const auto again = weak.lock()) ask(again);
  });
}

std::chrono::milliseconds LoopLag::longest() const {
  const std::scoped_lock lock(state_->mutex);
  Clock::duration out{};
  for (const auto& one : state_->loops) {
    for (const auto lag : one.lags)
      out = std::max(out, lag);
    if (one.asked) out = std::max(out, Clock::now() - *one.asked);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(out);
}

} // namespace zoo::app
