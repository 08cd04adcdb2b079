// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/kind.hpp"
#include "daemon/tenants/service.hpp"

#include <vector>

/// Tenant as a row of the API room: its schema, columns and rules, over the tenants' service.
namespace zoo::admin {

/// The service must outlive the row.
resources::KindPtr tenant_kind(tenants::TenantService& service);

/// Credentials of a tenant: what is not a write of the Tenant itself. POST {id}/kubeconfig, rotate
/// and revoke, GET {id}/certificates and status.
std::vector<resources::Action> tenant_actions(tenants::TenantService& service);

} // namespace zoo::admin
