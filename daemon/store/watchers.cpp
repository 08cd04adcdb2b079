// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/watchers.hpp"

#include "common/base/log.hpp"

#include <exception>

namespace zoo::store {

Watchers::Watchers() : thread_([this] { run(); }) {}

Watchers::~Watchers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Subscription Watchers::add(std::string kind, std::deque<std::shared_ptr<const Change>> backlog,
                           OnChange on_change, std::int64_t after) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_;
    watches_.emplace(
        id, Watch{std::move(kind), after, std::make_shared<OnChange>(std::move(on_change))});
    for (auto& change : backlog)
      queue_.push_back({id, std::move(change), {}});
  }
  changed_.notify_all();
  return Subscription([weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->cancel(id);
  });
}

void Watchers::publish(const std::shared_ptr<const Change>& change) {
  publish(change, change->record.kind);
}

void Watchers::publish(const std::shared_ptr<const Change>& change, std::string_view channel) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, watch] : watches_) {
      if (watch.kind == channel && change->record.revision > watch.after)
        queue_.push_back({id, change, {}});
    }
  }
  changed_.notify_all();
}

void Watchers::call(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({0, nullptr, std::move(function)});
  }
  changed_.notify_all();
}

void Watchers::cancel(std::uint64_t watch) {
  std::unique_lock lock(mutex_);
  watches_.erase(watch);
  if (std::this_thread::get_id() == thread_.get_id()) return; // inside a callback
  changed_.wait(lock, [&] { return running_ != watch; });
}

void Watchers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    auto [id, change, function] = std::move(queue_.front());
    queue_.pop_front();
    if (function) {
      lock.unlock();
      function();
      function = nullptr;
      lock.lock();
      continue;
    }
    const auto found = watches_.find(id);
    if (found == watches_.end()) continue;
    auto on_change = found->second.on_change;
    running_ = id;
    lock.unlock();
    try {
      (*on_change)(*change);
    } catch (const std::exception& e) {
      log::error("store", "a watch of {} failed at revision {}: {}", change->record.kind,
                 change->record.revision, e.what());
    }
    on_change.reset(); // what it captured dies before a waiting cancel() returns
    lock.lock();
    running_ = 0;
    changed_.notify_all();
  }
}

} // namespace zoo::store
