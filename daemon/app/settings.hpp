// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/config/config.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/gateway/flow_control.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/tenants/service_impl.hpp"
#include "daemon/tenants/view_source.hpp"
#include "daemon/upstream/pool.hpp"

#include <cstddef>

namespace zoo::app {

/// What the configuration says, in each room's own words. Pure; the keys were checked when the
/// configuration was read, so that nothing fails here. Most are asked for again at each SIGHUP.
std::size_t worker_count(const config::Values& values); ///< event loops; at least one
/// Descriptors: connections of clients and to upstream, and what else there is.
std::size_t files_wanted(const config::Values& values);
net::ListenerLimits listener_limits(const config::Values& values);
/// Of a door for clients, which load balancers may stand before.
net::ListenerLimits client_limits(const config::Values& values);
gateway::GatewayLimits gateway_limits(const config::Values& values);
gateway::FlowControl::Limits flow_limits(const config::Values& values);
upstream::PoolLimits pool_limits(const config::Values& values);
gateway::Nodes visible_nodes(const config::Values& values);
audit::Policy audit_policy(const config::Values& values);
audit::Options audit_options(const config::Values& values); ///< but for its journal
/// Code::invalid: what the table of keys cannot say of guards.network_from and listen_proxy.from.
Result<void> check_networks(const config::Values& values);
/// Keys of clusters.* whose values are more than their type. Code::usage names the key.
Result<void> check_clusters(const config::Values& values);
tenants::Policy tenants_policy(const config::Values& values);
/// What holds for a tenant whose Tenant says nothing else.
tenants::DefaultTerms default_terms(const config::Values& values);

} // namespace zoo::app
