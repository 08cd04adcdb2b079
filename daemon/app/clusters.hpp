// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "common/config/config.hpp"
#include "daemon/app/address.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/cluster_tenants.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/upstream.hpp"

#include <memory>
#include <vector>

namespace zoo::app {

/// What virtual clusters stand on. All of it outlives them.
struct ClustersParts {
  const config::Values& values;
  store::Store& store;
  upstream::Credential& credential;
  upstream::Upstream& upstream;
  net::Loops loops;
  net::Listener& listener; ///< the tenants' door, which is theirs too
  Address advertise;
  const gateway::GatewayShared& gateway;
  tenants::ClusterTenants& tenants;
  net::Loop* sync_loop = nullptr; ///< on which upstream is followed; not null with clusters.enabled
};

/// Virtual clusters, put together: the controller, their doors, their row of the admin API, the
/// orders of the upstream. Without clusters.enabled there is nothing of it, and each function says
/// so.
class Clusters {
public:
  static Result<std::unique_ptr<Clusters>> open(ClustersParts parts);
  ~Clusters();

  std::vector<resources::KindPtr> kinds() const;
  std::vector<tenants::Finding> findings() const;     ///< for doctor. Any thread; blocks
  void measure(MetricText& out) const;                ///< any thread; blocks
  std::vector<reconcile::Counts> controllers() const; ///< for /metrics; any thread
  /// Ends the doors and the controller, while the loops still turn. Control planes run on.
  void close();

private:
  struct Impl;
  Clusters();
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::app
