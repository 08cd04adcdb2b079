// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_scheduler.hpp"

#include <algorithm>

namespace zoo::gateway {

using State = FlowScheduler::Waiter::State;

void FlowScheduler::set_limits(const Limits& limits) {
  queue_ = limits.queue;
  places_.close();
  places_.set_total(limits.total);
  dispatch();
}

/// From close() on nobody else takes a place. Places that were given back before it are seen here;
/// whoever gives one back later sees that they are closed, and comes to freed().
FlowVerdict FlowScheduler::enter(Waiter& waiter) {
  auto& share = waiter.share;
  places_.close();
  share.served =
      std::max(share.served, now_) + static_cast<double>(share.take_admissions()) / share.weight();
  const auto verdict = place(waiter);
  // While this one was on its way here it may have looked like one in flight.
  rank(share);
  dispatch();
  return waiter.state == State::admitted ? FlowVerdict::admitted : verdict;
}

/// Beside others that wait it is ranked with them: a place that was given back a moment ago, of
/// which freed() is still to hear, is theirs first.
FlowVerdict FlowScheduler::place(Waiter& waiter) {
  auto& share = waiter.share;
  if (waiting_.empty() && has_room(share)) {
    admit(share);
    waiter.state = State::admitted;
    return FlowVerdict::admitted;
  }
  if (enqueue(share, waiter)) return FlowVerdict::queued;
  share.leave(waiter.work, false);
  share.refuse();
  waiter.state = State::gone;
  return FlowVerdict::full_queue;
}

void FlowScheduler::admit(FlowShare& share) {
  places_.take_closed();
  share.start();
  share.served += 1.0 / share.weight();
}

bool FlowScheduler::enqueue(FlowShare& share, Waiter& waiter) {
  auto& tenant = tenants_[&share];
  const auto is = [&waiter](const User& user) { return user.name == waiter.user; };
  auto mine = std::find_if(tenant.users.begin(), tenant.users.end(), is);
  if (tenant.waiting >= queue_) {
    // Who has the most waiting makes room for who has much less.
    const auto most = std::max_element(
        tenant.users.begin(), tenant.users.end(),
        [](const auto& a, const auto& b) { return a.waiting.size() < b.waiting.size(); });
    const auto has = mine == tenant.users.end() ? 0 : mine->waiting.size();
    if (most == tenant.users.end() || most->waiting.size() < has + 2) {
      if (tenant.waiting == 0) tenants_.erase(&share);
      return false;
    }
    auto& last = *most->waiting.back(); // not the only one
    most->waiting.pop_back();
    --tenant.waiting;
    share.count_queued(false);
    share.leave(last.work, false);
    share.refuse();
    last.state = State::gone;
    changes_.push_back(&last);
  }
  if (mine == tenant.users.end())
    mine = tenant.users.insert(tenant.users.end(), User{waiter.user, {}});
  mine->waiting.push_back(&waiter);
  ++tenant.waiting;
  share.count_queued(true);
  return true;
}

void FlowScheduler::leave(Waiter& waiter) {
  if (waiter.state != State::waiting) return;
  auto& share = waiter.share;
  auto& tenant = tenants_.at(&share);
  const auto user = std::find_if(tenant.users.begin(), tenant.users.end(),
                                 [&](const User& each) { return each.name == waiter.user; });
  std::erase(user->waiting, &waiter);
  if (user->waiting.empty()) tenant.users.erase(user);
  --tenant.waiting;
  share.count_queued(false);
  share.leave(waiter.work, false);
  waiter.state = State::gone;
  rank(share);
  dispatch();
}

void FlowScheduler::freed(FlowShare& share) {
  rank(share);
  dispatch();
}

void FlowScheduler::rank(FlowShare& share) {
  const auto found = tenants_.find(&share);
  if (found == tenants_.end()) return;
  auto& tenant = found->second;
  if (std::exchange(tenant.ranked, false)) waiting_.erase({tenant.rank, &share});
  if (tenant.waiting == 0) {
    tenants_.erase(found);
    return;
  }
  share.served = std::max(share.served, now_);
  tenant.rank = {share.in_flight() / static_cast<double>(share.weight()), share.served, share.id()};
  waiting_.emplace(tenant.rank, &share);
  tenant.ranked = true;
}

void FlowScheduler::dispatch() {
  while (!waiting_.empty()) {
    auto& share = *waiting_.begin()->second;
    if (!has_room(share)) return;
    auto& tenant = tenants_.at(&share);
    const auto user = tenant.users.begin();
    auto& waiter = *user->waiting.front();
    user->waiting.pop_front();
    --tenant.waiting;
    share.count_queued(false);
    if (user->waiting.empty()) {
      tenant.users.erase(user);
    } else {
      tenant.users.splice(tenant.users.end(), tenant.users, user); // the others have their turn
    }
    now_ = std::max(now_, share.served);
    admit(share);
    waiter.state = State::admitted;
    changes_.push_back(&waiter);
    rank(share);
  }
  places_.open();
}

} // namespace zoo::gateway
