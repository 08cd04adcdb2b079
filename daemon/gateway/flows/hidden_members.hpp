// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"

#include <functional>
#include <memory>

namespace zoo::gateway {

/// A write that could take away labels or annotations which its tenant does not see
/// (translate/hidden_members.hpp): the stored object is read, `request` is completed by it, then
/// `send`. `format`: of a patch; BodyFormat::json for an update.
std::unique_ptr<Flow> hidden_members(Exchange& exchange, Outgoing request,
                                     translate::BodyFormat format,
                                     std::function<std::unique_ptr<Flow>(Outgoing)> send);

} // namespace zoo::gateway
