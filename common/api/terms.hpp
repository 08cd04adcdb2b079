// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a tenant may do and how much of it: the values of zood.yaml, and what spec.guards,
/// spec.quota and spec.flow of its Tenant say instead. Plain values; any thread.
namespace zoo::api {

struct Tenant;

/// What a tenant may write into objects that no namespace fences (docs/decisions/120).
struct Guards {
  bool node_names = false;                 ///< spec.nodeName, past the scheduler
  bool admin_access = false;               ///< DRA adminAccess: devices that others use
  bool endpoints = true;                   ///< Endpoints and EndpointSlices written by hand
  bool service_status = false;             ///< status.loadBalancer of Services
  bool conversion_webhooks = false;        ///< of its definitions
  std::vector<std::string> volume_drivers; ///< CSI drivers of its own PersistentVolumes; "*": all
  /// Hosts of Ingresses: names, "*.example.com", "{tenant}" stands for the ID; "*": all.
  std::vector<std::string> ingress_hosts{"*"};
  std::int64_t priority = 1'000'000'000; ///< the highest value of its own PriorityClasses
  /// Its pods are reached by its own alone, and by `network_from` (network_peer.hpp).
  bool isolated = false;
  std::vector<std::string> network_from;

  bool operator==(const Guards&) const = default;
};

/// The same as a Tenant says it: what is not set is zood.yaml's.
struct GuardTerms {
  std::optional<bool> node_names, admin_access, endpoints, service_status, conversion_webhooks;
  std::optional<std::vector<std::string>> volume_drivers, ingress_hosts, network_from;
  std::optional<std::int64_t> priority;
  std::optional<bool> isolated; ///< spec.guards.network
};
Guards merged(Guards defaults, const GuardTerms& own);

/// What a ceiling counts. The words are spec.quota's keys and those of a refusal.
enum class Counted : std::uint8_t {
  namespaces, ///< but the four that every cluster has
  definitions,
  webhooks, ///< configurations of both kinds
  policies, ///< admission policies and their bindings
  node_ports,
  load_balancers,
  objects, ///< all kinds but Events
  bytes,   ///< of the same, as JSON
};
inline constexpr std::size_t k_counted = 8;
std::string_view counted_name(Counted what); ///< "namespaces", "customresourcedefinitions", ...

/// Ceilings; what is not there is unlimited.
using Quota = std::map<Counted, std::uint64_t>;
/// Of a Tenant: null for "unlimited here, whatever zood.yaml says".
using QuotaTerms = std::map<Counted, std::optional<std::uint64_t>>;
Quota merged(Quota defaults, const QuotaTerms& own);

/// A tenant's share of zood and upstream.
struct Flow {
  std::uint32_t requests = 400;       ///< in flight, long-running ones apart
  std::uint32_t mutations = 200;      ///< of these, writes
  std::uint32_t long_running = 2000;  ///< watches, logs, exec, port-forward
  std::uint64_t buffered = 64u << 20; ///< bytes of bodies and whole answers held at the same time
  std::uint32_t weight = 100;         ///< of its queue where all tenants together ask too much
};
struct FlowTerms {
  std::optional<std::uint32_t> requests, mutations, long_running, weight;
  std::optional<std::uint64_t> buffered;
};
Flow merged(Flow defaults, const FlowTerms& own);

/// spec.quota.hard: what a tenant may use in all its namespaces together, by the names of a
/// ResourceQuota, as quantities.
using HardQuota = std::map<std::string, std::string>;

/// An entry of spec.templates: a Template that each namespace of the tenant has, with the values of
/// its parameters.
struct TemplateWish {
  std::string name;
  std::map<std::string, std::string> parameters;
  bool operator==(const TemplateWish&) const = default;
};
/// Of one Tenant.
inline constexpr std::size_t k_most_hard = 64, k_most_templates = 32;

struct Terms {
  GuardTerms guards;
  QuotaTerms quota;
  FlowTerms flow;
  HardQuota hard;
  std::vector<TemplateWish> templates;
};

/// KubeZoo's word for spec.flow.maxRequestsInflight, which is heard where both are given.
inline constexpr std::string_view k_inflight_annotation = "tce.kubezoo/max-requests-inflight";

/// Code::invalid with the field's path; unknown members are named too, since a misspelt ceiling
/// would be none.
Result<Terms> terms_of(const Tenant& tenant);

} // namespace zoo::api
