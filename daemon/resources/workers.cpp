// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/workers.hpp"

#include "common/base/log.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>

namespace zoo::resources {

Workers::Workers(std::string name, std::size_t threads, std::size_t queue_limit)
    : name_(std::move(name)), queue_limit_(queue_limit),
      slow_limit_(std::max<std::size_t>(1, threads - 1)) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this, i] { run(i); });
}

Workers::~Workers() { stop(); }

bool Workers::submit(Kind kind, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    auto& queue = kind == Kind::slow ? slow_ : quick_;
    if (stopping_ || queue.size() >= queue_limit_) return false;
    queue.push_back({std::move(job), {}});
  }
  wake_.notify_one();
  return true;
}

Workers::Place Workers::submit_slow(const std::string& whose, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = slow_of_.find(whose);
    if (known != slow_of_.end() && known->second >= k_slow_of_one) return Place::none_of_his;
    if (stopping_ || slow_.size() >= queue_limit_) return Place::none;
    slow_.push_back({std::move(job), whose});
    ++slow_of_[whose];
  }
  wake_.notify_one();
  return Place::given;
}

void Workers::put_away(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      quick_.push_front({std::move(job), {}});
      job = nullptr;
    }
  }
  if (job) job();
  wake_.notify_one();
}

void Workers::stop() {
  std::deque<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(quick_);
    std::move(slow_.begin(), slow_.end(), std::back_inserter(dropped));
    slow_.clear();
  }
  wake_.notify_all();
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
}

bool Workers::next(Job& job, bool& slow) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !slow_.empty() && slow_running_ < slow_limit_; };
  wake_.wait(lock, [&] { return stopping_ || !quick_.empty() || ready(); });
  if (stopping_) return false;
  slow = quick_.empty();
  auto& queue = slow ? slow_ : quick_;
  if (slow) ++slow_running_;
  job = std::move(queue.front());
  queue.pop_front();
  return true;
}

void Workers::run(std::size_t number) {
  pthread_setname_np(pthread_self(), (name_ + "-" + std::to_string(number)).c_str());
  Job job;
  for (bool slow = false; next(job, slow);) {
    try {
      job.run();
    } catch (const std::exception& problem) {
      log::error("resources", "a request failed with an exception: {}", problem.what());
    }
    job.run = nullptr;
    if (!slow) continue;
    {
      const std::lock_guard lock(mutex_);
      --slow_running_;
      if (const auto his = slow_of_.find(job.whose); his != slow_of_.end() && --his->second == 0)
        slow_of_.erase(his);
    }
    wake_.notify_one();
  }
}

Error too_many_of_his() {
  return Error(Code::too_many_requests,
               fmt::format("{} writes of yours are in progress, which is as many as one user may "
                           "have here; try again when one of them is done",
                           Workers::k_slow_of_one));
}

std::size_t Workers::waiting() const {
  const std::lock_guard lock(mutex_);
  return quick_.size() + slow_.size();
}

} // namespace zoo::resources
