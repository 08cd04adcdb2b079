// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/accounts.hpp"
#include "daemon/admin/api_types.hpp"
#include "daemon/admin/quotas.hpp"
#include "daemon/admin/server.hpp"
#include "daemon/resources/api.hpp"
#include "daemon/resources/workers.hpp"
#include "daemon/tenants/service.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace zoo::audit {
class Log;
}

namespace zoo::admin {

/// Path and method -> who answers. Blocking; worker threads; holds no state of its own.
class Router {
public:
  Router(tenants::TenantService& tenants, StatusSource& status, Workers& workers,
         std::function<std::int64_t()> now, const audit::Log* audit = nullptr,
         AggregatedSwitch* aggregated = nullptr, std::vector<resources::KindPtr> kinds = {});

  /// Without it, that path answers 503.
  void set_uninstall_accounts(UninstallAccounts uninstall) { uninstall_ = std::move(uninstall); }
  void set_backup(BackupSource* source) { backup_ = source; } ///< likewise
  void set_store(StoreSource* source) { store_ = source; }    ///< likewise
  void set_quotas(QuotaSource* source) { quotas_ = source; }  ///< likewise

  Answer handle(const Request& request);

  /// /healthz, /livez and /readyz: answered on the loop, without asking who.
  static bool is_health(const Request& request);
  Answer health(const Request& request);

  /// What waits for the upstream (writes, kubeconfigs, status, doctor) is slow.
  static Workers::Kind kind(const Request& request);

private:
  Answer zoo(const Request& request);
  Answer reviews(const Request& request);

  tenants::TenantService& tenants_;
  StatusSource& status_;
  const audit::Log* audit_;
  AggregatedSwitch* aggregated_;
  UninstallAccounts uninstall_;
  BackupSource* backup_ = nullptr;
  StoreSource* store_ = nullptr;
  QuotaSource* quotas_ = nullptr;
  resources::Api api_;
};

} // namespace zoo::admin
