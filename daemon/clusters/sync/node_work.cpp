// SPDX-License-Identifier: Apache-2.0
// The nodes of a cluster: made, kept as their hosts are, renewed, and taken away in order.
#include "common/api/tenant.hpp"
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/synced_cluster.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/tenants/footprint.hpp"

#include <algorithm>
#include <semaphore>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* k_nodes = "/api/v1/nodes";
constexpr const char* k_pods = "/api/v1/pods";
constexpr const char* k_leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
constexpr milliseconds k_lost_look{30'000}, k_leaving_look{1'000};
/// How long the pods of a node that goes have to leave it.
constexpr std::int64_t k_leave_seconds = 60;
/// Between two renewals at least so much for each lease: a hundred a second, however many nodes.
constexpr milliseconds k_lease_pace{10};
/// The same between two looks at what others leave of hosts: fifty a second.
constexpr milliseconds k_look_pace{20};
constexpr int k_lease_seconds = 40;
/// How many hosts' pods are in memory at a time, of all clusters: others make them as large as they
/// like.
std::counting_semaphore<2> host_reads{2};
constexpr const char* k_leaving_annotation = "virtual-cluster/leaving-since";

std::string node_path(const std::string& name) { return k_nodes + kube::path({name}); }

/// With millionths of a second, as Leases have it.
std::string micro_time() {
  const auto text = api::rfc3339(kube::unix_now());
  return text.substr(0, text.size() - 1) + ".000000Z";
}

} // namespace

bool SyncedCluster::keeps_node(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  return kept_.contains(name);
}

std::size_t SyncedCluster::node_count() const {
  const std::scoped_lock lock(mutex_);
  return kept_.size();
}

/// What pods that are not the cluster's ask for on a host, by what upstream has in memory; page by
/// page where they are too large for one answer.
Result<Capacity> SyncedCluster::claims_of_others(const std::string& node) {
  const auto lease = upstream_.take();
  host_reads.acquire();
  const std::unique_ptr<std::counting_semaphore<2>, void (*)(std::counting_semaphore<2>*)> held(
      &host_reads, [](auto* turns) { turns->release(); });
  Capacity out;
  const auto count = [&](const json& pod) {
    if (cluster_namespace(id_, kube::text_at(pod, "/metadata/namespace"))) return;
    const auto phase = kube::text_at(pod, "/status/phase");
    if (phase != "Succeeded" && phase != "Failed") add(out, pod_requests(pod));
  };
  const kube::Query of_node{{"fieldSelector", "spec.nodeName=" + node}};
  auto from_memory = of_node;
  from_memory.emplace_back("resourceVersion", "0"); // with it Kubernetes does not page
  const auto pods = (*lease).get(kube::with_query(k_pods, from_memory));
  if (!pods && pods.error().code() != Code::too_large) return fail(pods.error());
  if (pods) {
    for (const auto& pod : kube::list_at(*pods, "/items"))
      count(pod);
  } else {
    ZOO_TRY_VOID(tenants::range_objects(*lease, k_pods, {}, 0, 0, false, of_node, count));
  }
  return out;
}

/// Where that cannot be read it is what it was, and a node that is new has room for nothing: that
/// it is ready does not depend on what others run there.
Result<Capacity> SyncedCluster::room_of(const std::string& name, const json& host) {
  auto others = claims_of_others(name);
  if (!others && others.error().code() == Code::cancelled) return fail(others.error());
  if (!others)
    log::info("clusters", "{}: what others' pods ask for on node {} cannot be read: {}", id_, name,
              others.error().text());
  const auto used = table_.used_on(name), left = table_.share_left();
  const std::scoped_lock lock(mutex_);
  if (others) others_[name] = *std::move(others);
  const auto known = others_.find(name);
  if (known == others_.end()) return room_on(json(), {}, used, left);
  return room_on(host, known->second, used, left);
}

Result<void> SyncedCluster::keep_node(const json& wanted) {
  const auto name = kube::text_at(wanted, "/metadata/name");
  const auto lease = own_.take();
  auto& api = *lease;
  auto current = api.get(node_path(name));
  if (!current && current.error().code() == Code::not_found) {
    current = api.create(k_nodes, wanted);
    if (current) log::info("clusters", "{}: node {} is there", id_, name);
  }
  if (!current) return fail(std::move(current).error());
  if (const auto next = kept_node(*current, wanted); next != *current) {
    current = api.update(node_path(name), next);
    if (!current) return fail(std::move(current).error());
  }
  const auto change = status_change(*current, wanted);
  if (!change.is_null()) ZOO_TRY_VOID(api.merge_patch(node_path(name) + "/status", change));
  return {};
}

Result<SyncedCluster::Next> SyncedCluster::work_node(const std::string& name) {
  if (!keeps_node(name)) return Next{};
  {
    const auto lease = own_.take();
    ZOO_TRY_VOID(known_store(*lease, false));
  }
  const auto wished = wish();
  std::optional<Trouble> trouble;
  auto next = parts_.node_look;
  if (!wished.named) {
    const auto all = wished.all_nodes();
    const auto number = std::find(all.begin(), all.end(), name) - all.begin();
    const auto part = share_part(share_capacity(wished.share), wished.virtual_nodes,
                                 static_cast<unsigned>(number));
    ZOO_TRY_VOID(keep_node(share_node(name, part, wished.version)));
  } else {
    auto host = [&] {
      const auto lease = upstream_.take();
      return (*lease).get(node_path(name));
    }();
    if (!host && host.error().code() != Code::not_found) return fail(std::move(host).error());
    // A node that is not ready loses its pods: so it is one that the upstream has lost, not one of
    // a store in its place that has nothing.
    if (!host) {
      const auto lease = upstream_.take();
      ZOO_TRY_VOID(known_store(*lease, true));
    }
    if (host) {
      ZOO_TRY(const auto room, room_of(name, *host));
      ZOO_TRY_VOID(keep_node(named_node(*host, room)));
    } else {
      trouble = Trouble{"NodeNotFound", "there is no such node upstream"};
      const auto lease = own_.take();
      const auto there = (*lease).get(node_path(name));
      if (there) ZOO_TRY_VOID(keep_node(lost_node(name)));
      next = k_lost_look;
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    nodes_seen_.insert(name);
    if (trouble)
      node_trouble_[name] = *trouble;
    else
      node_trouble_.erase(name);
  }
  tell_if_other();
  next = std::max<milliseconds>(next, k_look_pace * static_cast<std::int64_t>(node_count()));
  return Next{reconcile::jittered(next)};
}

/// Nodes that zood has made in the cluster and that it is not to have any more.
Result<void> SyncedCluster::look_for_old_nodes() {
  const auto lease = own_.take();
  ZOO_TRY_VOID(known_store(*lease, false));
  const auto path = kube::with_query(k_nodes, {{"labelSelector", k_node_label}});
  ZOO_TRY(const auto nodes, (*lease).get(path));
  for (const auto& node : kube::list_at(nodes, "/items")) {
    const auto name = kube::text_at(node, "/metadata/name");
    if (!keeps_node(name)) queue_.add(id_, "r/" + name, Lane::first);
  }
  return {};
}

/// Nothing new comes to it, its pods are evicted as their budgets let them, and then it goes.
Result<SyncedCluster::Next> SyncedCluster::remove_node(const std::string& name) {
  if (keeps_node(name)) return Next{};
  const auto lease = own_.take();
  auto& own = *lease;
  ZOO_TRY_VOID(known_store(own, false));
  const auto node = own.get(node_path(name));
  if (!node && node.error().code() == Code::not_found) return Next{};
  if (!node) return fail(node.error());
  const auto annotations = kube::texts_at(*node, "/metadata/annotations");
  const auto since = annotations.find(k_leaving_annotation);
  const auto now = kube::unix_now();
  const auto began = since == annotations.end() ? -1 : kube::unix_seconds(since->second);
  if (began < 0) {
    ZOO_TRY_VOID(own.merge_patch(
        node_path(name),
        {{"metadata", {{"annotations", {{k_leaving_annotation, api::rfc3339(now)}}}}},
         {"spec", {{"unschedulable", true}}}}));
  }
  const auto pods = table_.on_node(name);
  const bool in_time = began < 0 || now - began < k_leave_seconds;
  if (!pods.empty() && in_time) {
    for (const auto& key : pods) {
      const auto slash = key.find('/');
      const auto space = key.substr(0, slash), pod = key.substr(slash + 1);
      const json eviction = {{"apiVersion", "policy/v1"},
                             {"kind", "Eviction"},
                             {"metadata", {{"name", pod}, {"namespace", space}}}};
      const auto done = own.create(
          kube::path({"api", "v1", "namespaces", space, "pods", pod, "eviction"}), eviction);
      // A budget that lets none go is asked again (429).
      if (!done && done.error().code() != Code::not_found &&
          done.error().code() != Code::too_many_requests)
        return fail(done.error());
    }
    return Next{k_leaving_look};
  }
  ZOO_TRY_VOID(own.remove_read(node_path(name), kube::text_at(*node, "/metadata/uid")));
  ZOO_TRY_VOID(own.remove(k_leases + kube::path({name})));
  log::info("clusters", "{}: node {} is gone", id_, name);
  return Next{};
}

/// As kubelets do, for all nodes in one turn.
Result<SyncedCluster::Next> SyncedCluster::renew_leases() {
  auto nodes = wish().all_nodes();
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(nodes, [&](const auto& name) {
      return !nodes_seen_.contains(name) || node_trouble_.contains(name);
    });
  }
  const auto lease = own_.take();
  auto& api = *lease;
  for (const auto& name : nodes) {
    const json spec = {{"holderIdentity", name},
                       {"leaseDurationSeconds", k_lease_seconds},
                       {"renewTime", micro_time()}};
    auto done = api.merge_patch(k_leases + kube::path({name}), {{"spec", spec}});
    if (!done && done.error().code() == Code::not_found) {
      ZOO_TRY(const auto node, api.get(node_path(name)));
      done = api.create(k_leases, {{"apiVersion", "coordination.k8s.io/v1"},
                                   {"kind", "Lease"},
                                   {"metadata",
                                    {{"name", name},
                                     {"ownerReferences",
                                      {{{"apiVersion", "v1"},
                                        {"kind", "Node"},
                                        {"name", name},
                                        {"uid", kube::text_at(node, "/metadata/uid")}}}}}},
                                   {"spec", spec}});
    }
    if (!done) return fail(std::move(done).error());
  }
  return Next{
      std::max<milliseconds>(parts_.lease, k_lease_pace * static_cast<std::int64_t>(nodes.size()))};
}

} // namespace zoo::clusters::sync
