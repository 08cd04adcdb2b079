// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/owner_index.hpp"

#include <algorithm>
#include <limits>

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
                         for (const auto& [name, of] : found_.owners) {
                           const auto now = held_.owners.find(name);
                           if (now == held_.owners.end()) {
                             forget(name, of);
                           } else if (now->second != of) { // at a time that was not heard of
                             left(name, of, std::numeric_limits<std::int64_t>::max());
                           }
                         }
                       }
                       found_ = {};
                       known_ = true;
                     },
                 .found = [this](auto name, auto object) { found_.put(name, owner_of_(object)); },
                 .passed =
                     [this](auto version) {
                       const std::scoped_lock lock(mutex_);
                       reach(version);
                     },
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
  if (!hears()) return std::nullopt;
  Names out;
  const std::scoped_lock lock(mutex_);
  const auto written = written_.find(std::string(owner_prefix));
  if (written != written_.end() && written->second > Clock::now()) return std::nullopt;
  held_.add_names(owner_prefix, std::numeric_limits<std::size_t>::max(), out);
  return out;
}

std::optional<OwnerIndex::Moment>
OwnerIndex::moment_of(const std::vector<std::string>& owner_prefixes, std::size_t most) {
  if (!hears()) return std::nullopt;
  Moment out;
  const std::scoped_lock lock(mutex_);
  if (revision_ == -1) return std::nullopt;
  out.revision = revision_;
  for (const auto& prefix : owner_prefixes)
    held_.add_names(prefix, most, out.names);
  if (out.names.size() > most) return std::nullopt;
  return out;
}

void OwnerIndex::reach(std::string_view version) {
  const auto revision = revision_of(version);
  revision_ = revision ? *revision : -1;
}

std::int64_t OwnerIndex::reached() const {
  const std::scoped_lock lock(mutex_);
  return revision_;
}

bool OwnerIndex::hears() {
  if (!asked_.exchange(true)) follower_.start();
  return follower_.hears();
}

std::optional<std::string> OwnerIndex::owner_of(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  if (const auto found = held_.owners.find(name); found != held_.owners.end()) return found->second;
  if (const auto gone = gone_.find(name); gone != gone_.end()) return gone->second;
  return std::nullopt;
}

void OwnerIndex::forget(const std::string& name, const std::string& owner) {
  if (gone_.insert_or_assign(name, owner).second) gone_names_.push_back(name);
  if (gone_names_.size() <= k_gone) return;
  gone_.erase(gone_names_.front());
  gone_names_.pop_front();
}

void OwnerIndex::left(const std::string& name, std::string owner, std::int64_t revision) {
  auto& former = left_[name];
  if (former.empty()) left_names_.push_back(name);
  former.push_back({std::move(owner), revision});
  if (former.size() > k_owners) former.pop_front();
  if (left_names_.size() <= k_gone) return;
  left_.erase(left_names_.front());
  left_names_.pop_front();
}

bool OwnerIndex::owned_behind(const std::string& name, std::int64_t revision,
                              const std::function<bool(std::string_view)>& by) const {
  const std::scoped_lock lock(mutex_);
  if (const auto held = held_.owners.find(name); held != held_.owners.end() && by(held->second))
    return true;
  const auto former = left_.find(name);
  return former != left_.end() &&
         std::any_of(former->second.begin(), former->second.end(),
                     [&](const Left& each) { return each.revision > revision && by(each.owner); });
}

std::size_t OwnerIndex::size() const {
  const std::scoped_lock lock(mutex_);
  return held_.owners.size();
}

void OwnerIndex::changed(translate::EventType type, const translate::ObjectKey& key,
                         std::string_view object) {
  auto owner = owner_of_(object);
  const std::scoped_lock lock(mutex_);
  reach(key.resource_version);
  if (type == translate::EventType::deleted) {
    held_.erase(key.name);
    forget(key.name, owner);
  } else {
    const auto held = held_.owners.find(key.name);
    if (held != held_.owners.end() && held->second != owner)
      left(key.name, held->second, revision_);
    held_.put(key.name, std::move(owner));
  }
}

void OwnerIndex::Held::put(std::string_view name, std::string owner) {
  std::string key(name);
  erase(key);
  by_owner.emplace(owner, key);
  owners.emplace(std::move(key), std::move(owner));
}

void OwnerIndex::Held::add_names(std::string_view owner_prefix, std::size_t most,
                                 Names& out) const {
  for (auto at = by_owner.lower_bound({std::string(owner_prefix), ""});
       out.size() <= most && at != by_owner.end() && at->first.starts_with(owner_prefix); ++at)
    out.insert(at->second);
}

void OwnerIndex::Held::erase(const std::string& name) {
  const auto known = owners.find(name);
  if (known == owners.end()) return;
  by_owner.erase({known->second, name});
  owners.erase(known);
}

} // namespace zoo::upstream
