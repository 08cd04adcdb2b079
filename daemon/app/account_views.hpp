// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/accounts/follower.hpp"
#include "daemon/accounts/quota_broker.hpp"
#include "daemon/accounts/quota_follower.hpp"
#include "daemon/accounts/quota_hook.hpp"
#include "daemon/accounts/quota_objects.hpp"
#include "daemon/accounts/quota_servers.hpp"
#include "daemon/accounts/quota_sets.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/accounts/writes.hpp"
#include "daemon/admin/quotas.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/templates/follower.hpp"
#include "daemon/tenants/service.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::app {

/// What all doors of accounts show and write, and what it is made of. Destroyed when the loop has
/// stopped and no request is in progress.
class AccountViews final : public admin::QuotaSource {
public:
  /// `loop`, `quota_loop`: of upstream's. `most_rbac_bytes`: accounts.rbac_limit. `servers`:
  /// broker.servers. Of `parts` the functions state, wait and now are set here.
  AccountViews(upstream::Upstream& upstream, net::Loop& loop, net::Loop& quota_loop,
               std::size_t most_rbac_bytes, std::vector<accounts::QuotaServers::Address> servers,
               accounts::WriteParts parts);

  void start(); ///< any thread
  accounts::Views& views() { return views_; }
  accounts::QuotaBroker& broker() { return broker_; }
  accounts::Writes& writes() { return writes_; }
  const accounts::Writes& writes() const { return writes_; }
  /// Another account, quota or list of templates than before. Any thread; does not block.
  void tenant_changed(std::string_view id);
  /// Told the ID of a tenant in whose namespaces something is to be looked at. Before start().
  void on_tenant(std::function<void(std::string_view id)> told) { tells_tenant_ = std::move(told); }
  /// Of several zoods one alone moves room between slices, and lets in. Any thread.
  void lead(bool leads);
  /// Hears whom the webhook of quotas is to be asked about: now, and whenever that changes, on any
  /// thread. Null: nobody does any more.
  void on_quota_scope(std::function<void(const accounts::QuotaHookScope&)> hears);
  std::shared_ptr<const access::UpstreamRights> rights() const { return rights_; }
  /// Is there a namespace of this name that is no tenant's? Any thread; never blocks.
  bool known_space(std::string_view name) const;
  /// For doctor: namespaces of which not all rights are known or shown. Any thread.
  std::vector<tenants::Finding> findings() const;
  nlohmann::json use_of(const std::string& owner) const; ///< accounts::quota_use(); any thread
  Result<nlohmann::json> quotas(const std::string& owner) override;
  Result<nlohmann::json> explain(const std::string& owner, const std::string& space,
                                 const nlohmann::json& objects) override;
  Result<void> recount(const std::string& owner) override;
  void measure(MetricText& out) const; ///< the same as numbers (docs/metrics.md); any thread
  std::vector<reconcile::Counts> controllers(); ///< for /metrics; any thread
  /// Of tenancy.kiosk.sh, and namespaces of the core group.
  std::vector<resources::KindPtr> kinds();

private:
  void touch_quotas(const accounts::State& before, const accounts::State& now,
                    const accounts::Touched& touched);
  void touch_templates(const accounts::State& before, const accounts::State& now,
                       const accounts::Touched& touched);
  void touch_tenants(const accounts::State& now, const accounts::Touched& touched);
  void touch_owners_of(const accounts::State& now, std::string_view id);
  void add_template_findings(std::vector<tenants::Finding>& out) const;
  void measure_templates(MetricText& out) const;

  void add_role_findings(const accounts::State& state, std::vector<tenants::Finding>& out) const;
  void add_quota_findings(std::vector<tenants::Finding>& out) const;
  void change_scope(const std::function<void(accounts::QuotaHookScope&)>& how);

  std::function<void(std::string_view id)> tells_tenant_;
  accounts::Views views_;
  const std::shared_ptr<const access::UpstreamRights> rights_;
  accounts::QuotaBroker broker_;
  accounts::QuotaObjects objects_;
  accounts::QuotaServers servers_;
  std::mutex scope_mutex_;
  accounts::QuotaHookScope scope_;
  std::function<void(const accounts::QuotaHookScope&)> hears_scope_;
  accounts::Writes writes_;
  accounts::Follower follower_;
  accounts::QuotaFollower quotas_;
  templates::Follower templates_;
  accounts::QuotaSets sets_; ///< behind what its thread uses
};

} // namespace zoo::app
