// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/config/config.hpp"
#include "daemon/app/health.hpp"
#include "daemon/net/listener.hpp"

#include <chrono>
#include <vector>

/// How zood stops: so that no client notices more than that it has to ask anew
/// (docs/decisions/250-leaving-in-order.md).
namespace zoo::app {

/// Of the configuration; some of it may be another one after SIGHUP.
struct LeaveTimes {
  std::chrono::milliseconds delay{0}; ///< from "not ready" to the closing of the doors
  net::DrainTimes drain;
};
LeaveTimes leave_times(const config::Values& values);

/// Says at `health` (null: nobody asks there) that nobody should come here any more, waits until
/// load balancers have heard of it, and ends what is open at `listeners`; null ones are left out.
/// Blocks until all is over, the times at most.
void leave(Health* health, const LeaveTimes& times, const std::vector<net::Listener*>& listeners);

} // namespace zoo::app
