// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/local_api.hpp"
#include "daemon/access/quota_gate.hpp"
#include "daemon/accounts/quota_broker.hpp"

#include <functional>
#include <memory>

namespace zoo::accounts {

/// The broker as zood's own doors ask it. `upstream_asks`: upstream does so itself, and nobody here
/// needs to. All of it outlives the gate.
std::shared_ptr<const access::QuotaGate>
make_quota_gate(QuotaBroker& broker, std::shared_ptr<const access::UpstreamRights> rights,
                std::function<bool()> upstream_asks);

} // namespace zoo::accounts
