// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/settings.hpp"

#include "common/api/network_peer.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/clusters/plan.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

namespace zoo::app {

std::size_t worker_count(const config::Values& values) {
  const auto wanted = values.integer("workers");
  return wanted > 0 ? static_cast<std::size_t>(wanted)
                    : std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

std::size_t files_wanted(const config::Values& values) {
  constexpr std::size_t k_others = 256 + 2'048; // the relay's connections and tunnels
  return static_cast<std::size_t>(values.integer("limits.connections")) +
         worker_count(values) * upstream::PoolLimits{}.connections + k_others;
}

net::ListenerLimits listener_limits(const config::Values& values) {
  net::ListenerLimits limits;
  limits.connections = static_cast<std::size_t>(values.integer("limits.connections"));
  limits.http.header_bytes = values.size("limits.header");
  limits.http.streams = static_cast<std::uint32_t>(values.integer("limits.streams"));
  limits.idle = values.duration("limits.idle_timeout");
  return limits;
}

net::ListenerLimits client_limits(const config::Values& values) {
  auto limits = listener_limits(values);
  const auto from = values.list("listen_proxy.from");
  if (auto balancers = net::Networks::parse(from)) limits.balancers = *std::move(balancers);
  return limits;
}

gateway::GatewayLimits gateway_limits(const config::Values& values) {
  gateway::GatewayLimits limits;
  limits.request_body = values.size("limits.body");
  limits.object = values.size("limits.object");
  limits.queue_wait = values.duration("limits.queue_wait");
  limits.compression = values.boolean("compression");
  return limits;
}

tenants::DefaultTerms default_terms(const config::Values& values) {
  tenants::DefaultTerms terms;
  const auto number = [&](std::string_view name) {
    return static_cast<std::uint32_t>(values.integer(name));
  };
  terms.flow.requests = number("limits.requests_inflight");
  terms.flow.mutations = number("limits.mutations_inflight");
  terms.flow.long_running = number("limits.long_running");
  terms.flow.buffered = values.size("limits.buffered");
  terms.guards.node_names = values.boolean("guards.node_names");
  terms.guards.admin_access = values.boolean("guards.admin_access");
  terms.guards.endpoints = values.boolean("guards.endpoints");
  terms.guards.service_status = values.boolean("guards.service_status");
  terms.guards.conversion_webhooks = values.boolean("guards.conversion_webhooks");
  terms.guards.volume_drivers = values.list("guards.volume_drivers");
  terms.guards.ingress_hosts = values.list("guards.ingress_hosts");
  terms.guards.priority = values.integer("guards.priority");
  terms.guards.isolated = values.string("guards.network") == api::k_isolated;
  terms.guards.network_from = values.list("guards.network_from");
  constexpr std::pair<api::Counted, std::string_view> k_ceilings[] = {
      {api::Counted::namespaces, "quota.namespaces"},
      {api::Counted::definitions, "quota.customresourcedefinitions"},
      {api::Counted::webhooks, "quota.webhooks"},
      {api::Counted::policies, "quota.policies"},
      {api::Counted::node_ports, "quota.nodeports"},
      {api::Counted::load_balancers, "quota.loadbalancers"},
      {api::Counted::objects, "quota.objects"}};
  for (const auto& [what, key] : k_ceilings) {
    if (values.integer(key) > 0)
      terms.quota[what] = static_cast<std::uint64_t>(values.integer(key));
  }
  if (const auto bytes = values.size("quota.bytes"); bytes > 0)
    terms.quota[api::Counted::bytes] = bytes;
  return terms;
}

gateway::FlowControl::Limits flow_limits(const config::Values& values) {
  return {static_cast<std::uint32_t>(values.integer("limits.total_inflight")),
          static_cast<std::uint32_t>(values.integer("limits.queue"))};
}

upstream::PoolLimits pool_limits(const config::Values& values) {
  upstream::PoolLimits limits;
  limits.connect = values.duration("timeouts.upstream_connect");
  limits.answer = values.duration("timeouts.request");
  return limits;
}

gateway::Nodes visible_nodes(const config::Values& values) {
  const auto text = values.string("nodes.visibility");
  return text == "all"   ? gateway::Nodes::all
         : text == "own" ? gateway::Nodes::own
                         : gateway::Nodes::none;
}

audit::Policy audit_policy(const config::Values& values) {
  audit::Policy policy;
  policy.level = api::audit_level(values.string("audit.level")).value_or(policy.level);
  policy.overflow =
      values.string("audit.overflow") == "refuse" ? audit::Overflow::refuse : audit::Overflow::drop;
  policy.file_bytes = values.size("audit.max_size");
  if (policy.file_bytes == 0) policy.file_bytes = std::numeric_limits<std::size_t>::max();
  policy.files = static_cast<unsigned>(values.integer("audit.max_files"));
  return policy;
}

audit::Options audit_options(const config::Values& values) {
  audit::Options options;
  const auto output = values.string("audit.output");
  options.output = output == "file"     ? audit::Output::file
                   : output == "stderr" ? audit::Output::standard_error
                                        : audit::Output::none;
  options.directory =
      values.is_set("audit.dir") ? values.path("audit.dir") : values.path("dir") / "audit";
  options.policy = audit_policy(values);
  return options;
}

Result<void> check_networks(const config::Values& values) {
  auto good = api::check_network_peers(values.list("guards.network_from"));
  if (!good) return fail(std::move(good).error().context("guards.network_from"));
  const auto from = values.list("listen_proxy.from");
  if (auto balancers = net::Networks::parse(from); !balancers)
    return fail(std::move(balancers).error().context("listen_proxy.from"));
  return {};
}

Result<void> check_clusters(const config::Values& values) {
  if (values.boolean("clusters.enabled") && values.string("store.driver") != "sqlite")
    return fail(
        Code::usage,
        "clusters.enabled needs store.driver: sqlite. The control planes of virtual clusters "
        "run on one machine, beside the zood that has their records for itself, and of "
        "several zoods with one etcd each would start them: set clusters.enabled to false, "
        "or keep the records in a file");
  ZOO_TRY(const auto addresses, clusters::parse_addresses(values.string("clusters.addresses")));
  ZOO_TRY_VOID(clusters::check_uid_base(
      static_cast<std::uint64_t>(values.integer("clusters.uid_base")), addresses));
  for (const char* key : {"clusters.ports", "clusters.node_ports"})
    ZOO_TRY_VOID(clusters::parse_ports(key, values.string(key)).map([](auto) {}));
  if (values.string("clusters.coredns_image").empty())
    return fail(Code::usage, "clusters.coredns_image must name an image: spec.dns: none of a "
                             "virtual cluster has no CoreDNS run in it");
  ZOO_TRY_VOID(clusters::parse_egress_allow(values.list("clusters.egress_allow")).map([](auto) {}));
  return {};
}

tenants::Policy tenants_policy(const config::Values& values) {
  tenants::Policy policy;
  policy.reserved_ids = values.list("tenants.reserved_ids");
  policy.certificate_validity = std::chrono::duration_cast<std::chrono::seconds>(
      values.duration("tenants.certificate_validity"));
  policy.certificate_warning = std::chrono::duration_cast<std::chrono::seconds>(
      values.duration("tenants.certificate_warning"));
  policy.delete_grace = values.duration("tenants.delete_grace");
  policy.guards = default_terms(values).guards;
  return policy;
}

} // namespace zoo::app
