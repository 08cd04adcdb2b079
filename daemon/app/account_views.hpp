// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/accounts/follower.hpp"
#include "daemon/accounts/quota_follower.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/accounts/writes.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/templates/follower.hpp"
#include "daemon/tenants/service.hpp"

#include <cstddef>
#include <memory>
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
class AccountViews {
public:
  /// `loop`: one of upstream's. `most_rbac_bytes`: accounts.rbac_limit. Of `parts` the functions
  /// state, wait and now are set here.
  AccountViews(upstream::Upstream& upstream, net::Loop& loop, std::size_t most_rbac_bytes,
               accounts::WriteParts parts);

  void start(); ///< any thread
  accounts::Views& views() { return views_; }
  std::shared_ptr<const access::UpstreamRights> rights() const { return rights_; }
  /// Is there a namespace of this name that is no tenant's? Any thread; never blocks.
  bool known_space(std::string_view name) const;
  /// For doctor: namespaces of which not all rights are known or shown. Any thread.
  std::vector<tenants::Finding> findings() const;
  void measure(MetricText& out) const; ///< the same as numbers (docs/metrics.md); any thread
  /// Of tenancy.kiosk.sh, and namespaces of the core group.
  std::vector<resources::KindPtr> kinds();

private:
  void touch_quotas(const accounts::State& before, const accounts::State& now,
                    const accounts::Touched& touched);
  void touch_templates(const accounts::State& before, const accounts::State& now,
                       const accounts::Touched& touched);
  void add_template_findings(std::vector<tenants::Finding>& out) const;
  void measure_templates(MetricText& out) const;

  accounts::Views views_;
  const std::shared_ptr<const access::UpstreamRights> rights_;
  accounts::Writes writes_;
  accounts::Follower follower_;
  accounts::QuotaFollower quotas_;
  templates::Follower templates_;
};

} // namespace zoo::app
