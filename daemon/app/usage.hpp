// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "daemon/gateway/flow_control.hpp"
#include "daemon/gateway/ledger.hpp"
#include "daemon/tenants/view_source.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace zoo::app {

/// status.usage of a Tenant: {"quota":{"namespaces":{"used":3,"limit":1000},...},"flow":{...},
/// "hard":{"pods":{"used":"3","limit":"100"},...}}. What nobody had to count yet has no `used`.
/// `hard`: of spec.quota.hard; null: it has none, or nobody keeps it. Any thread.
std::string usage_json(const api::Tenant& tenant, const tenants::DefaultTerms& defaults,
                       const gateway::Ledger& ledger, const gateway::FlowControl& flow_control,
                       const nlohmann::json& hard);

} // namespace zoo::app
