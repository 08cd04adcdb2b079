// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/account_writes.hpp"
#include "daemon/accounts/controller.hpp"
#include "daemon/accounts/quota_keeper.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/accounts/space_writes.hpp"
#include "daemon/upstream/connections.hpp"

#include <utility>

namespace zoo::accounts {

/// All that writes accounts and spaces, put together on two pools of connections. Destroying it
/// waits for the controller's looks in progress; no write may be in progress then.
class Writes {
public:
  explicit Writes(WriteParts parts, ControllerSettings settings = {})
      : parts_(with_quotas(std::move(parts))), connections_(parts_.connect),
        once_(parts_.connect_once), saga_(parts_), spaces_(parts_, saga_, connections_, once_),
        accounts_(parts_, once_), controller_(parts_, saga_, connections_, std::move(settings)),
        quotas_(parts_, connections_, table_) {}
  Writes(const Writes&) = delete;
  Writes& operator=(const Writes&) = delete;

  SpaceWrites& spaces() { return spaces_; }
  AccountWrites& accounts() { return accounts_; }
  Controller& controller() { return controller_; }
  QuotaKeeper& quotas() { return quotas_; }
  QuotaTable& quota_table() { return table_; }

private:
  WriteParts with_quotas(WriteParts parts) {
    parts.furnish = [this](upstream::ControlApi& api, const std::string& space,
                           const Account& account) { return quotas_.furnish(api, space, account); };
    return parts;
  }

  const WriteParts parts_;
  upstream::Connections connections_, once_;
  Saga saga_;
  SpaceWrites spaces_;
  AccountWrites accounts_;
  QuotaTable table_;
  Controller controller_;
  QuotaKeeper quotas_;
};

} // namespace zoo::accounts
