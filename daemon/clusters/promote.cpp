// SPDX-License-Identifier: Apache-2.0
// What a virtual cluster has of the upstream: the Tenant behind it, nodes, pods.
#include "daemon/clusters/controller.hpp"
#include "daemon/clusters/pki.hpp"
#include "daemon/clusters/sync/syncer.hpp"

namespace zoo::clusters {
namespace {

using std::chrono::milliseconds;

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
  out.nodes = out.pods = out.reach = {false, "Preparing", "its control plane comes first"};
  out.after = milliseconds(0);
  return out;
}

/// One that has asked for nothing is not followed; one that asks for nothing any more is, so that
/// its nodes go.
Controller::Promoted Controller::promote(const Record& record, const api::ClusterSpec& spec) {
  Promoted out;
  const auto both = [&out](std::string_view reason, std::string_view message) {
    out.nodes = out.pods = out.reach = {false, std::string(reason), std::string(message)};
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
  step("N1 nodes", record);
  const auto address = parts_.settings.addresses.text(record.place.number);
  sync::SyncWish wish;
  wish.id = id;
  wish.key = record.key();
  wish.name = record.name();
  wish.version = record.place.version;
  wish.nodes = spec.nodes;
  wish.share = spec.resources;
  wish.server = address;
  wish.advertised = parts_.settings.advertise_host;
  wish.port = record.place.port;
  wish.api_address = record.place.api_address;
  wish.access = [directory = parts_.settings.directory_of(id), address] {
    return own_access(directory, address);
  };
  wish.own_store = record.place.own_store;
  wish.upstream_store = record.place.upstream_store;
  step("N2 sync", record);
  parts_.syncer.follow(std::move(wish));
  const auto state = parts_.syncer.state(id);
  if (!state) return out; // zood ends
  out.nodes = {state->nodes_ready, state->nodes_reason, state->nodes_message};
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
