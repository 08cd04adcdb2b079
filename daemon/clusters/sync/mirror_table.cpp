// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/mirror_table.hpp"

#include <algorithm>
#include <utility>

namespace zoo::clusters::sync {

void MirrorTable::use(StoredBytes& stored, bool limited) {
  const std::scoped_lock lock(mutex_);
  stored_ = &stored;
  limited_ = limited;
}

MirrorTable::Noted MirrorTable::note_here(const std::string& key, MirrorHere here) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  const bool is_new = found == objects_.end() || !found->second.here;
  if (is_new && here_ >= k_most) {
    full_ = true;
    return Noted::full;
  }
  auto& facts = objects_[key];
  if (facts.here == here) return Noted::same;
  if (is_new) ++here_;
  facts.here = std::move(here);
  count(facts);
  return Noted::other;
}

bool MirrorTable::drop_here(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end() || !found->second.here) return false;
  found->second.here.reset();
  tell(found->second, 0);
  --here_;
  tidy(key);
  return true;
}

std::vector<std::string> MirrorTable::keep_here(const std::unordered_set<std::string>& seen) {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, facts] : objects_)
    if (facts.here && !seen.contains(key)) out.push_back(key);
  for (const auto& key : out) {
    objects_[key].here.reset();
    tell(objects_[key], 0);
    --here_;
    tidy(key);
  }
  return out;
}

bool MirrorTable::note_there(const std::string& key, MirrorThere there) {
  const std::scoped_lock lock(mutex_);
  auto& facts = objects_[key];
  if (facts.there && facts.there->uid == there.uid && facts.there->version >= there.version)
    return false;
  facts.there = std::move(there);
  count(facts);
  return true;
}

void MirrorTable::drop_there(const std::string& key, std::string_view uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end() || !found->second.there) return;
  if (!uid.empty() && found->second.there->uid != uid) return; // another one has the name by now
  found->second.there.reset();
  found->second.shown = 0;
  count(found->second);
  tidy(key);
}

void MirrorTable::keep_there(const std::unordered_set<std::string>& seen) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> lost;
  for (const auto& [key, facts] : objects_)
    if (facts.there && !seen.contains(key)) lost.push_back(key);
  for (const auto& key : lost) {
    objects_[key].there.reset();
    count(objects_[key]);
    tidy(key);
  }
}

void MirrorTable::set_limits(const MirrorLimits& limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = limits;
}

MirrorLimits MirrorTable::taken() const {
  const std::scoped_lock lock(mutex_);
  return taken_;
}

Result<void> MirrorTable::judge(const std::string& key, std::uint32_t ports) const {
  const auto found = objects_.find(key);
  const auto before = found == objects_.end() ? std::nullopt : found->second.taken;
  if (!before && taken_.services >= limits_.services)
    return fail(Code::forbidden,
                "the virtual cluster may have {} Services (spec.limits.services of its "
                "VirtualCluster) and has {}: delete one, or ask the platform for more",
                limits_.services, taken_.services);
  const auto more = ports - std::min(ports, before.value_or(0));
  const auto left = limits_.node_ports - std::min(limits_.node_ports, taken_.node_ports);
  if (more > left)
    return fail(Code::forbidden,
                "it needs {} nodePorts more, and {} are left of the {} that the virtual cluster "
                "may have (spec.limits.nodePorts of its VirtualCluster): have another Service do "
                "without, or ask the platform for more",
                more, left, limits_.node_ports);
  return {};
}

Result<void> MirrorTable::allows(const std::string& key, std::uint32_t ports) const {
  const std::scoped_lock lock(mutex_);
  return judge(key, ports);
}

Result<MirrorClaim> MirrorTable::claim(const std::string& key, std::uint32_t ports,
                                       std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (limited_) ZOO_TRY_VOID(judge(key, ports));
  const auto found = objects_.find(key);
  const auto had = found == objects_.end() ? 0 : found->second.bytes;
  const auto asked = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX));
  if (stored_ != nullptr && !stored_->swap(had, std::max(had, asked)))
    return fail(Code::forbidden, "{}", no_room_for(bytes));
  auto& facts = objects_[key];
  if (facts.holds == 0) {
    facts.before = facts.taken;
    facts.bytes_before = facts.bytes;
  }
  facts.bytes = std::max(had, asked);
  // One that asks for fewer has what it has until upstream has taken it back.
  take(facts, std::max(ports, facts.taken.value_or(0)));
  ++facts.holds;
  return MirrorClaim(*this, key, asked);
}

void MirrorClaim::settle(bool done) {
  if (table_ != nullptr) std::exchange(table_, nullptr)->settle(key_, done, bytes_);
}

void MirrorTable::put_bytes(MirrorFacts& facts, std::uint32_t bytes) {
  if (stored_ != nullptr) stored_->set(facts.bytes, bytes);
  facts.bytes = bytes;
}

void MirrorTable::settle(const std::string& key, bool done, std::uint32_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end() || found->second.holds == 0) return;
  auto& facts = found->second;
  --facts.holds;
  if (done) facts.bytes_before = bytes;
  if (facts.holds == 0) put_bytes(facts, facts.bytes_before);
  // What was not done leaves it with what it had; count() knows better where both sides agree.
  if (!done && facts.holds == 0 && facts.there && facts.before) take(facts, facts.before);
  count(facts);
  tidy(key);
}

/// By what is known on both sides; while something is under way it stays as it is.
void MirrorTable::count(MirrorFacts& facts) {
  if (facts.holds != 0) return;
  if (!facts.there) put_bytes(facts, 0);
  if (!facts.there) return take(facts, std::nullopt);
  // What was there before zood was: as the cluster has it.
  if (facts.bytes == 0 && facts.here) put_bytes(facts, facts.here->bytes);
  const auto known = facts.here ? facts.here->ports : 0;
  // Upstream is as the cluster has it; or it was there before zood was, and no more is known.
  const bool same =
      facts.here && facts.there->owner == facts.here->uid && facts.there->hash == facts.here->hash;
  if (same || !facts.taken) take(facts, known);
}

void MirrorTable::take(MirrorFacts& facts, std::optional<std::uint32_t> ports) {
  if (facts.taken) --taken_.services;
  taken_.node_ports -= facts.taken.value_or(0);
  facts.taken = ports;
  if (facts.taken) ++taken_.services;
  taken_.node_ports += facts.taken.value_or(0);
}

std::optional<MirrorFacts> MirrorTable::look(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  return found->second;
}

void MirrorTable::set_shown(const std::string& key, std::uint64_t version) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = objects_.find(key); found != objects_.end()) found->second.shown = version;
}

void MirrorTable::set_told(const std::string& key, std::uint64_t told, bool crowded) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = objects_.find(key); found != objects_.end())
    tell(found->second, told, crowded);
}

void MirrorTable::set_asked(const std::string& key, std::int64_t when) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = objects_.find(key); found != objects_.end()) found->second.asked = when;
}

std::vector<std::string> MirrorTable::undone(bool up, std::int64_t now) const {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, facts] : objects_) {
    const bool unseen = up && facts.here && facts.there && facts.shown != facts.there->version;
    if (unseen || mirror_step(facts.here, facts.there, now) != MirrorStep::nothing)
      out.push_back(key);
  }
  return out;
}

std::size_t MirrorTable::size() const {
  const std::scoped_lock lock(mutex_);
  return objects_.size();
}

std::size_t MirrorTable::refused() const {
  const std::scoped_lock lock(mutex_);
  return refused_;
}

std::vector<std::string> MirrorTable::fitting(std::size_t most) const {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  if (refused_ == 0) return out;
  auto services = limits_.services - std::min(limits_.services, taken_.services);
  auto ports = limits_.node_ports - std::min(limits_.node_ports, taken_.node_ports);
  for (const auto& [key, facts] : objects_) {
    if (out.size() >= most) break;
    if (facts.told == 0 || !facts.crowded || !facts.here) continue;
    // As judge() has it.
    const std::uint32_t place = facts.taken ? 0 : 1;
    const auto more = facts.here->ports - std::min(facts.here->ports, facts.taken.value_or(0));
    if (place > services || more > ports) continue;
    services -= place;
    ports -= more;
    out.push_back(key);
  }
  return out;
}

void MirrorTable::tell(MirrorFacts& facts, std::uint64_t told, bool crowded) {
  if (facts.told == 0 && told != 0) ++refused_;
  if (facts.told != 0 && told == 0) --refused_;
  facts.told = told;
  facts.crowded = crowded;
}

void MirrorTable::set_full(bool full) {
  const std::scoped_lock lock(mutex_);
  full_ = full;
}

bool MirrorTable::full() const {
  const std::scoped_lock lock(mutex_);
  return full_;
}

void MirrorTable::tidy(const std::string& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end() || found->second.here || found->second.there) return;
  if (found->second.holds != 0) return; // it is being made
  tell(found->second, 0);
  put_bytes(found->second, 0);
  objects_.erase(found);
}

std::vector<std::string> References::set(const std::string& pod, std::vector<std::string> targets) {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  const auto found = by_pod_.find(pod);
  if (found == by_pod_.end() && targets.empty()) return out;
  if (found != by_pod_.end() && found->second == targets) return out;
  const auto before = found == by_pod_.end() ? 0 : found->second.size();
  targets.resize(std::min(targets.size(), k_most - std::min(k_most, all_ - before)));
  if (found == by_pod_.end() && targets.empty()) return out;
  all_ = all_ - before + targets.size();
  for (const auto& target : targets)
    if (++counts_[target] == 1) out.push_back(target);
  if (found != by_pod_.end()) {
    for (const auto& target : found->second) {
      const auto count = counts_.find(target);
      if (count == counts_.end() || --count->second != 0) continue;
      counts_.erase(count);
      out.push_back(target);
    }
  }
  if (targets.empty())
    by_pod_.erase(found);
  else
    by_pod_[pod] = std::move(targets);
  return out;
}

bool References::contains(const std::string& target) const {
  const std::scoped_lock lock(mutex_);
  return counts_.contains(target);
}

} // namespace zoo::clusters::sync
