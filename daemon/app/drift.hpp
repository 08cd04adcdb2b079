// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace zoo::app {

/// Hears from upstream what drifts of tenants' rooms, so that nobody need look: a watch for each of
/// tenants::room_kinds(). On the first loop.
class Drift {
public:
  struct Tells {
    std::function<void(std::string_view id)> of; ///< this tenant's room; whose ID it seems to be
    std::function<void()> missed;                ///< perhaps any
  };
  Drift(upstream::Upstream& upstream, net::Loop& loop, const Tells& tells);
  void start();       ///< any thread
  bool hears() const; ///< all that changes now; any thread

private:
  std::vector<std::unique_ptr<upstream::ChangeFollower>> followers_;
};

} // namespace zoo::app
