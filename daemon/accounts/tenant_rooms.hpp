// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/quota_keeper.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/accounts/space_templates.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace zoo::accounts {

/// What tenants' namespaces have by spec.quota, spec.templates and spec.account of their Tenants.
/// Any thread; calls block.
class TenantRooms {
public:
  TenantRooms(const WriteParts& parts, QuotaKeeper& quotas, SpaceTemplates& templates)
      : parts_(parts), quotas_(quotas), templates_(templates) {}

  bool concerns(std::string_view id) const; ///< never blocks

  /// Before the tenant has access to a new namespace: its slices, then its templates. What is there
  /// stays, so that it may be called again; one at a time of a namespace. Errors as
  /// access::Furnisher::furnish() says.
  Result<void> furnish(upstream::ControlApi& api, const std::string& id, const std::string& space);

  /// A namespace that there is has the instances of the Tenant's list, and none of another list.
  Result<void> keep(upstream::ControlApi& api, const std::string& id, const std::string& space);

  /// Is it being furnished now? Never blocks.
  bool furnishes(std::string_view space) const;

private:
  const WriteParts& parts_;
  QuotaKeeper& quotas_;
  SpaceTemplates& templates_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::set<std::string, std::less<>> in_hand_; ///< namespaces, under mutex_
};

} // namespace zoo::accounts
