// SPDX-License-Identifier: Apache-2.0
// Namespaces upstream are made ready for a cluster's pods: opened for its user, and fenced.
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/share_fence.hpp"
#include "daemon/clusters/sync/synced_cluster.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/tenants/footprint.hpp"

#include <set>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

bool same_amounts(const json& a, const json& b) {
  const auto before = kube::texts_at(a, "/spec/hard"), after = kube::texts_at(b, "/spec/hard");
  if (before.size() != after.size()) return false;
  for (const auto& [name, text] : after) {
    const auto found = before.find(name);
    if (found == before.end()) return false;
    const auto one = kube::Quantity::parse(found->second), other = kube::Quantity::parse(text);
    if (!one || !other || *one != *other) return false;
  }
  return true;
}

} // namespace

/// Those that upstream has of the cluster, which are counted by that.
Result<std::vector<tenants::Found>> SyncedCluster::read_namespaces(upstream::ControlApi& api) {
  ZOO_TRY(auto found, tenants::range(api, "/api/v1/namespaces", mapping().prefix()));
  std::set<std::string> there;
  for (const auto& space : found)
    if (const auto own = cluster_namespace(id_, space.name)) there.insert(*own);
  spaces_.count(std::move(there));
  return found;
}

/// Once for each namespace, and again when the share is another one. Code::forbidden: the cluster
/// has as many as it may have.
Result<void> SyncedCluster::open_namespace(const std::string& name_space) {
  if (spaces_.is_open(name_space)) return {};
  const auto lease = upstream_.take();
  // Of the first one since the cluster is followed nobody knows whether it is one too many.
  if (!spaces_.counted()) ZOO_TRY_VOID(read_namespaces(*lease));
  if (!spaces_.begin(name_space))
    return fail(Code::forbidden,
                "a virtual cluster has pods, or what they need, in {} namespaces at most",
                OpenedSpaces::k_most);
  const auto share = wish().share;
  auto done = [&]() -> Result<void> {
    ZOO_TRY_VOID(known_store(*lease, Store::upstream)); // nothing is begun in another one
    ZOO_TRY_VOID(parts_.tenants.open_namespace(*lease, id_, upstream_namespace(id_, name_space)));
    return parts_.quota_fence ? keep_fence(*lease, name_space, share) : Result<void>();
  }();
  spaces_.end(name_space, done.has_value());
  if (wish().share != share) spaces_.lose(name_space); // its fence is of the share before
  if (done) queue_.add(id_, "s/" + name_space, Lane::then);
  // What upstream refuses to zood is nothing that the cluster's users are told.
  if (!done && done.error().code() == Code::forbidden)
    return fail(Code::unavailable, "{}", done.error().text());
  return done;
}

/// As zood: the cluster's user writes no quotas.
Result<void> SyncedCluster::keep_fence(upstream::ControlApi& api, const std::string& name_space,
                                       const Capacity& share) {
  const auto wanted = share_fence(share);
  if (!wanted) return {};
  const auto quotas = kube::path(
      {"api", "v1", "namespaces", upstream_namespace(id_, name_space), "resourcequotas"});
  const auto path = quotas + kube::path({kube::text_at(*wanted, "/metadata/name")});
  auto there = api.get(path);
  if (!there && there.error().code() == Code::not_found) {
    const auto made = api.create(quotas, *wanted);
    return made || made.error().code() == Code::already_exists ? Result<void>()
                                                               : fail(made.error());
  }
  if (!there) return fail(there.error());
  if (same_amounts(*there, *wanted)) return {};
  auto next = *std::move(there);
  next["spec"]["hard"] = (*wanted)["spec"]["hard"];
  ZOO_TRY_VOID(api.update(path, next).map([](const auto&) {}));
  // A zood before this one has kept cpu and memory of the same share in a quota of their own.
  return api.remove(quotas + "/zoo-share-requests");
}

} // namespace zoo::clusters::sync
