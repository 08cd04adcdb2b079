// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_table.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zoo::clusters::sync {
namespace {

bool same(const PodHere& a, const PodHere& b) {
  return a.uid == b.uid && a.hash == b.hash && a.leaving == b.leaving && a.ran == b.ran &&
         a.bound == b.bound && a.ended == b.ended && a.given_up == b.given_up &&
         a.stranded == b.stranded;
}

} // namespace

bool PodTable::note_here(const std::string& key, PodFacts facts) {
  const std::scoped_lock lock(mutex_);
  auto& now = pods_[key].facts;
  const bool other_pod = !now.here || now.here->uid != facts.here->uid;
  const bool other = other_pod || !same(*now.here, *facts.here);
  if (other_pod) {
    // What is counted is upstream's, which perhaps runs on though nobody has its name any more.
    now.was_there = now.there && now.there->owner == facts.here->uid;
    tell(now, 0);
    now.sent = now.echo = 0;
    now.awaits_echo = false;
  }
  if (std::exchange(now.awaits_echo, false)) now.echo = facts.shown;
  now.here = std::move(facts.here);
  now.terms = std::move(facts.terms);
  now.node = std::move(facts.node);
  now.texts = facts.texts;
  now.grace = facts.grace;
  now.shown = facts.shown;
  return other;
}

bool PodTable::drop_here(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  found->second.facts.here.reset();
  tell(found->second.facts, 0);
  tidy(key);
  return true;
}

std::vector<std::string> PodTable::keep_here(const std::unordered_set<std::string>& seen) {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  for (auto& [key, entry] : pods_)
    if (entry.facts.here && !seen.contains(key)) out.push_back(key);
  for (const auto& key : out) {
    auto& facts = pods_.at(key).facts;
    facts.here.reset();
    tell(facts, 0);
    tidy(key);
  }
  return out;
}

void PodTable::forget_heard(Entry& entry) {
  if (entry.heard && entry.heard->object) heard_bytes_ -= entry.heard->object->size();
  entry.heard.reset();
}

void PodTable::hear(const std::string& key, std::shared_ptr<const std::string> object, bool gone) {
  const std::scoped_lock lock(mutex_);
  auto& entry = pods_[key];
  forget_heard(entry);
  if (object && heard_bytes_ + object->size() > k_most_heard) object = nullptr;
  if (object) heard_bytes_ += object->size();
  entry.heard = Heard{std::move(object), gone};
}

void PodTable::put_there(PodFacts& facts, std::optional<PodThere> there) {
  if (facts.there) {
    for (const auto& address : facts.there->addresses) {
      const auto found = addresses_.find(address);
      if (found != addresses_.end() && --found->second == 0) addresses_.erase(found);
    }
  }
  if (there)
    for (const auto& address : there->addresses)
      ++addresses_[address];
  facts.there = std::move(there);
  if (!facts.there) put_bytes(facts, 0);
  if (facts.there && facts.here && facts.there->owner == facts.here->uid) facts.was_there = true;
}

std::optional<PodPlace> PodTable::place(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return std::nullopt;
  const auto& facts = found->second.facts;
  if (!facts.here || !facts.there) return std::nullopt;
  return PodPlace{facts.node, facts.terms.containers};
}

bool PodTable::has_address(const std::string& address) const {
  const std::scoped_lock lock(mutex_);
  return addresses_.contains(address);
}

void PodTable::note_there(const std::string& key, PodThere there) {
  const std::scoped_lock lock(mutex_);
  auto& facts = pods_[key].facts;
  if (facts.there && facts.there->version >= there.version) return;
  put_there(facts, std::move(there));
}

std::optional<PodFacts> PodTable::look(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return std::nullopt;
  return found->second.facts;
}

void PodTable::keep_there(const std::unordered_set<std::string>& seen) {
  std::vector<std::string> lost;
  const std::scoped_lock lock(mutex_);
  for (auto& [key, entry] : pods_) {
    if (seen.contains(key)) continue;
    put_there(entry.facts, std::nullopt);
    if (!entry.facts.here) lost.push_back(key);
  }
  for (const auto& key : lost)
    tidy(key);
}

std::optional<PodTable::Taken> PodTable::take(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return std::nullopt;
  Taken out{found->second.facts, found->second.heard};
  forget_heard(found->second);
  return out;
}

bool PodTable::set_there(const std::string& key, std::optional<PodThere> there) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  const bool freed = !there && release(found->second.facts);
  put_there(found->second.facts, std::move(there));
  tidy(key);
  return freed;
}

void PodTable::set_shown(const std::string& key, std::uint64_t shown) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  auto& facts = found->second.facts;
  facts.shown = facts.sent = shown;
  facts.awaits_echo = true;
}

void PodTable::set_told(const std::string& key, std::uint64_t told) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = pods_.find(key); found != pods_.end()) tell(found->second.facts, told);
}

void PodTable::tell(PodFacts& facts, std::uint64_t told) {
  if (facts.told != 0) --refused_;
  facts.told = told;
  if (facts.told != 0)
    ++refused_;
  else
    facts.lacks_room.reset();
}

std::optional<Ledger::Shortage> PodTable::reserve(const std::string& key, const Amounts& claims) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return std::nullopt;
  auto& facts = found->second.facts;
  // What is less than before is had in any case, also where the share has become too small.
  Amounts more;
  for (const auto& [name, amount] : claims)
    if (const auto before = amount_of(facts.claims, name); amount > before)
      more.emplace_back(name, amount - before);
  if (auto shortage = ledger_.reserve(more)) {
    facts.lacks_room = RoomLacked{std::move(more), 0};
    return shortage;
  }
  facts.lacks_room.reset();
  ledger_.release(more);
  ledger_.release(facts.claims);
  ledger_.note(claims);
  facts.claims = claims;
  facts.counted_on = facts.node;
  facts.counted = true;
  return std::nullopt;
}

void PodTable::count(const std::string& key, const Amounts& claims, const std::string& node,
                     bool anew) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  auto& facts = found->second.facts;
  if (facts.counted && !anew) return;
  release(facts);
  ledger_.note(claims);
  facts.claims = claims;
  facts.counted_on = node;
  facts.counted = true;
}

bool PodTable::release(PodFacts& facts) {
  ledger_.release(facts.claims);
  facts.claims.clear();
  facts.counted_on.clear();
  return std::exchange(facts.counted, false);
}

bool PodTable::uncount(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return false;
  const bool was = release(found->second.facts);
  if (!found->second.facts.there) put_bytes(found->second.facts, 0);
  tidy(key);
  return was;
}

bool PodTable::hold_bytes(const std::string& key, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return true;
  auto& facts = found->second.facts;
  if (stored_ != nullptr && !stored_->swap(facts.bytes, bytes)) {
    facts.lacks_room = RoomLacked{{}, bytes - facts.bytes};
    return false;
  }
  facts.bytes = bytes;
  return true;
}

void PodTable::note_bytes(const std::string& key, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(key);
  if (found != pods_.end() && found->second.facts.there && found->second.facts.bytes == 0)
    put_bytes(found->second.facts, bytes);
}

void PodTable::put_bytes(PodFacts& facts, std::size_t bytes) {
  if (stored_ != nullptr) stored_->set(facts.bytes, bytes);
  facts.bytes = bytes;
}

std::vector<std::string> PodTable::strand(const std::string& node, bool over) {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  for (auto& [key, entry] : pods_) {
    auto& here = entry.facts.here;
    if (!here || entry.facts.node != node || std::exchange(here->stranded, over) == over) continue;
    out.push_back(key);
  }
  return out;
}

std::unordered_set<std::string> PodTable::nodes_upstream() const {
  std::unordered_set<std::string> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, entry] : pods_)
    if (const auto& facts = entry.facts;
        facts.here && facts.there && facts.there->owner == facts.here->uid)
      out.insert(facts.node);
  return out;
}

void PodTable::tidy(const std::string& key) {
  const auto found = pods_.find(key);
  auto& entry = found->second;
  if (entry.facts.here || entry.facts.there || entry.heard || entry.facts.counted) return;
  put_bytes(entry.facts, 0);
  pods_.erase(found);
}

void PodTable::set_share(Ledger::Sums share) {
  const std::scoped_lock lock(mutex_);
  share_ = share;
  ledger_.set_share(std::move(share));
}

Ledger::Sums PodTable::share_left() const {
  const std::scoped_lock lock(mutex_);
  Ledger::Sums out;
  for (const auto& [resource, amount] : share_)
    out[resource] = ledger_.left(resource).value_or(amount);
  return out;
}

Ledger::Sums PodTable::used_on(const std::string& node) const {
  const std::scoped_lock lock(mutex_);
  Ledger::Sums out;
  for (const auto& [key, entry] : pods_)
    if (entry.facts.counted && entry.facts.counted_on == node) add(out, entry.facts.claims);
  return out;
}

std::vector<std::string> PodTable::on_node(const std::string& node) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [key, entry] : pods_)
    if (entry.facts.here && entry.facts.node == node) out.push_back(key);
  return out;
}

std::vector<std::pair<std::string, std::string>> PodTable::with_tokens() const {
  std::vector<std::pair<std::string, std::string>> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, entry] : pods_) {
    const auto& [here, there] = std::tie(entry.facts.here, entry.facts.there);
    if (here && here->tokens && !here->leaving && there && there->owner == here->uid)
      out.emplace_back(key, here->uid);
  }
  return out;
}

std::vector<std::string> PodTable::undone() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [key, entry] : pods_) {
    const auto& facts = entry.facts;
    if (entry.heard || (facts.counted && !facts.there) ||
        next_step(facts.here, facts.there, facts.was_there) != PodStep::nothing)
      out.push_back(key);
  }
  return out;
}

std::size_t PodTable::size() const {
  const std::scoped_lock lock(mutex_);
  return pods_.size();
}

std::size_t PodTable::refused() const {
  const std::scoped_lock lock(mutex_);
  return refused_;
}

std::vector<std::string> PodTable::refused_keys() const {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  if (refused_ == 0) return out;
  for (const auto& [key, entry] : pods_)
    if (entry.facts.told != 0) out.push_back(key);
  return out;
}

std::vector<std::string> PodTable::fitting(std::size_t most) const {
  std::vector<std::string> out;
  const std::scoped_lock lock(mutex_);
  if (refused_ == 0) return out;
  auto ledger = ledger_;
  std::size_t bytes = 0;
  for (const auto& [key, entry] : pods_) {
    if (out.size() >= most) break;
    const auto& [here, told, lacks] =
        std::tie(entry.facts.here, entry.facts.told, entry.facts.lacks_room);
    if (told == 0 || !here || !lacks) continue;
    if (lacks->bytes != 0 && !stored_->fits(bytes + lacks->bytes)) continue;
    if (ledger.reserve(lacks->amounts)) continue;
    bytes += lacks->bytes;
    out.push_back(key);
  }
  return out;
}

} // namespace zoo::clusters::sync
