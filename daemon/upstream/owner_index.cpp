// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/owner_index.hpp"

#include <algorithm>

namespace zoo::upstream {

using Clock = std::chrono::steady_clock;

OwnerIndex::OwnerIndex(Upstream& upstream, net::Loop& loop, Caller& caller, std::string path,
                       Reads reads, OwnerOf owner)
    : owner_of_(owner),
      follower_(upstream, loop, caller, std::move(path), "",
                {.changed = [this](auto type, const auto& key,
                                   auto object) { changed(type, key, object); },
                 .began =
                     [this] {
                       {
                         const std::scoped_lock lock(mutex_);
                         std::swap(held_, found_);
                       }
                       found_ = {};
                     },
                 .found = [this](auto name, auto object) { found_.put(name, owner_of_(object)); },
                 .looks = [this] { found_ = {}; },
                 .whole = reads == Reads::whole}) {}

void OwnerIndex::expect_write(std::string_view owner_prefix, std::chrono::milliseconds lasting) {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  std::erase_if(written_, [now](const auto& entry) { return entry.second <= now; });
  auto& until = written_[std::string(owner_prefix)];
  until = std::max(until, now + lasting);
}

std::optional<OwnerIndex::Names> OwnerIndex::names_of(std::string_view owner_prefix) {
  if (!asked_.exchange(true)) follower_.start();
  if (!follower_.hears()) return std::nullopt;
  Names out;
  const std::scoped_lock lock(mutex_);
  const auto written = written_.find(std::string(owner_prefix));
  if (written != written_.end() && written->second > Clock::now()) return std::nullopt;
  const auto& all = held_.by_owner;
  for (auto at = all.lower_bound({std::string(owner_prefix), ""});
       at != all.end() && at->first.starts_with(owner_prefix); ++at)
    out.insert(at->second);
  return out;
}

std::size_t OwnerIndex::size() const {
  const std::scoped_lock lock(mutex_);
  return held_.owners.size();
}

void OwnerIndex::changed(translate::EventType type, const translate::ObjectKey& key,
                         std::string_view object) {
  auto owner = owner_of_(object);
  const std::scoped_lock lock(mutex_);
  if (type == translate::EventType::deleted) {
    held_.erase(key.name);
  } else {
    held_.put(key.name, std::move(owner));
  }
}

void OwnerIndex::Held::put(std::string_view name, std::string owner) {
  std::string key(name);
  erase(key);
  by_owner.emplace(owner, key);
  owners.emplace(std::move(key), std::move(owner));
}

void OwnerIndex::Held::erase(const std::string& name) {
  const auto known = owners.find(name);
  if (known == owners.end()) return;
  by_owner.erase({known->second, name});
  owners.erase(known);
}

} // namespace zoo::upstream
