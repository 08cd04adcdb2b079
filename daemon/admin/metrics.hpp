// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/api_types.hpp"
#include "daemon/admin/server.hpp"

namespace zoo::admin {

/// GET /metrics, in Prometheus' text format: what `source` knows, and of the tenants how many are
/// in which phase and whose certificates end soon, by name Census::k_most_named of
/// them. Nothing of it waits for the upstream. Blocking.
Answer metrics_answer(StatusSource& source, tenants::TenantService& tenants);

} // namespace zoo::admin
