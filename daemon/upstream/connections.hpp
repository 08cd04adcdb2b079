// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/control_api.hpp"

#include <concepts>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zoo::upstream {

/// Connections to an API server, lent to one thread at a time and used again. There are as many as
/// threads that had one at the same time. `Api`: ControlApi, or a kind of it. Any thread.
template <class Api>
class ConnectionsTo {
public:
  using Connect = std::function<std::unique_ptr<Api>()>;
  explicit ConnectionsTo(Connect connect) : connect_(std::move(connect)) {}

  /// A connection for as long as this lives.
  class Lease {
  public:
    Lease(ConnectionsTo& from, std::unique_ptr<Api> api, unsigned age)
        : from_(from), api_(std::move(api)), age_(age) {}
    Lease(const Lease&) = delete;
    ~Lease() { from_.give_back(std::move(api_), age_); }
    Api& operator*() const { return *api_; }

  private:
    ConnectionsTo& from_;
    std::unique_ptr<Api> api_;
    unsigned age_;
  };
  Lease take()
    requires std::same_as<Api, ControlApi>
  {
    return take([](Api&) {});
  }
  /// Calls `prepare(api)` before the connection is lent. A connection that acts as somebody can be
  /// had only in this way: otherwise it would go on to ask as the one for whom it was lent before.
  template <class Prepare>
  Lease take(Prepare&& prepare) {
    std::unique_ptr<Api> api;
    unsigned age = 0;
    {
      const std::lock_guard lock(mutex_);
      age = age_;
      if (!idle_.empty()) {
        api = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!api) api = connect_();
    prepare(*api);
    return {*this, std::move(api), age};
  }
  /// What is lent from now on is connected anew; what is out goes when it comes back.
  void renew() {
    std::vector<std::unique_ptr<Api>> former; // closed outside of the lock
    const std::lock_guard lock(mutex_);
    ++age_;
    former.swap(idle_);
  }

private:
  void give_back(std::unique_ptr<Api> api, unsigned age) {
    const std::lock_guard lock(mutex_);
    if (age == age_) idle_.push_back(std::move(api));
  }

  Connect connect_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Api>> idle_;
  unsigned age_ = 0; ///< how often renew() was called
};

/// To the upstream as zood, or to another API server.
using Connections = ConnectionsTo<ControlApi>;
/// To the upstream as somebody else, which each is told before it is lent.
using ActingConnections = ConnectionsTo<ActingApi>;

} // namespace zoo::upstream
