// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/directory.hpp"

namespace zoo::tenants {

std::size_t TenantSnapshot::shard_of(std::string_view id) {
  return std::hash<std::string_view>{}(id) % k_shards;
}

std::shared_ptr<const TenantEntry> TenantSnapshot::find(std::string_view id) const {
  const auto& shard = shards_[shard_of(id)];
  if (!shard) return nullptr;
  const auto found = shard->find(std::string(id));
  return found == shard->end() ? nullptr : found->second;
}

TenantSnapshot TenantSnapshot::with(std::string_view id,
                                    std::shared_ptr<const TenantEntry> entry) const {
  auto copy = *this;
  auto& slot = copy.shards_[shard_of(id)];
  auto shard = slot ? std::make_shared<Shard>(*slot) : std::make_shared<Shard>();
  const auto before = shard->size();
  if (entry) {
    shard->insert_or_assign(std::string(id), std::move(entry));
  } else {
    shard->erase(std::string(id));
  }
  copy.size_ = copy.size_ + shard->size() - before;
  slot = std::move(shard);
  return copy;
}

void TenantDirectory::on_withdrawal(std::function<void(std::string_view id)> told) {
  told_.store(std::make_shared<const std::function<void(std::string_view)>>(std::move(told)));
}

void TenantDirectory::withdrawn(std::string_view id) const {
  if (const auto told = told_.load()) (*told)(id);
}

void TenantDirectory::set(std::shared_ptr<const TenantEntry> entry) {
  const auto id = entry->id;
  const auto before = snapshot()->find(id);
  const bool less =
      before && (before->uid != entry->uid || (before->admits() && !entry->admits()) ||
                 before->credential_epoch != entry->credential_epoch ||
                 before->tokens_after != entry->tokens_after ||
                 before->revoked_serials != entry->revoked_serials);
  publish(snapshot()->with(id, std::move(entry)));
  if (less) withdrawn(id);
}

void TenantDirectory::remove(std::string_view id) {
  publish(snapshot()->with(id, nullptr));
  withdrawn(id);
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
