// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <chrono>
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
    /// Perhaps any: it begins to hear; or has not heard for so long that somebody has to look.
    std::function<void()> missed;
  };
  Drift(upstream::Upstream& upstream, net::Loop& loop, Tells tells);
  void start();       ///< any thread
  bool hears() const; ///< all that changes now; any thread

private:
  void tick();

  const Tells tells_;
  std::vector<std::unique_ptr<upstream::ChangeFollower>> followers_;
  net::Loop& loop_;
  net::Timer timer_;
  bool missed_ = false;          ///< to be told when all are heard, once for all
  std::chrono::seconds deaf_{0}; ///< for how long not all were heard
};

} // namespace zoo::app
