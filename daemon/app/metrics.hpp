// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/tenants/service_impl.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zoo::audit {
class Log;
}
namespace zoo::authz {
class PolicyStore;
}
namespace zoo::store {
class TimedStore;
}
namespace zoo::gateway {
class FlowControl;
}
namespace zoo::net {
class Listener;
}
namespace zoo::tenants {
class Pki;
}
namespace zoo::upstream {
class Credential;
class Upstream;
} // namespace zoo::upstream

namespace zoo::app {

class DoorCertificates;

struct Measured {
  const net::Listener& listener;
  const gateway::FlowControl& flow_control;
  upstream::Upstream& upstream;
  const audit::Log& audit;
  const upstream::Credential& credential;
  const tenants::Pki& pki;
  const DoorCertificates& certificates;
  const authz::PolicyStore& policies;
  const store::TimedStore& store;
  std::size_t admin_waiting, virtual_waiting; ///< requests that wait for a thread
  std::vector<reconcile::Counts> controllers;
  std::uint64_t looks;                ///< at tenants' rooms, since the start
  bool hears_drift;                   ///< Drift::hears()
  std::chrono::milliseconds loop_lag; ///< LoopLag::longest()
};

/// What the last `zooctl doctor` found; nothing until there was one.
void measure_findings(MetricText& out,
                      const std::optional<tenants::TenantServiceImpl::FindingCounts>& found);

/// What zood says of itself at /metrics, tenants aside (docs/metrics.md). Waits for the loops, a
/// second at most; any thread but theirs.
void measure(MetricText& out, const Measured& what);

} // namespace zoo::app
