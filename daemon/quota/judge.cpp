// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/judge.hpp"

#include "daemon/quota/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace zoo::quota {
namespace {

using std::chrono::system_clock;

constexpr std::array<Counted, 8> k_counted = {{{"", "pods"},
                                               {"", "services"},
                                               {"", "persistentvolumeclaims"},
                                               {"", "configmaps"},
                                               {"", "secrets"},
                                               {"", "replicationcontrollers"},
                                               {"", "resourcequotas"},
                                               {"resource.k8s.io", "resourceclaims"}}};
constexpr std::string_view k_count = "count/", k_claims = "resourceclaims.resource.k8s.io";
constexpr std::size_t k_shown_spaces = 3;
std::string_view kind_of_key(std::string_view key) { return key.substr(0, key.find('/')); }

} // namespace

std::string kind_of_name(std::string_view name) {
  if (name.starts_with(k_count)) return std::string(name.substr(k_count.size()));
  for (const auto& kind : k_counted) {
    if (!charges(kind, name)) continue;
    auto key = object_key(kind, "");
    key.pop_back();
    return key;
  }
  return {};
}

const Judge::Slot* Judge::slot_of(const std::string& space, const std::string& slice_name) const {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return nullptr;
  const auto slot = found->second.slots.find(slice_name);
  return slot == found->second.slots.end() ? nullptr : &slot->second;
}

Judge::Part Judge::part_of(const Item& item, const Limit& limit) {
  Part out;
  if (item.live) out.live = charged(*item.live, limit);
  if (!item.held) return out;
  auto& more = item.held->allowed ? out.allowed : out.waiting;
  more = beyond(charged(item.held->cost, limit), out.live);
  return out;
}

std::array<const Judge::Known*, k_owner_kinds> Judge::known_of(const Space& space) const {
  std::array<const Known*, k_owner_kinds> out{};
  for (std::size_t i = 0; i < k_owner_kinds; ++i) {
    if (space.owners[i].empty()) continue;
    if (const auto known = owners_.find(space.owners[i]); known != owners_.end())
      out[i] = &known->second;
  }
  return out;
}

std::array<Judge::Known*, k_owner_kinds> Judge::known_of(const Space& space) {
  std::array<Known*, k_owner_kinds> out{};
  for (std::size_t i = 0; i < k_owner_kinds; ++i) {
    if (space.owners[i].empty()) continue;
    if (const auto known = owners_.find(space.owners[i]); known != owners_.end())
      out[i] = &known->second;
  }
  return out;
}

Judge::Known* Judge::known_of(const Space& space, std::string_view slice_name) {
  for (auto* known : known_of(space))
    if (known != nullptr)
      for (const auto& limit : known->owner.limits)
        if (limit.slice_name == slice_name) return known;
  return nullptr;
}

const Limit* Judge::limit_of(const Space& space, std::string_view slice_name) const {
  for (const auto* known : known_of(space))
    if (known != nullptr)
      for (const auto& limit : known->owner.limits)
        if (limit.slice_name == slice_name) return &limit;
  return nullptr;
}

/// Of these names those whose objects are all known, and whose charges are computed as upstream
/// does. Claims that stand for a pod's extended resources are charged in another way there.
ResourceList Judge::exact(const Limit& limit, const ResourceList& list) const {
  auto out = only(list, limit.hard);
  std::erase_if(out, [this](const auto& entry) {
    const auto kind = kind_of_name(entry.first);
    return kind == k_claims || !known_.contains(kind);
  });
  return out;
}

// ---- what there is

void Judge::set_owner(const std::string& name, Owner owner, Time now) {
  const auto found = owners_.find(name);
  if (found != owners_.end()) {
    const auto kind = static_cast<std::size_t>(found->second.owner.kind);
    for (const auto& space : found->second.owner.spaces) {
      if (!owner.limits.empty() && owner.spaces.contains(space)) continue;
      auto& left = spaces_[space].owners[kind];
      if (left == name) left.clear();
      forget_empty(space);
    }
    if (owner.limits.empty()) owners_.erase(found);
  }
  if (owner.limits.empty()) return;
  auto& known = owners_[name];
  known.owner = std::move(owner);
  for (const auto& space : known.owner.spaces)
    spaces_[space].owners[static_cast<std::size_t>(known.owner.kind)] = name;
  recount(known, now);
}

void Judge::recount(Known& known, Time now) {
  known.sums.clear();
  for (const auto& name : known.owner.spaces) {
    auto& space = spaces_[name];
    for (auto& [slice, slot] : space.slots)
      if (const auto* owner = known_of(space, slice); owner == nullptr || owner == &known)
        slot.part = {};
    for (const auto& limit : known.owner.limits) {
      auto& slot = space.slots[limit.slice_name];
      auto& sum = known.sums[limit.slice_name];
      for (const auto& [key, item] : space.items) {
        const auto part = part_of(item, limit);
        add(slot.part.live, part.live);
        add(slot.part.allowed, part.allowed);
        add(slot.part.waiting, part.waiting);
      }
      add(sum.live, slot.part.live);
      add(sum.allowed, slot.part.allowed);
      add(sum.waiting, slot.part.waiting);
      slot.view.set_servers(heard_, now, visible_);
      after(name, limit.slice_name, now);
    }
  }
}

/// Namespaces come and go: one of which there is nothing is not remembered.
void Judge::forget_empty(const std::string& name) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return;
  auto& space = found->second;
  std::erase_if(space.slots, [&](const auto& entry) {
    return !entry.second.view.known() && limit_of(space, entry.first) == nullptr;
  });
  if (space.slots.empty() && space.items.empty() && !space.owned()) spaces_.erase(found);
}

/// Whatever changes an object changes the sums by as much.
template <class F>
void Judge::change(const std::string& space_name, const std::string& key, Time now, F apply) {
  auto& space = spaces_[space_name];
  auto& item = space.items[key];
  const auto owners = known_of(space);
  std::vector<Part> before;
  for (const auto* known : owners)
    if (known != nullptr)
      for (const auto& limit : known->owner.limits)
        before.push_back(part_of(item, limit));
  const bool was = item.live.has_value();
  const auto ended = was ? item.live->ends : std::nullopt;
  apply(item);
  const auto ends = item.live ? item.live->ends : std::nullopt;
  if (ended && ended != ends) ends_.erase({*ended, Place{space_name, key}});
  if (ends && ended != ends) ends_.emplace(*ends, Place{space_name, key});
  objects_ += item.live ? 1 : 0;
  objects_ -= was ? 1 : 0;
  std::size_t i = 0;
  for (auto* known : owners) {
    if (known == nullptr) continue;
    for (const auto& limit : known->owner.limits) {
      const auto is = part_of(item, limit);
      auto& slot = space.slots[limit.slice_name];
      const auto replace = [&](Part& part) {
        subtract(part.live, before[i].live);
        subtract(part.allowed, before[i].allowed);
        subtract(part.waiting, before[i].waiting);
        add(part.live, is.live);
        add(part.allowed, is.allowed);
        add(part.waiting, is.waiting);
      };
      replace(slot.part);
      replace(known->sums[limit.slice_name]);
      // What has gone stays charged until `used` falls.
      if (const auto less = beyond(before[i].live, is.live); !less.empty())
        slot.view.died(less, slot.part.live, now);
      watch_used(space_name, space, limit, now);
      ++i;
    }
  }
  if (item.live || item.held) return;
  space.items.erase(key);
  forget_empty(space_name);
}

void Judge::seen(const std::string& space, const std::string& key, const std::string& uid,
                 Cost cost, Time now) {
  change(space, key, now, [&](Item& item) {
    item.uid = uid;
    // The reservation ends only when the object is seen with at least the reserved cost. A
    // reservation made at zood's own door has no UID, since upstream had not given one yet.
    const bool same = item.held && (item.held->uid == uid || item.held->uid.empty());
    if (same && within(only(item.held->cost.all, cost.all), cost.all)) item.held.reset();
    item.live = std::move(cost);
  });
}

void Judge::gone(const std::string& space, const std::string& key, std::string_view uid, Time now) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end() || !found->second.items.contains(key)) return;
  change(space, key, now, [&](Item& item) {
    if (item.held && item.held->uid == uid) item.held.reset();
    if (item.uid == uid) item.live.reset();
  });
}

void Judge::keep(std::string_view kind,
                 const std::function<bool(const std::string&, const std::string&)>& there,
                 Time now) {
  std::vector<std::pair<Place, std::string>> gone_ones;
  for (const auto& [name, space] : spaces_)
    for (const auto& [key, item] : space.items)
      if (item.live && kind_of_key(key) == kind && !there(name, key))
        gone_ones.push_back({{name, key}, item.uid});
  for (const auto& [place, uid] : gone_ones)
    gone(place.first, place.second, uid, now);
}

void Judge::set_servers(std::vector<bool> heard, Time now) {
  if (heard == heard_) return;
  heard_ = std::move(heard);
  const bool all = std::find(heard_.begin(), heard_.end(), false) == heard_.end();
  visible_ = all ? settings_.visible : settings_.unseen;
  for (auto& [name, space] : spaces_)
    for (auto& [slice, slot] : space.slots) {
      slot.view.set_servers(heard_, now, visible_);
      after(name, slice, now);
    }
}

/// A slice's view, or the sums beside it, have changed.
void Judge::after(const std::string& space_name, const std::string& slice_name, Time now) {
  auto& space = spaces_[space_name];
  auto& slot = space.slots[slice_name];
  if (slot.view.pending()) busy_.insert({space_name, slice_name});
  if (const auto* limit = limit_of(space, slice_name)) watch_used(space_name, space, *limit, now);
}

void Judge::slice_seen(std::size_t server, const std::string& space, const std::string& slice_name,
                       std::int64_t revision, const Slice& slice, Time now) {
  auto& view = spaces_[space].slots[slice_name].view;
  if (!view.known()) view.set_servers(heard_, now, visible_);
  view.seen(server, revision, slice, now, visible_);
  after(space, slice_name, now);
}

void Judge::slice_written(const std::string& space, const std::string& slice_name,
                          std::int64_t revision, const Slice& slice, Time now) {
  auto& view = spaces_[space].slots[slice_name].view;
  if (!view.known()) view.set_servers(heard_, now, visible_);
  view.written(revision, slice, now, visible_);
  after(space, slice_name, now);
}

void Judge::slice_gone(const std::string& space, const std::string& slice_name) {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  busy_.erase({space, slice_name});
  off_.erase({space, slice_name});
  const auto slot = found->second.slots.find(slice_name);
  if (slot == found->second.slots.end()) return;
  slot->second.view = {};
  if (limit_of(found->second, slice_name) == nullptr) found->second.slots.erase(slot);
  forget_empty(space);
}

// ---- who asks

/// What was let in by a zood before this one is not known; nor is what there is, while its kind is
/// still being read.
bool Judge::young(const Limit& limit, Time now) const {
  if (now < started_ + settings_.young) return true;
  return std::any_of(limit.hard.begin(), limit.hard.end(), [this](const auto& entry) {
    return !known_.contains(kind_of_name(entry.first));
  });
}

ResourceList Judge::sum(const Known& known, const Limit& limit, Time now) const {
  if (!young(limit, now)) {
    const auto found = known.sums.find(limit.slice_name);
    if (found == known.sums.end()) return {};
    return found->second.all();
  }
  ResourceList out;
  for (const auto& name : known.owner.spaces) {
    const auto* slot = slot_of(name, limit.slice_name);
    if (slot == nullptr) continue;
    add(out, larger(slot->part.all(), only(slot->view.newest().used, limit.hard)));
  }
  return out;
}

std::string Judge::refusal(const Known& known, const Limit& limit, const ResourceList& more,
                           const ResourceList& used, const std::string& space) const {
  ResourceList full;
  std::string quota;
  for (const auto& [name, amount] : more) {
    const auto& hard = limit.hard.at(name);
    const auto taken = used.find(name);
    if (amount + (taken == used.end() ? kube::Quantity{} : taken->second) <= hard) continue;
    const auto from = limit.from.find(name);
    const auto& whose = from == limit.from.end() ? limit.slice_name : from->second;
    if (quota.empty()) quota = whose;
    if (whose == quota) full.insert_or_assign(name, amount);
  }
  // Who has most of what is full.
  const auto own = known.owner.prefixes.find(space);
  const auto prefix = own == known.owner.prefixes.end() ? std::string_view() : own->second;
  std::vector<std::pair<kube::Quantity, std::string>> users;
  for (const auto& name : known.owner.spaces) {
    if (!name.starts_with(prefix)) continue; // another tenant's, of the same account
    const auto* slot = slot_of(name, limit.slice_name);
    if (slot == nullptr) continue;
    const auto here = of_names(slot->part.all(), full);
    if (here.empty() || here.begin()->second.zero()) continue;
    users.emplace_back(here.begin()->second, name.substr(prefix.size()) + ' ' + amounts_text(here));
  }
  std::stable_sort(users.begin(), users.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string who;
  for (std::size_t i = 0; i < users.size() && i < k_shown_spaces; ++i)
    who += (i == 0 ? ": " : ", ") + users[i].second;
  if (users.size() > k_shown_spaces) who += ", ...";
  return fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {} ({}{})", quota,
                     amounts_text(full), amounts_text(of_names(used, full)),
                     amounts_text(of_names(limit.hard, full)), known.owner.title, who);
}

bool Judge::fits(const Space& space, const Item& item, const Ask& ask, Time now) const {
  for (const auto* known : known_of(space)) {
    if (known == nullptr) continue;
    for (const auto& limit : known->owner.limits) {
      auto more = charged(ask.cost, limit);
      if (item.live && item.uid == ask.uid) more = beyond(more, charged(*item.live, limit));
      if (more.empty()) continue;
      const auto slot = space.slots.find(limit.slice_name);
      if (slot == space.slots.end() || !slot->second.view.known()) continue;
      const auto& view = slot->second.view;
      const auto& part = slot->second.part;
      auto least = plus(plus(part.live, part.allowed), view.dead(part.live, now));
      least = larger(std::move(least), only(view.used(), limit.hard));
      if (!within(only(plus(std::move(least), more), more), view.hard())) return false;
    }
  }
  return true;
}

std::string Judge::no_room(const std::string& owner, const std::string& space, Time now) const {
  const auto known = owners_.find(owner);
  const auto found = spaces_.find(space);
  if (known == owners_.end() || found == spaces_.end() ||
      known->second.owner.spaces.contains(space))
    return {};
  for (const auto& limit : known->second.owner.limits) {
    ResourceList more;
    for (const auto& [key, item] : found->second.items)
      if (item.live) add(more, charged(*item.live, limit));
    const auto used = sum(known->second, limit, now);
    if (within(only(plus(used, more), more), limit.hard)) continue;
    return refusal(known->second, limit, more, used, space);
  }
  return {};
}

Judge::Verdict Judge::ask(const Ask& ask, Time now) {
  using Kind = Verdict::Kind;
  const auto space = spaces_.find(ask.space);
  if (space == spaces_.end()) return {};
  Verdict out;
  out.owners = owners_of(ask.space);
  if (out.owners.empty()) return out;
  const auto found = space->second.items.find(ask.key);
  static const Item nothing;
  const auto& item = found == space->second.items.end() ? nothing : found->second;
  const bool again =
      item.held && item.held->uid == ask.uid && within(ask.cost.all, item.held->cost.all);
  if (again && item.held->allowed) return out;
  bool grows = false;
  for (const auto& owner : out.owners) {
    const auto& known = owners_.at(owner);
    for (const auto& limit : known.owner.limits) {
      const auto cost = charged(ask.cost, limit);
      auto more = item.live ? beyond(cost, charged(*item.live, limit)) : cost;
      grows = grows || !more.empty() || (item.live && item.uid != ask.uid && !cost.empty());
      if (again) continue;
      if (item.held)
        more = beyond(cost, larger(charged(item.held->cost, limit),
                                   item.live ? charged(*item.live, limit) : ResourceList{}));
      if (more.empty()) continue;
      const auto used = sum(known, limit, now);
      if (within(only(plus(used, more), more), limit.hard)) continue;
      out.kind = Kind::deny;
      out.text = refusal(known, limit, more, used, ask.space);
      out.doubtful = !doubts(owner, std::chrono::seconds(1), now).empty();
      out.owners = {std::string(owner)};
      return out;
    }
  }
  if (!grows) return out;
  // A dry run waits for room as others do, and leaves nothing behind.
  if (ask.dry_run && (item.held || fits(space->second, item, ask, now))) return out;
  if (!again) {
    held_.emplace(now + settings_.reservation, Place{ask.space, ask.key});
    change(ask.space, ask.key, now, [&](Item& one) {
      auto cost = ask.cost;
      if (one.held) cost.all = larger(std::move(cost.all), one.held->cost.all);
      one.held = Held{ask.uid, std::move(cost), now, false};
    });
  }
  if (!has_room(ask, now)) out.kind = Kind::wait;
  return out;
}

bool Judge::has_room(const Ask& ask, Time now) {
  const auto space = spaces_.find(ask.space);
  if (space == spaces_.end()) return true;
  const auto item = space->second.items.find(ask.key);
  if (item == space->second.items.end()) return true;
  if (!fits(space->second, item->second, ask, now)) return false;
  let_in(ask, now);
  return true;
}

void Judge::let_in(const Ask& ask, Time now) {
  if (ask.dry_run) return drop(ask, now);
  const auto space = spaces_.find(ask.space);
  if (space == spaces_.end() || !space->second.items.contains(ask.key)) return;
  held_.emplace(now + settings_.reservation, Place{ask.space, ask.key});
  change(ask.space, ask.key, now, [&](Item& one) {
    if (!one.held || one.held->uid != ask.uid) return;
    one.held->allowed = true;
    one.held->at = now;
  });
}

std::vector<Judge::Doubt> Judge::doubts(const std::string& owner, Clock::duration age,
                                        Time now) const {
  std::vector<Doubt> out;
  Places seen_places; // one that had to wait stands there twice
  const auto latest = now - age + settings_.reservation;
  for (auto each = held_.begin(); each != held_.end() && each->first <= latest; ++each) {
    const auto& [space_name, key] = each->second;
    const auto space = spaces_.find(space_name);
    if (space == spaces_.end()) continue;
    const auto& owners = space->second.owners;
    if (std::find(owners.begin(), owners.end(), owner) == owners.end()) continue;
    const auto item = space->second.items.find(key);
    if (item == space->second.items.end() || !item->second.held) continue;
    const auto& held = *item->second.held;
    if (held.allowed && held.at <= now - age && seen_places.insert(each->second).second)
      out.push_back({space_name, key, held.uid});
  }
  return out;
}

void Judge::dismiss(const Doubt& doubt, Time now) {
  const auto space = spaces_.find(doubt.space);
  if (space == spaces_.end() || !space->second.items.contains(doubt.key)) return;
  change(doubt.space, doubt.key, now, [&](Item& item) {
    if (item.held && item.held->uid == doubt.uid) item.held.reset();
  });
}

std::size_t Judge::reserved() const {
  std::set<Place> out;
  for (const auto& [at, place] : held_) {
    const auto space = spaces_.find(place.first);
    if (space == spaces_.end()) continue;
    const auto item = space->second.items.find(place.second);
    if (item != space->second.items.end() && item->second.held) out.insert(place);
  }
  return out.size();
}

// ---- who reads

std::vector<Judge::Count> Judge::count(const std::string& owner,
                                       const std::string& slice_name) const {
  std::vector<Count> out;
  const auto known = owners_.find(owner);
  if (known == owners_.end()) return out;
  for (const auto& name : known->second.owner.spaces) {
    const auto* slot = slot_of(name, slice_name);
    if (slot == nullptr) continue;
    const auto& part = slot->part;
    out.push_back({name, part.live, plus(part.allowed, part.waiting), slot->view.newest().hard});
  }
  return out;
}

std::vector<std::string> Judge::objects(const std::string& space_name, const Limit& limit,
                                        std::string_view name, std::size_t most) const {
  std::vector<std::string> out;
  const auto space = spaces_.find(space_name);
  if (space == spaces_.end()) return out;
  for (const auto& [key, item] : space->second.items) {
    if (out.size() == most) break;
    if (item.live && charged(*item.live, limit).contains(name)) out.push_back(key);
  }
  return out;
}

const Owner* Judge::owner(std::string_view name) const {
  const auto known = owners_.find(name);
  return known == owners_.end() ? nullptr : &known->second.owner;
}

std::string Judge::owner_of(std::string_view space) const {
  const auto all = owners_of(space);
  return all.empty() ? std::string() : all.front();
}

std::vector<std::string> Judge::owners_of(std::string_view space) const {
  std::vector<std::string> out;
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return out;
  for (const auto& name : found->second.owners)
    if (!name.empty() && owners_.contains(name)) out.push_back(name);
  return out;
}

} // namespace zoo::quota
