// SPDX-License-Identifier: Apache-2.0
// What a virtual cluster has of the upstream: the Tenant behind it, nodes, pods.
#include "daemon/clusters/controller.hpp"
#include "daemon/clusters/dns.hpp"
#include "daemon/clusters/pki.hpp"
#include "daemon/clusters/sync/syncer.hpp"

namespace zoo::clusters {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds k_contest_look{10'000};
constexpr milliseconds k_dns_call{10'000};
constexpr milliseconds k_tenant_look{500}; ///< while the Tenant is made, or goes

} // namespace

/// "" if there is a Tenant that is ready; else why not yet.
std::string Controller::why_no_tenant(const Record& record) {
  step("N0 tenant", record);
  const auto ready = parts_.tenants.make(record.place.id, record.key());
  if (!ready) return ready.error().message();
  return *ready ? "" : "what it has upstream is being prepared";
}

/// What it has of the upstream is looked at when it is told that it works: upstream may be away.
Controller::Promoted Controller::unpromoted() {
  Promoted out;
  out.nodes = out.pods = out.dns =
      out.reach = {false, "Preparing", "its control plane comes first"};
  out.after = milliseconds(0);
  return out;
}

/// What was granted stays so; others are asked about when another thing is wished.
Result<Grant> Controller::grant(Record& record, const api::ClusterSpec& spec) {
  step("N0 grant", record);
  if (record.place.nodes == spec.nodes && record.place.exclusive == spec.exclusive)
    return Grant{spec.nodes, spec.exclusive, std::nullopt};
  const std::scoped_lock lock(place_mutex_);
  ZOO_TRY(const auto all, all_records(parts_.store));
  auto out = grant_nodes(record, spec.nodes, spec.exclusive, all);
  const bool reserves = record.place.exclusive || out.exclusive;
  ZOO_TRY(record, tell(record, [&out](Record& now) {
            now.place.nodes = out.nodes;
            now.place.exclusive = out.exclusive;
          }));
  if (reserves) {
    ZOO_TRY(const auto now, all_records(parts_.store));
    tell_reserved(now);
  }
  return out;
}

void Controller::tell_reserved(const std::vector<Record>& all) {
  std::vector<std::string> nodes;
  for (const auto& each : all)
    if (each.place.exclusive)
      nodes.insert(nodes.end(), each.place.nodes.begin(), each.place.nodes.end());
  parts_.syncer.set_reserved(std::move(nodes));
}

/// CoreDNS runs in clusters whose pods run somewhere.
Controller::Aspect Controller::look_at_dns(const Record& record, const api::ClusterSpec& spec) {
  step("N0 names", record);
  const auto directory = parts_.settings.directory_of(record.place.id);
  auto access = own_access(directory, parts_.settings.addresses.text(record.place.number));
  if (!access) return {false, "NotReached", access.error().message()};
  kube::KubeClientOptions options;
  options.timeout = k_dns_call;
  kube::KubeClient api(*std::move(access), std::move(options));
  const bool wanted = spec.dns && spec.promotes();
  const auto done =
      wanted ? keep_dns(api, record.place.id, parts_.settings.coredns_image) : remove_dns(api);
  if (!done)
    return {false, done.error().code() == Code::conflict ? "NameTaken" : "NotDeployed",
            done.error().message()};
  if (wanted) return {true, "Deployed", "CoreDNS is deployed in namespace kube-system"};
  return {false, "NoneAsked",
          spec.dns ? "spec.promoteResources asks for no nodes and no share: nothing runs in it"
                   : "spec.dns is none"};
}

/// One that has asked for nothing is not followed; one that asks for nothing any more is, so that
/// its nodes go.
Controller::Promoted Controller::promote(Record& record, const api::ClusterSpec& spec) {
  Promoted out;
  const auto both = [&out](std::string_view reason, std::string_view message) {
    out.nodes = out.pods = out.dns = out.reach = {false, std::string(reason), std::string(message)};
  };
  const auto& id = record.place.id;
  if (!spec.promotes() && !parts_.store.get("tenant", id)) {
    both("NoneAsked", "spec.promoteResources asks for no nodes and no share: pods in it stay "
                      "Pending");
    return out;
  }
  if (const auto why = why_no_tenant(record); !why.empty()) {
    both("NoTenant", why);
    out.after = k_tenant_look;
    return out;
  }
  const auto granted = grant(record, spec);
  if (!granted) {
    both("NotGranted", granted.error().message());
    out.after = k_tenant_look;
    return out;
  }
  out.dns = look_at_dns(record, spec);
  step("N1 nodes", record);
  const auto address = parts_.settings.addresses.text(record.place.number);
  sync::SyncWish wish;
  wish.id = id;
  wish.key = record.key();
  wish.name = record.name();
  wish.version = record.place.version;
  wish.named = !spec.nodes.empty();
  wish.nodes = std::make_shared<const std::vector<std::string>>(granted->nodes);
  wish.share = spec.resources;
  wish.options.disruption_budgets = spec.disruption_budgets;
  wish.limits.services = spec.services.value_or(parts_.settings.service_limit);
  wish.limits.node_ports = spec.node_ports.value_or(parts_.settings.node_port_limit);
  wish.virtual_nodes = spec.virtual_nodes;
  wish.weight = spec.weight;
  wish.dns = spec.dns && spec.promotes();
  wish.server = address;
  wish.advertised = parts_.settings.advertise_host;
  wish.port = record.place.port;
  wish.api_address = record.place.api_address;
  wish.access = [directory = parts_.settings.directory_of(id), address] {
    return own_access(directory, address);
  };
  wish.access_print = own_access_print(parts_.settings.directory_of(id));
  wish.own_store = record.place.own_store;
  wish.upstream_store = record.place.upstream_store;
  step("N2 sync", record);
  parts_.syncer.follow(std::move(wish));
  const auto state = parts_.syncer.state(id);
  if (!state) return out; // zood ends
  out.nodes = {state->nodes_ready, state->nodes_reason, state->nodes_message};
  if (const auto& contest = granted->contest) {
    out.nodes = {
        false, contest->exclusive ? "NodeTaken" : "NodeShared",
        contest->exclusive
            ? fmt::format("virtual cluster {} has node {} alone", contest->holder, contest->node)
            : fmt::format("virtual cluster {} has node {}, too: it cannot be this one's "
                          "alone",
                          contest->holder, contest->node)};
    out.after = k_contest_look;
  }
  out.pods = {state->synced, state->reason, state->message};
  out.api_address = state->api_address;
  out.reach = {state->api_trouble.empty() && !state->api_address.empty(),
               state->api_address.empty()   ? "Preparing"
               : state->api_trouble.empty() ? "Reached"
                                            : "NotReachable",
               state->api_address.empty() ? "Service default/kubernetes is being made"
               : state->api_trouble.empty()
                   ? "pods find the API server at Service default/kubernetes"
                   : state->api_trouble};
  out.own_store = state->own_store;
  out.upstream_store = state->upstream_store;
  return out;
}

/// Nothing is written for it any more when this returns.
void Controller::demote(const Record& record) {
  step("D2 unsync", record);
  parts_.syncer.leave(record.place.id);
}

/// Nothing: all that it had upstream is gone, proven.
Result<std::optional<Controller::Next>> Controller::reclaim(Record& record) {
  step("D3 reclaim", record);
  ZOO_TRY(const auto left, parts_.tenants.remove(record.place.id));
  if (!left) return std::nullopt;
  ZOO_TRY(record, tell(record, [&](Record& now) {
            now.object["status"]["phase"] = api::cluster_phase::k_deleting;
            now.object["status"]["message"] =
                "what it has upstream to go" + (left->empty() ? "" : ": " + *left);
          }));
  return Next{k_tenant_look, true};
}

} // namespace zoo::clusters
