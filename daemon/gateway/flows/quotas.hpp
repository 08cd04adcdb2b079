// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/quota_gate.hpp"
#include "daemon/gateway/flows/flows.hpp"

#include <memory>
#include <optional>

/// Quotas of accounts where upstream does not ask zood before it creates something
/// (docs/decisions/221).
namespace zoo::gateway {

/// What the request would create, if somebody has to be asked about it. Before the flow is chosen,
/// while the body is there.
std::optional<access::QuotaAsk> quota_ask_of(Exchange& exchange);

/// `flow`, once there is room for what it creates.
std::unique_ptr<Flow> within_quotas(Exchange& exchange, access::QuotaAsk ask,
                                    std::unique_ptr<Flow> flow);

} // namespace zoo::gateway
