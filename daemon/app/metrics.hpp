// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"

#include <chrono>
#include <cstdint>

namespace zoo::audit {
class Log;
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
  std::uint64_t looks;                ///< at tenants' rooms, since the start
  bool hears_drift;                   ///< Drift::hears()
  std::chrono::milliseconds loop_lag; ///< LoopLag::longest()
};

/// What zood says of itself at /metrics, tenants aside (docs/metrics.md). Waits for the loops, a
/// second at most; any thread but theirs.
void measure(MetricText& out, const Measured& what);

} // namespace zoo::app
