// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/directory.hpp"

#include <algorithm>

namespace zoo::tenants {

std::size_t TenantSnapshot::shard_of(std::string_view id) {
  return std::hash<std::string_view>{}(id) % k_shards;
}

TenantSnapshot::Shard::const_iterator TenantSnapshot::place(const Shard& shard,
                                                            std::string_view id) {
  return std::lower_bound(shard.begin(), shard.end(), id,
                          [](const Entry& entry, std::string_view key) { return entry->id < key; });
}

TenantSnapshot::TenantSnapshot(std::vector<Entry> entries) : size_(entries.size()) {
  std::array<Shard, k_shards> shards;
  for (auto& entry : entries)
    shards[shard_of(entry->id)].push_back(std::move(entry));
  for (std::size_t i = 0; i < k_shards; ++i) {
    std::sort(shards[i].begin(), shards[i].end(),
              [](const Entry& left, const Entry& right) { return left->id < right->id; });
    if (!shards[i].empty()) shards_[i] = std::make_shared<const Shard>(std::move(shards[i]));
  }
}

TenantSnapshot::Entry TenantSnapshot::find(std::string_view id) const {
  const auto& shard = shards_[shard_of(id)];
  if (!shard) return nullptr;
  const auto found = place(*shard, id);
  return found == shard->end() || (*found)->id != id ? nullptr : *found;
}

void TenantSnapshot::each(const std::function<void(const TenantEntry&)>& told) const {
  for (const auto& shard : shards_) {
    if (!shard) continue;
    for (const auto& entry : *shard)
      told(*entry);
  }
}

TenantSnapshot TenantSnapshot::with(std::string_view id, Entry entry) const {
  auto copy = *this;
  auto& slot = copy.shards_[shard_of(id)];
  const Shard none;
  const auto& old = slot ? *slot : none;
  const auto at = place(old, id);
  const bool there = at != old.end() && (*at)->id == id;
  auto shard = std::make_shared<Shard>();
  shard->reserve(old.size() + 1);
  shard->insert(shard->end(), old.begin(), at);
  if (entry) shard->push_back(std::move(entry));
  shard->insert(shard->end(), there ? at + 1 : at, old.end());
  copy.size_ = copy.size_ + shard->size() - old.size();
  slot = std::move(shard);
  return copy;
}

void TenantDirectory::fill(std::vector<TenantSnapshot::Entry> entries) {
  publish(TenantSnapshot(std::move(entries)));
}

void TenantDirectory::on_withdrawal(std::function<void(std::string_view id)> told) {
  told_.store(std::make_shared<const std::function<void(std::string_view)>>(std::move(told)));
}

void TenantDirectory::withdrawn(std::string_view id) const {
  if (const auto told = told_.load()) (*told)(id);
}

void TenantDirectory::on_change(std::function<void(std::string_view id)> told) {
  const std::scoped_lock lock(changes_mutex_);
  tells_change_ = std::move(told);
}

void TenantDirectory::changed(std::string_view id) const {
  const std::scoped_lock lock(changes_mutex_);
  if (tells_change_) tells_change_(id);
}

void TenantDirectory::set(std::shared_ptr<const TenantEntry> entry) {
  const auto id = entry->id;
  const auto before = snapshot()->find(id);
  const bool less =
      before && (before->uid != entry->uid || (before->admits() && !entry->admits()) ||
                 before->credential_epoch != entry->credential_epoch ||
                 before->tokens_after != entry->tokens_after ||
                 before->revoked_serials != entry->revoked_serials);
  const TenantEntry nobody;
  const auto& old = before ? *before : nobody;
  const bool other = old.account != entry->account || old.terms.hard != entry->terms.hard ||
                     old.terms.templates != entry->terms.templates;
  publish(snapshot()->with(id, std::move(entry)));
  if (less) withdrawn(id);
  if (other) changed(id);
}

void TenantDirectory::remove(std::string_view id) {
  publish(snapshot()->with(id, nullptr));
  withdrawn(id);
  changed(id);
}

void TenantDirectory::publish(TenantSnapshot next) {
  current_.store(std::make_shared<const TenantSnapshot>(std::move(next)));
  {
    const std::scoped_lock lock(mutex_);
  } // whoever looked before it was stored waits by now
  changed_.notify_all();
}

bool TenantDirectory::wait_for(std::string_view id, std::int64_t revision,
                               std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] {
    const auto entry = snapshot()->find(id);
    return !entry || entry->revision >= revision;
  });
}

} // namespace zoo::tenants
