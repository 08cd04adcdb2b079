// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"

#include <functional>
#include <memory>

namespace zoo::gateway {

/// An admission object is applied, perhaps by one of several managers: the lean body of `request`
/// gets the tenant's selector where what is stored asks for it (docs/decisions/169), then `send`.
std::unique_ptr<Flow> applied_selectors(Exchange& exchange, Outgoing request,
                                        std::function<std::unique_ptr<Flow>(Outgoing)> send);

} // namespace zoo::gateway
