// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "daemon/access/furnisher.hpp"
#include "daemon/accounts/writes.hpp"
#include "daemon/resources/workers.hpp"

#include <memory>
#include <optional>

namespace zoo::app {

/// What tenants' doors ask before a tenant is given its rights in a namespace. `workers`: threads
/// that may wait for the upstream. Both outlive it, and `workers` is stopped before `writes` goes.
std::shared_ptr<const access::Furnisher> make_furnisher(accounts::Writes& writes,
                                                        resources::Workers& workers);

/// What condition tenants::k_furnished of a Tenant says. Nothing: the Tenant has nothing of these.
/// `writes`: null without accounts.enabled. Any thread; does not block.
std::optional<api::Condition> furnished_condition(const api::Tenant& tenant,
                                                  const accounts::Writes* writes);

} // namespace zoo::app
