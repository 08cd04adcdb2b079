// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_branch.hpp"

#include "daemon/upstream/watch_hub.hpp"
#include "daemon/upstream/watch_subscriber.hpp"

#include <algorithm>

namespace zoo::upstream {
namespace {

constexpr std::size_t k_in_vain = 64; ///< of a tenant, each time that they ask for room

} // namespace

Listeners::Members& Listeners::members_of(const std::string& bucket) {
  return bucket.empty() ? any_ : by_bucket_[bucket];
}

void Listeners::add(Subscriber& subscriber) {
  all_.emplace(subscriber.id(), &subscriber);
  members_of(subscriber.bucket()).push_back(&subscriber);
}

void Listeners::remove(Subscriber& subscriber) {
  all_.erase(subscriber.id());
  const auto& bucket = subscriber.bucket();
  auto& members = members_of(bucket);
  const auto at = std::find(members.begin(), members.end(), &subscriber);
  if (busy_ != 0) { // somebody walks over them
    *at = nullptr;
    holes_.push_back(bucket);
    return;
  }
  members.erase(at);
  if (members.empty() && !bucket.empty()) by_bucket_.erase(bucket);
}

Subscriber* Listeners::find(std::uint64_t id) const {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second;
}

std::vector<std::uint64_t> Listeners::of_feed(std::uint32_t feed) const {
  std::vector<std::uint64_t> out;
  for (const auto& [id, subscriber] : all_) {
    if (subscriber->feed() == feed) out.push_back(id);
  }
  return out;
}

void Listeners::hear(const std::vector<Said>& batch) {
  ++busy_;
  for (const auto& said : batch) {
    if (said.task) {
      said.task(*this);
    } else {
      event(said.feed, said.event);
    }
  }
  if (--busy_ != 0) return;
  for (const auto& bucket : std::exchange(holes_, {})) {
    auto& members = members_of(bucket);
    std::erase(members, nullptr);
    if (members.empty() && !bucket.empty()) by_bucket_.erase(bucket);
  }
}

void Listeners::event(std::uint32_t feed, const EventPtr& event) {
  positions_[feed] = std::max(positions_[feed], event->version);
  offer(feed, event);
}

/// To those of a feed whose keys it may be.
void Listeners::offer(std::uint32_t feed, const EventPtr& event) {
  EventView view(*event);
  const auto offer = [&](const Members& members) {
    const auto count = members.size(); // who comes meanwhile has not joined
    for (std::size_t i = 0; i < count; ++i) {
      if (members[i] != nullptr && members[i]->feed() == feed) members[i]->offer(event, view);
    }
  };
  const auto found = by_bucket_.find(bucket_of(event->key));
  if (found != by_bucket_.end()) offer(found->second);
  offer(any_);
}

void Listeners::joined(const Joined& joined) {
  auto& position = positions_[joined.feed];
  position = std::max(position, joined.position);
  auto* subscriber = find(joined.id);
  if (subscriber == nullptr) return;
  subscriber->joined(joined.feed, joined.head);
  for (const auto& event : joined.backlog) {
    EventView view(*event);
    subscriber->offer(event, view);
  }
  if (joined.stalled) subscriber->stalled(true);
}

void Listeners::alone(std::uint64_t id) {
  if (auto* subscriber = find(id)) subscriber->go_alone();
}

void Listeners::ended(std::uint64_t id, const WatchEnd& end) {
  if (auto* subscriber = find(id)) subscriber->refuse(end);
}

void Listeners::over(std::uint64_t id) {
  if (auto* subscriber = find(id)) subscriber->end();
}

void Listeners::moved(std::uint32_t from, std::uint64_t stood, std::uint32_t to,
                      std::uint64_t position, const std::vector<EventPtr>& backlog) {
  positions_.erase(from);
  positions_[to] = std::max(positions_[to], position);
  for (const auto& event : backlog)
    offer(from, event);
  for (const auto id : of_feed(from)) {
    if (auto* subscriber = find(id)) subscriber->move(to, stood);
  }
}

void Listeners::bookmark(std::uint32_t feed, std::uint64_t version) {
  positions_[feed] = std::max(positions_[feed], version);
  for (const auto id : of_feed(feed)) {
    if (auto* subscriber = find(id)) subscriber->bookmark();
  }
}

std::uint64_t Listeners::position_of(std::uint32_t feed) const {
  const auto found = positions_.find(feed);
  return found == positions_.end() ? 0 : found->second;
}

void Listeners::stalled(std::uint32_t feed, bool stalled) {
  for (const auto id : of_feed(feed)) {
    if (auto* subscriber = find(id)) subscriber->stalled(stalled);
  }
}

void Listeners::closed(std::uint32_t feed) {
  for (const auto id : of_feed(feed)) {
    if (auto* subscriber = find(id)) subscriber->end();
  }
  positions_.erase(feed);
}

void Listeners::expired(std::uint32_t feed) {
  for (const auto id : of_feed(feed)) {
    if (auto* subscriber = find(id)) subscriber->expire();
  }
  positions_.erase(feed);
}

Branch::Branch(SharedWatches::Impl& shared, std::size_t index)
    : shared_(shared), index_(index), loop_(*shared.places[index]->loop), timer_(loop_),
      room_timer_(loop_),
      random_(static_cast<std::uint32_t>(index + 1) ^
              static_cast<std::uint32_t>(Clock::now().time_since_epoch().count())) {}

Branch::~Branch() = default;

std::unique_ptr<WatchSubscription> Branch::subscribe(WatchKindPtr kind, WatchRequest request,
                                                     std::optional<WatchFilter> filter,
                                                     std::string key_prefix, std::uint64_t version,
                                                     WatchHandler& handler) {
  auto& listeners = kinds_[kind->name()];
  if (!listeners) listeners = std::make_unique<Listeners>(std::move(kind));
  // Each loop has its own numbers.
  const auto id = (static_cast<std::uint64_t>(index_) << 48) | ++last_id_;
  auto out =
      std::make_unique<Subscriber>(*this, *listeners, id, std::move(request), std::move(filter),
                                   std::move(key_prefix), version, handler);
  out->start();
  return out;
}

void Branch::hear(const std::string& kind, const std::vector<Said>& batch) {
  const auto found = kinds_.find(kind);
  if (found == kinds_.end()) return; // the last one has left
  found->second->hear(batch);
  forget_if_idle(*found->second);
}

Subscriber* Branch::find(std::uint64_t id) const {
  const auto found = subscribers_.find(id);
  return found == subscribers_.end() ? nullptr : found->second;
}

std::shared_ptr<WatchOwner> Branch::owner(const std::string& id) {
  auto& known = owners_[id];
  if (auto there = known.lock()) return there;
  // Forgets itself with its last subscriber; the branch outlives them.
  std::shared_ptr<WatchOwner> made(new WatchOwner, [this, id](const WatchOwner* gone) {
    owners_.erase(id);
    delete gone;
  });
  known = made;
  return made;
}

void Branch::add(Subscriber& subscriber) {
  subscribers_.emplace(subscriber.id(), &subscriber);
  ++shared_.subscribers;
}

void Branch::remove(Subscriber& subscriber) {
  subscribers_.erase(subscriber.id());
  --shared_.subscribers;
}

void Branch::forget_if_idle(Listeners& listeners) {
  if (listeners.idle()) kinds_.erase(listeners.kind()->name());
}

void Branch::set_deadline(const Subscriber& subscriber, Clock::time_point before,
                          Clock::time_point when) {
  deadlines_.erase({before, subscriber.id()});
  if (when != Clock::time_point()) deadlines_.emplace(when, subscriber.id());
  arm();
}

void Branch::wait_for_room(const Subscriber& subscriber) {
  const auto& owner = subscriber.owner();
  owner->line.push_back(subscriber.id());
  if (std::exchange(owner->crowded, true)) return;
  crowded_.push_back(owner);
  if (crowded_.size() == 1) room_timer_.start(shared_.limits.room_pause, [this] { give_room(); });
}

void Branch::give_room() {
  auto crowded = std::exchange(crowded_, {});
  for (const auto& each : crowded) { // before any is called, which may throw
    if (const auto owner = each.lock()) owner->crowded = false;
  }
  for (const auto& each : crowded) {
    const auto owner = each.lock();
    if (!owner) continue;
    // Who finds none stands at the end again. Others may want less; but to ask thousands costs as
    // much each time.
    std::size_t in_vain = 0;
    for (auto count = owner->line.size(); count > 0 && in_vain < k_in_vain; --count) {
      auto* subscriber = find(owner->line.front());
      owner->line.pop_front();
      if (subscriber != nullptr && !subscriber->try_room()) ++in_vain;
    }
  }
}

std::chrono::milliseconds Branch::random_below(std::chrono::milliseconds most) {
  std::uniform_int_distribution<std::int64_t> choose(0, most.count());
  return std::chrono::milliseconds(choose(random_));
}

void Branch::arm() {
  const auto next = deadlines_.empty() ? Clock::time_point() : deadlines_.begin()->first;
  if (next == armed_) return;
  armed_ = next;
  if (deadlines_.empty()) return timer_.cancel();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  timer_.start(std::max(left, std::chrono::milliseconds(0)), [this] { ring(); });
}

void Branch::ring() {
  armed_ = {};
  const auto now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    if (auto* subscriber = find(id)) subscriber->time_is_up();
  }
  arm();
}

} // namespace zoo::upstream
