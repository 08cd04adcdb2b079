// SPDX-License-Identifier: Apache-2.0
#include "daemon/reconcile/runner.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <random>

namespace zoo::reconcile {

using std::chrono::milliseconds;

milliseconds jittered(milliseconds middle) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> spread(-middle.count() / 4, middle.count() / 4);
  return middle + milliseconds(spread(random));
}

Runner::~Runner() {
  for (auto& thread : threads_)
    thread.request_stop();
}

Counts Runner::counts() const {
  return {reconciler_.name, queue_.size(), done_.load(), failed_.load()};
}

void Runner::lead(bool leads) {
  std::set<std::string> due;
  {
    const std::lock_guard lock(mutex_);
    leads_ = leads;
    if (leads) due.swap(kept_);
  }
  for (const auto& key : due)
    queue_.add(key, milliseconds(0));
}

bool Runner::keep(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (leads_) return false;
  kept_.insert(key);
  return true;
}

void Runner::look(const Queue::Work& work) {
  if (keep(work.key)) return queue_.done(work.key, std::nullopt, false);
  Result<Next> next = fail(Code::internal, "not tried");
  try {
    next = reconciler_.look(work.key, work.attempts);
  } catch (const std::exception& error) {
    next = fail(Code::internal, "unexpected: {}", error.what());
  }
  ++(next ? done_ : failed_);
  if (next) {
    const auto after = next->after;
    const bool again = !next->waits && after && *after < reconciler_.settled;
    queue_.done(work.key, after, again);
    return;
  }
  if (next.error().code() != Code::cancelled) reconciler_.failed(work.key, next.error());
  const auto delay =
      std::min(reconciler_.retry * (1L << std::min(work.attempts, 9U)), reconciler_.retry * 300L);
  queue_.done(work.key, jittered(delay), true);
}

void Runner::start(unsigned threads) {
  for (unsigned number = 1; number <= threads; ++number) {
    threads_.emplace_back([this, number](const std::stop_token& stop) {
      pthread_setname_np(pthread_self(), fmt::format("{}-{}", reconciler_.name, number).c_str());
      while (const auto work = queue_.take(stop))
        look(*work);
    });
  }
}

void Runner::run_due() {
  while (const auto work = queue_.take_due())
    look(*work);
}

} // namespace zoo::reconcile
