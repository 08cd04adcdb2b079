// SPDX-License-Identifier: Apache-2.0
// The part of Judge that is asked when room is moved between slices, and what is due by the clock.
#include "daemon/quota/judge.hpp"

#include <algorithm>
#include <utility>

namespace zoo::quota {
namespace {

constexpr std::chrono::seconds k_most_patience{60};

} // namespace

Slice Judge::with_asked(const std::string& space, const std::string& slice_name,
                        Slice slice) const {
  const auto* slot = slot_of(space, slice_name);
  if (slot == nullptr) return slice;
  const auto& part = slot->part;
  // A name that upstream has not counted yet stays so.
  slice.used = larger(slice.used, only(plus(part.live, part.allowed), slice.used));
  add(slice.wanted, part.waiting);
  return slice;
}

bool Judge::lowering(const std::string& space, const std::string& slice_name,
                     const ResourceList& hard) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return true;
  const auto slot = found->second.slots.find(slice_name);
  if (slot == found->second.slots.end()) return true;
  auto& view = slot->second.view;
  const auto& part = slot->second.part;
  for (const auto& [name, amount] : hard) {
    const auto is = view.newest().hard.find(name);
    if (is == view.newest().hard.end() || is->second <= amount) continue;
    // Cut below what there is, because the limit is: nobody is let in there anyway.
    const auto let_in = part.allowed.find(name);
    if (let_in == part.allowed.end()) continue;
    const auto live = part.live.find(name);
    if (let_in->second + (live == part.live.end() ? kube::Quantity{} : live->second) > amount)
      return false;
  }
  view.lowering(hard);
  return true;
}

void Judge::settle(const std::string& space, const std::string& slice_name, Time now) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end() || !found->second.slots.contains(slice_name)) return;
  found->second.slots.find(slice_name)->second.view.settle(now, visible_);
  after(space, slice_name, now);
}

void Judge::watch_used(const std::string& space_name, Space& space, const Limit& limit, Time now) {
  auto& slot = space.slots[limit.slice_name];
  const Place place{space_name, limit.slice_name};
  const auto used = exact(limit, slot.view.newest().used);
  const auto live = only(slot.part.live, used);
  const bool low = !within(live, used), high = !within(used, live);
  if (!low) slot.low.reset();
  if (low && !slot.low) slot.low = now;
  // What was let in may be charged already, and not seen yet.
  const bool under_way = !slot.part.allowed.empty();
  if (!high || under_way) slot.high.reset();
  if (high && !under_way && !slot.high) slot.high = now;
  if (!low && !high) {
    slot.patience = {};
    off_.erase(place);
  } else {
    off_.insert(place);
  }
}

std::optional<ResourceList> Judge::repair(const std::string& space_name,
                                          const std::string& slice_name, Time now, bool anew) {
  const auto space = spaces_.find(space_name);
  if (space == spaces_.end() || now < started_ + settings_.young) return std::nullopt;
  const auto found = space->second.slots.find(slice_name);
  const auto* limit = limit_of(space->second, slice_name);
  if (found == space->second.slots.end() || limit == nullptr) return std::nullopt;
  auto& slot = found->second;
  const bool low = slot.low && (anew || now >= *slot.low + settings_.low);
  const auto& sums = known_of(space->second, slice_name)->sums;
  const auto sum = sums.find(slice_name);
  const bool waited = sum != sums.end() && !sum->second.waiting.empty();
  const bool high =
      slot.high &&
      (anew || now >= *slot.high + std::max<Clock::duration>(settings_.high, slot.patience) ||
       (waited && slot.patience == Clock::duration{}));
  if (!low && !high) return std::nullopt;
  auto out = slot.view.newest().used;
  bool changes = false;
  for (const auto& [name, used] : exact(*limit, out)) {
    const auto amount = [&name = name](const ResourceList& list) {
      const auto one = list.find(name);
      return one == list.end() ? kube::Quantity{} : one->second;
    };
    const auto live = amount(slot.part.live);
    // A create that was let in without room may still be refused by the slice: reservations count
    // here only up to the slice's hard limit.
    const auto let_in = std::min(live + amount(slot.part.allowed), amount(slot.view.newest().hard));
    const auto right = low ? std::max({used, live, let_in}) : used;
    const auto is = high && right > live && slot.part.allowed.empty() ? live : right;
    if (is == used) continue;
    out.insert_or_assign(name, is);
    changes = true;
  }
  slot.low.reset();
  slot.high.reset();
  slot.patience = std::min<Clock::duration>(
      std::max<Clock::duration>(settings_.high, slot.patience * 2), k_most_patience);
  if (!changes) return std::nullopt;
  return out;
}

std::set<std::string, std::less<>> Judge::tick(Time now,
                                               std::chrono::system_clock::time_point wall) {
  std::set<std::string, std::less<>> out;
  const auto slot_of = [this](const Place& place) -> std::pair<Space*, Slot*> {
    const auto space = spaces_.find(place.first);
    if (space == spaces_.end()) return {};
    const auto slot = space->second.slots.find(place.second);
    return {&space->second, slot == space->second.slots.end() ? nullptr : &slot->second};
  };
  for (auto each = busy_.begin(); each != busy_.end();) {
    const auto [space, slot] = slot_of(*each);
    if (slot != nullptr && slot->view.tick(now)) {
      // An owner without waiting creates is not named here: its keeper hears of the change by the
      // slice's watch.
      for (const auto& owner : space->owners)
        if (const auto known = owners_.find(owner);
            known != owners_.end() && !known->second.sums[each->second].waiting.empty())
          out.insert(owner);
    }
    each = slot != nullptr && slot->view.pending() ? std::next(each) : busy_.erase(each);
  }
  while (!held_.empty() && held_.begin()->first <= now) {
    const auto place = held_.begin()->second;
    held_.erase(held_.begin());
    const auto space = spaces_.find(place.first);
    if (space == spaces_.end()) continue;
    const auto item = space->second.items.find(place.second);
    if (item == space->second.items.end() || !item->second.held) continue;
    const auto& held = *item->second.held;
    if (held.allowed && held.at + settings_.reservation <= now) {
      out.insert(space->second.owners.begin(), space->second.owners.end());
      dismiss({place.first, place.second, held.uid}, now);
    }
  }
  while (!ends_.empty() && ends_.begin()->first < wall) {
    const auto place = ends_.begin()->second;
    ends_.erase(ends_.begin());
    const auto space = spaces_.find(place.first);
    if (space == spaces_.end()) continue;
    const auto item = space->second.items.find(place.second);
    if (item == space->second.items.end() || !item->second.live || !item->second.live->ends ||
        *item->second.live->ends >= wall)
      continue;
    auto stored = *item->second.live;
    std::erase_if(stored.all, [](const auto& entry) { return entry.first != "count/pods"; });
    stored.ends.reset();
    const auto uid = item->second.uid;
    out.insert(space->second.owners.begin(), space->second.owners.end());
    seen(place.first, place.second, uid, std::move(stored), now);
  }
  for (auto each = off_.begin(); each != off_.end();) {
    const auto [space, slot] = slot_of(*each);
    if (slot == nullptr || limit_of(*space, each->second) == nullptr) {
      each = off_.erase(each);
      continue;
    }
    ++each;
    const auto patience = std::max<Clock::duration>(settings_.high, slot->patience);
    const bool low = slot->low && now >= *slot->low + settings_.low;
    const bool high = slot->high && now >= *slot->high + patience;
    if ((!low && !high) || now < slot->told + settings_.again) continue;
    slot->told = now;
    out.insert(space->owners.begin(), space->owners.end());
  }
  out.erase(std::string());
  return out;
}

bool Judge::pending() const { return !busy_.empty(); }

} // namespace zoo::quota
