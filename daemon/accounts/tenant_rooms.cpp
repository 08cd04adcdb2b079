// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/tenant_rooms.hpp"

#include "daemon/accounts/quota_owners.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::accounts {

bool TenantRooms::concerns(std::string_view id) const {
  if (parts_.tenants == nullptr) return false;
  const auto terms = parts_.tenants->terms(id);
  return terms && (!terms->hard.empty() || !terms->account.empty() || !terms->templates.empty());
}

bool TenantRooms::furnishes(std::string_view space) const {
  const std::lock_guard lock(mutex_);
  return in_hand_.contains(space);
}

Result<void> TenantRooms::furnish(upstream::ControlApi& api, const std::string& id,
                                  const std::string& space) {
  const auto terms = parts_.tenants == nullptr ? std::nullopt : parts_.tenants->terms(id);
  if (!terms) return {};
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return !in_hand_.contains(space); });
    in_hand_.insert(space);
  }
  const auto done = [&]() -> Result<void> {
    ZOO_TRY_VOID(quotas_.furnish(api, space, owners_of_tenant(id, *terms), true));
    ZOO_TRY(const auto state, parts_.state());
    return templates_.furnish(api, space, wanted_instances(*state, *terms, space),
                              surroundings_in(*state, *terms, id, space), parts_.chart_within);
  }();
  const std::lock_guard lock(mutex_);
  in_hand_.erase(space);
  done_.notify_all();
  return done;
}

Result<void> TenantRooms::keep(upstream::ControlApi& api, const std::string& id,
                               const std::string& space) {
  const auto terms = parts_.tenants == nullptr ? std::nullopt : parts_.tenants->terms(id);
  if (!terms) return {};
  ZOO_TRY(const auto state, parts_.state());
  return templates_.keep(api, space, wanted_instances(*state, *terms, space),
                         surroundings_in(*state, *terms, id, space));
}

} // namespace zoo::accounts
