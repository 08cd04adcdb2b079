// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/flow_share.hpp"
#include "daemon/gateway/flow_places.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::gateway {

using access::FlowLoad;
using access::FlowShare;
using access::FlowVerdict;
using access::Work;

/// Who waits while all places are taken, and whose turn it is (docs/decisions/122): a place that
/// becomes free goes to the waiting tenant that has the fewest in proportion to its weight; inside
/// a tenant its users take turns. No clock; one caller at a time.
class FlowScheduler {
public:
  struct Limits {
    std::uint32_t total = 600; ///< of all tenants, long-running ones not counted
    std::uint32_t queue = 100; ///< waiting requests of one tenant
  };

  /// A request that found no place. Its owner keeps it, and its share, until it does not wait.
  struct Waiter {
    FlowShare& share;
    Work work;
    std::string user;
    std::function<void(bool admitted)> told{}; ///< the owner's
    enum class State : std::uint8_t {
      waiting,
      admitted,
      gone, ///< another user of its tenant took its place in the queue, or leave()
    } state = State::waiting;
  };

  /// `places` outlives it.
  explicit FlowScheduler(FlowPlaces& places) : places_(places) {}
  void set_limits(const Limits& limits);

  /// `waiter`, which its share counts and not as in flight: admitted, queued or full_queue. Who is
  /// refused, here or later, is not counted any more.
  FlowVerdict enter(Waiter& waiter);
  void leave(Waiter& waiter);   ///< it waits no longer, nor is it counted
  void freed(FlowShare& share); ///< it gave a place back while they are closed

  /// Whose state has changed since this was asked last; in the call that changed it, for they may
  /// go afterwards.
  std::vector<Waiter*> take_changes() { return std::exchange(changes_, {}); }

private:
  using Rank = std::tuple<double, double, std::string>;
  struct User {
    std::string name;
    std::deque<Waiter*> waiting;
  };
  /// One of which some wait.
  struct Tenant {
    std::list<User> users; ///< the next one first
    std::uint32_t waiting = 0;
    Rank rank;
    bool ranked = false;
  };

  FlowVerdict place(Waiter& waiter);
  bool has_room(const FlowShare& share) const { return places_.has_room(share.in_flight() == 0); }
  void admit(FlowShare& share);
  bool enqueue(FlowShare& share, Waiter& waiter);
  void rank(FlowShare& share); ///< where it stands among those that wait
  /// Gives what is free to those that wait; opens the places when none does.
  void dispatch();

  FlowPlaces& places_;
  std::uint32_t queue_ = Limits{}.queue;
  double now_ = 0; ///< `served` of who was admitted last from the queue
  std::unordered_map<FlowShare*, Tenant> tenants_;
  std::set<std::pair<Rank, FlowShare*>> waiting_;
  std::vector<Waiter*> changes_;
};

} // namespace zoo::gateway
