// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/state.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// Keeps the State: follows upstream's namespaces, Accounts and RBAC on one loop, and publishes a
/// new State some milliseconds after a change. The composition root makes it, and destroys it when
/// the loop has stopped; state() from any thread.
class Follower {
public:
  using Publish =
      std::function<void(const StatePtr& before, const StatePtr& now, const Touched& touched)>;
  /// `publish` is called on the loop, in the order of publications, and must not block.
  Follower(upstream::Upstream& upstream, net::Loop& loop, std::size_t most_rbac_bytes,
           Publish publish);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void start(); ///< any thread
  /// Never null; with State::trouble until all was read.
  StatePtr state() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::accounts
