// SPDX-License-Identifier: Apache-2.0
#include "daemon/reconcile/queue.hpp"

#include <algorithm>
#include <utility>

namespace zoo::reconcile {

void Queue::schedule(const std::string& key, Item& item, Clock::time_point due) {
  due_.erase({item.due, key});
  if (std::exchange(item.held, false)) held_.erase({item.due, key});
  item.due = due;
  due_.emplace(due, key);
  changed_.notify_one();
}

void Queue::add(std::string key, Clock::duration delay) {
  const std::lock_guard lock(mutex_);
  const auto due = now_() + delay;
  auto [found, inserted] = items_.try_emplace(std::move(key));
  auto& item = found->second;
  if (delay == Clock::duration::zero()) item.attempts = 0;
  if (item.running) {
    item.woken = true;
  } else if (inserted || due < item.due) {
    schedule(found->first, item, due);
  }
}

void Queue::touch(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = items_.find(key);
  if (found == items_.end()) return;
  auto& item = found->second;
  if (item.running) {
    item.touched = true;
    return;
  }
  const auto soon = std::max(now_() + pauses_.settle, next_touched_);
  const auto due = std::max(soon, item.done + pauses_.rest);
  if (due >= item.due) return;
  schedule(key, item, due);
  next_touched_ = soon + pauses_.pace;
}

bool Queue::holds(const Item& item, Clock::time_point now) const {
  return item.slow || now - item.begun > bound_.slow;
}

bool Queue::may_run(const Item& item, Clock::time_point now) const {
  if (!item.slow || running_.size() < bound_.workers) return true;
  const auto held = std::count_if(running_.begin(), running_.end(),
                                  [&](const auto& key) { return holds(items_.at(key), now); });
  return static_cast<std::size_t>(held) < bound_.workers;
}

std::optional<Queue::Work> Queue::first_due() {
  const auto now = now_();
  while (!due_.empty() && due_.begin()->first <= now) {
    auto key = due_.begin()->second;
    due_.erase(due_.begin());
    auto& item = items_.at(key);
    if (!may_run(item, now)) {
      item.held = true;
      held_.emplace(item.due, std::move(key));
      continue;
    }
    item.running = true;
    item.begun = now;
    item.woken = item.touched = false;
    running_.insert(key);
    return Work{std::move(key), item.attempts};
  }
  return {};
}

std::optional<Queue::Work> Queue::take_due() {
  const std::lock_guard lock(mutex_);
  return first_due();
}

std::optional<Queue::Work> Queue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto work = first_due()) return work;
    if (due_.empty()) {
      changed_.wait(lock, stop, [this] { return !due_.empty(); });
      continue;
    }
    const auto first = due_.begin()->first;
    changed_.wait_for(lock, stop, first - now_(),
                      [&] { return due_.empty() || due_.begin()->first < first; });
  }
  return {};
}

void Queue::done(const std::string& key, std::optional<Clock::duration> delay, bool again) {
  const std::lock_guard lock(mutex_);
  auto& item = items_.at(key);
  item.running = false;
  item.done = now_();
  running_.erase(key);
  if (holds(item, item.done) && !held_.empty()) { // the worker that it has held is left now
    const auto [due, other] = *held_.begin();
    schedule(other, items_.at(other), due);
  }
  item.slow = item.done - item.begun > bound_.slow;
  if (item.woken) {
    item.attempts = 0;
    schedule(key, item, item.done);
    return;
  }
  if (!delay) {
    items_.erase(key);
    return;
  }
  item.attempts = again ? item.attempts + 1 : 0;
  const Clock::duration longest = item.touched ? pauses_.rest : *delay;
  schedule(key, item, item.done + std::min(*delay, longest));
}

std::size_t Queue::size() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

} // namespace zoo::reconcile
