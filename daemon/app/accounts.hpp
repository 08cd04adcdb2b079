// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "daemon/app/account_door.hpp"
#include "daemon/app/account_views.hpp"
#include "daemon/app/aggregated.hpp"
#include "daemon/app/broker_door.hpp"
#include "daemon/app/tenant_terms.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/resources/workers.hpp"
#include "daemon/templates/charts.hpp"
#include "daemon/tenants/service.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::app {

class DoorCertificates;

/// What accounts stand on; all of it outlives them.
struct AccountsParts {
  const config::Values& values;
  const upstream::Credential& credential;
  upstream::Upstream& upstream;
  std::vector<net::Loop*> loops; ///< of the workers
  net::Loop* rights_loop;        ///< where upstream is followed; null without accounts.enabled
  net::Loop* quota_loop;         ///< of quotas; likewise
  tenants::Pki& pki;
  DoorCertificates& certificates;
  audit::Log& audit;
  const gateway::GatewayShared& gateway;
  std::function<std::shared_ptr<const tenants::TenantSnapshot>()> tenants;
  std::function<std::shared_ptr<access::FlowShare>(const std::string& id)> share_of;
  /// Told of a tenant in whose namespaces something is to be looked at. Any thread; does not block.
  std::function<void(std::string_view id)> touch_tenant{};
};

/// All that zood does for users of the upstream: what is known of accounts and spaces, the account
/// door and the aggregated door, as far as the configuration asks for them. Without
/// accounts.enabled it serves nothing, and only says what is left of them upstream. Owned by Zood;
/// functions are for its threads, and block as far as they say so.
class Accounts {
public:
  /// Before anything is followed upstream: the kinds, as install_account_kinds() says.
  static Result<void> install(const upstream::Credential& credential, const config::Values& values);
  explicit Accounts(AccountsParts parts) : parts_(std::move(parts)) {}
  ~Accounts(); ///< when the loops have stopped, also where open() has failed
  /// Follows upstream, and opens the doors; once. Blocks. Errors: those of the doors.
  Result<void> open();

  std::vector<tenants::Finding> findings() const;     ///< for doctor. Blocks.
  void measure(MetricText& out) const;                ///< for /metrics; any thread
  std::vector<reconcile::Counts> controllers() const; ///< for /metrics; any thread
  /// Where clients find the account door: "https://HOST:PORT"; "": there is none.
  Result<std::string> door_url() const;
  /// Null without an aggregated door.
  admin::AggregatedSwitch* aggregated_switch() { return aggregated_.get(); }
  /// This zood leads from now on, or another one does (docs/decisions/263). Any thread.
  void lead(bool leads);
  /// What zood's doors ask before something is created; null without accounts.enabled.
  std::shared_ptr<const access::QuotaGate> quota_gate();
  /// What tenants' doors ask before a tenant has rights in a namespace; null likewise.
  std::shared_ptr<const access::Furnisher> furnisher();
  /// For tenants::ControllerParts; without accounts.enabled they do nothing.
  Result<void> furnish(upstream::ControlApi& api, const std::string& id, const std::string& space);
  Result<void> keep_furnished(upstream::ControlApi& api, const std::string& id,
                              const std::string& space);
  std::optional<api::Condition> furnished(const api::Tenant& tenant) const;
  /// What a tenant uses of spec.quota.hard, for its status; null: it has none. Any thread.
  nlohmann::json use_of_tenant(std::string_view id) const;
  /// tenants::TenantDirectory::on_change().
  void tenant_changed(std::string_view id);
  admin::QuotaSource* quotas() { return views_.get(); } ///< null without accounts.enabled
  /// As uninstall_account_kinds() says. Blocks.
  Result<nlohmann::json> uninstall(bool force, bool dry_run) const;

  void reload(const config::Values& loaded); ///< SIGHUP; when the certificates were read again
  void renew();                              ///< certificates that are due
  void withdraw(); ///< what others would ask in vain; before the listeners drain
  std::vector<net::Listener*> listeners(); ///< to drain
  void close();                            ///< the doors and their threads; before loops stop

private:
  Result<void> follow();
  Result<void> open_door();
  Result<void> open_aggregated();
  Result<void> open_broker();

  const AccountsParts parts_;
  std::unique_ptr<templates::Charts> charts_;      ///< null without accounts.enabled
  std::unique_ptr<TenantTermsSource> terms_;       ///< likewise
  std::unique_ptr<AccountViews> views_;            ///< null without accounts.enabled
  std::unique_ptr<resources::Workers> furnishing_; ///< likewise
  std::unique_ptr<AccountDoor> door_;              ///< null without accounts.listen
  std::unique_ptr<Aggregated> aggregated_;         ///< null without accounts.aggregated.listen
  std::unique_ptr<BrokerDoor> broker_;             ///< null without broker.enabled
  std::atomic<bool> leads_ = true;
};

} // namespace zoo::app
