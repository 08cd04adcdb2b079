// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"

#include <functional>
#include <memory>

namespace zoo::gateway {

/// A patch of an object that names webhooks, which upstream calls through the relay: it speaks of
/// what upstream has in another form (translate/relay_patch.hpp), so that the stored object is read
/// first. `request` has the tenant's own body; `send` makes the flow that sends the translated one,
/// which is for that version of the object alone. If it has changed meanwhile, it is read again.
std::unique_ptr<Flow> relayed_patch(Exchange& exchange, Outgoing request,
                                    translate::BodyFormat format,
                                    std::function<std::unique_ptr<Flow>(Outgoing)> send);

} // namespace zoo::gateway
