// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/account_writes.hpp"
#include "daemon/accounts/controller.hpp"
#include "daemon/accounts/instance_writes.hpp"
#include "daemon/accounts/quota_keeper.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/accounts/space_templates.hpp"
#include "daemon/accounts/space_writes.hpp"
#include "daemon/accounts/tenant_rooms.hpp"
#include "daemon/templates/keeper.hpp"
#include "daemon/upstream/connections.hpp"

#include <utility>

namespace zoo::accounts {

/// All that writes accounts and spaces, put together on two pools of connections. Destroying it
/// waits for the controller's looks in progress; no write may be in progress then.
class Writes {
public:
  explicit Writes(WriteParts parts, ControllerSettings settings = {})
      : parts_(with_furniture(std::move(parts))), connections_(parts_.connect),
        once_(parts_.connect_once),
        templates_({parts_.connect_as, parts_.now, parts_.render, inward()}, connections_,
                   [this](std::string_view name_space) { return place_of(name_space); }),
        space_templates_(templates_), saga_(parts_), spaces_(parts_, saga_, connections_, once_),
        accounts_(parts_, once_), instances_(parts_),
        controller_(parts_, saga_, connections_, std::move(settings)),
        quotas_(parts_, connections_, table_), rooms_(parts_, quotas_, space_templates_) {}
  Writes(const Writes&) = delete;
  Writes& operator=(const Writes&) = delete;

  SpaceWrites& spaces() { return spaces_; }
  AccountWrites& accounts() { return accounts_; }
  InstanceWrites& instances() { return instances_; }
  Controller& controller() { return controller_; }
  QuotaKeeper& quotas() { return quotas_; }
  const QuotaKeeper& quotas() const { return quotas_; }
  TenantRooms& rooms() { return rooms_; }
  QuotaTable& quota_table() { return table_; }
  templates::Keeper& templates() { return templates_; }
  const templates::Keeper& templates() const { return templates_; }
  const QuotaTable& quota_table() const { return table_; }
  const WriteParts& parts() const { return parts_; }
  upstream::Connections& connections() { return connections_; }

private:
  /// What a new space has before its members do: their part of the quotas, and their templates.
  WriteParts with_furniture(WriteParts parts) {
    parts.furnish = [this](upstream::ControlApi& api, const std::string& space,
                           const Account& account,
                           std::chrono::milliseconds patience) -> Result<void> {
      ZOO_TRY_VOID(quotas_.furnish(api, space, {account.name}, false));
      return space_templates_.furnish(api, space, account, patience);
    };
    parts.room = [this](const std::string& account, const std::string& space) {
      return quotas_.room_for(account, space);
    };
    parts.keep_templates = [this](upstream::ControlApi& api, const std::string& space,
                                  const Account* account) {
      return space_templates_.keep(api, space, account);
    };
    return parts;
  }
  /// How an object of a template is upstream in a tenant's namespace.
  templates::DeployerParts::Inward inward() const {
    if (parts_.tenants == nullptr) return {};
    return [this](const std::string& tenant, const nlohmann::json& object) {
      return parts_.tenants->inward(tenant, object);
    };
  }
  Result<std::optional<templates::Place>> place_of(std::string_view name_space) const {
    ZOO_TRY(const auto state, parts_.state());
    auto place = place_in(*state, parts_.tenants, name_space);
    // Who furnishes it deploys what is there.
    if (place && place->state == templates::Place::State::open && rooms_.furnishes(name_space))
      place->state = templates::Place::State::made;
    return place;
  }

  const WriteParts parts_;
  upstream::Connections connections_, once_;
  templates::Keeper templates_;
  SpaceTemplates space_templates_;
  Saga saga_;
  SpaceWrites spaces_;
  AccountWrites accounts_;
  InstanceWrites instances_;
  QuotaTable table_;
  Controller controller_;
  QuotaKeeper quotas_;
  TenantRooms rooms_;
};

} // namespace zoo::accounts
