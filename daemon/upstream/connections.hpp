// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/control_api.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zoo::upstream {

/// Connections to the upstream as zood, lent to one thread at a time and used again. There are as
/// many as threads that had one at the same time. Any thread.
class Connections {
public:
  using Connect = std::function<std::unique_ptr<ControlApi>()>;
  explicit Connections(Connect connect) : connect_(std::move(connect)) {}

  /// A connection for as long as this lives.
  class Lease {
  public:
    Lease(Connections& from, std::unique_ptr<ControlApi> api, unsigned age)
        : from_(from), api_(std::move(api)), age_(age) {}
    Lease(const Lease&) = delete;
    ~Lease() { from_.give_back(std::move(api_), age_); }
    ControlApi& operator*() const { return *api_; }

  private:
    Connections& from_;
    std::unique_ptr<ControlApi> api_;
    unsigned age_;
  };
  Lease take() {
    std::unique_ptr<ControlApi> api;
    unsigned age = 0;
    {
      const std::lock_guard lock(mutex_);
      age = age_;
      if (!idle_.empty()) {
        api = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    return {*this, api ? std::move(api) : connect_(), age};
  }
  /// What is lent from now on is connected anew; what is out goes when it comes back.
  void renew() {
    std::vector<std::unique_ptr<ControlApi>> former; // closed outside of the lock
    const std::lock_guard lock(mutex_);
    ++age_;
    former.swap(idle_);
  }

private:
  void give_back(std::unique_ptr<ControlApi> api, unsigned age) {
    const std::lock_guard lock(mutex_);
    if (age == age_) idle_.push_back(std::move(api));
  }

  Connect connect_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ControlApi>> idle_;
  unsigned age_ = 0; ///< how often renew() was called
};

} // namespace zoo::upstream
