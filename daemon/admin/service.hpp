// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/accounts.hpp"
#include "daemon/admin/api_types.hpp"
#include "daemon/admin/door.hpp"
#include "daemon/admin/quotas.hpp"
#include "daemon/admin/server.hpp"
#include "daemon/resources/door.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/resources/workers.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace zoo::audit {
class Log;
}

namespace zoo::admin {

/// What the admin API stands on. Made by the composition root; all of it outlives the door.
struct AdminContext {
  tenants::TenantService& tenants;
  StatusSource& status;
  Workers& workers;
  DoorOptions door;
  std::function<std::int64_t()> now; ///< Unix seconds, any thread; empty: the system's clock
  audit::Log* audit = nullptr;       ///< told of every request that is over; null: there is none
  AggregatedSwitch* aggregated = nullptr; ///< null: this zood has no such door
  UninstallAccounts uninstall_accounts = {};
  BackupSource* backup = nullptr;             ///< null: that path answers 503
  StoreSource* store = nullptr;               ///< likewise
  QuotaSource* quotas = nullptr;              ///< null: this zood keeps none
  std::vector<resources::KindPtr> kinds = {}; ///< that are served beside Tenant
};

/// The admin API (DESIGN 11): Kubernetes-shaped, for zooctl and kubectl. Who may ask says door.hpp,
/// what is answered router.hpp. One for the socket and the TLS listener; to be served by a
/// resources::ApiService on each loop.
std::shared_ptr<resources::Door> make_door(AdminContext context);

} // namespace zoo::admin
