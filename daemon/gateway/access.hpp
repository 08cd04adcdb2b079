// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/actor.hpp"
#include "daemon/access/authorizer.hpp"
#include "daemon/access/route.hpp"

/// The words of daemon/access as all of the gateway uses them.
namespace zoo::gateway {

using access::Actor;
using access::Attributes;
using access::Decision;
using access::Fence;
using access::Local;
using access::Principal;
using access::Reason;
using access::Route;
using access::View;

} // namespace zoo::gateway
