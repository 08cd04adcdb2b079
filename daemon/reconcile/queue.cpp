// SPDX-License-Identifier: Apache-2.0
#include "daemon/reconcile/queue.hpp"

#include <algorithm>

namespace zoo::reconcile {

void Queue::schedule(const std::string& key, Item& item, Clock::time_point due) {
  due_.erase({item.due, key});
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

std::optional<Queue::Work> Queue::first_due() {
  if (due_.empty() || due_.begin()->first > now_()) return {};
  auto key = due_.begin()->second;
  due_.erase(due_.begin());
  auto& item = items_.at(key);
  item.running = true;
  item.woken = item.touched = false;
  return Work{std::move(key), item.attempts};
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
