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
constexpr std::chrono::seconds k_leave_time{60};
/// Of what a cluster says to it, in the state of its nodes.
constexpr std::size_t k_longest_words = 300;
/// Between two renewals at least so much for each lease: a hundred a second, however many nodes.
constexpr milliseconds k_lease_pace{10};
/// The same between two looks at what others leave of hosts: fifty a second.
constexpr milliseconds k_look_pace{20};
constexpr int k_lease_seconds = 40;
/// How many hosts' pods are in memory at a time, of all clusters: others make them as large as they
/// like.
std::counting_semaphore<2> host_reads{2};

/// The beginning of what a cluster says, in whole characters.
std::string first_words(const std::string& text) {
  auto end = std::min(text.size(), k_longest_words);
  while (end != 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end);
}

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
  auto change = status_change(*current, wanted);
  if (change.is_null()) return {};
  change["metadata"]["uid"] = kube::text_at(*current, "/metadata/uid");
  return api.merge_patch(node_path(name) + "/status", change).map([](const auto&) {});
}

Result<SyncedCluster::Next> SyncedCluster::work_node(const std::string& name) {
  if (!keeps_node(name)) return Next{};
  ZOO_TRY_VOID(room_.known(Store::cluster));
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
    if (!host) ZOO_TRY_VOID(room_.known(Store::upstream));
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
  ZOO_TRY_VOID(known_store(*lease, Store::cluster));
  return tenants::range_objects(*lease, k_nodes, {}, 0, 0, true, {{"labelSelector", k_node_label}},
                                [this](const json& node) {
                                  const auto name = kube::text_at(node, "/metadata/name");
                                  if (keeps_node(name)) {
                                    const std::scoped_lock lock(mutex_);
                                    nodes_had_.insert(name);
                                  } else {
                                    queue_.add(id_, "r/" + name, Lane::first);
                                  }
                                });
}

bool SyncedCluster::time_is_over(const std::string& node) const {
  const std::scoped_lock lock(mutex_);
  const auto found = leaving_.find(node);
  return found != leaving_.end() && FairQueue::Clock::now() - found->second >= k_leave_time;
}

/// Pods upstream on nodes that the cluster is not to have, as zood finds them when it has started:
/// also where the cluster does not show such a node any more.
void SyncedCluster::look_for_stray_pods() {
  auto nodes = table_.nodes_upstream();
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, since] : leaving_)
      nodes.insert(name);
    std::erase_if(nodes, [this](const auto& name) { return kept_.contains(name); });
  }
  for (const auto& name : nodes)
    queue_.add(id_, "r/" + name, Lane::first);
}

/// Nothing new comes to it, its pods are evicted as their budgets let them, and then it goes. When
/// the time for that is over upstream's pods go from its host, whatever the cluster says to it.
Result<SyncedCluster::Next> SyncedCluster::remove_node(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    if (kept_.contains(name)) return Next{};
    leaving_.try_emplace(name, FairQueue::Clock::now());
  }
  const bool over = time_is_over(name);
  if (over)
    for (const auto& key : table_.strand(name, true))
      queue_.add(id_, "p/" + key, Lane::first);
  const auto gone = ask_to_leave(name, over);
  const bool empty = table_.on_node(name).empty();
  const bool done = gone && *gone && (over || empty);
  {
    const std::scoped_lock lock(mutex_);
    if (!gone && over)
      node_trouble_[name] = {"NotGivenBack", "it was taken away, and the virtual cluster does not "
                                             "let it go: " +
                                                 first_words(gone.error().message())};
    else
      node_trouble_.erase(name);
    if (done && empty) leaving_.erase(name);
  }
  tell_if_other();
  if (done) return Next{};
  if (!gone && over) return fail(gone.error());
  if (!gone)
    log::debug("clusters", "{}: node {} does not go yet: {}", id_, name, gone.error().text());
  return Next{k_leaving_look};
}

/// The cluster is asked for it. True: it has no such node any more. `over`: its pods are not waited
/// for any more. That one request is refused ends none of the others.
Result<bool> SyncedCluster::ask_to_leave(const std::string& name, bool over) {
  const auto lease = own_.take();
  auto& own = *lease;
  ZOO_TRY_VOID(known_store(own, Store::cluster));
  const auto node = own.get(node_path(name));
  if (!node && node.error().code() == Code::not_found) return true;
  if (!node) return fail(node.error());
  Result<void> trouble;
  if (!kube::texts_at(*node, "/metadata/annotations").contains(k_leaving_annotation)) {
    trouble = own.merge_patch(
                     node_path(name),
                     {{"metadata",
                       {{"uid", kube::text_at(*node, "/metadata/uid")},
                        {"annotations", {{k_leaving_annotation, api::rfc3339(kube::unix_now())}}}}},
                      {"spec", {{"unschedulable", true}}}})
                  .map([](const auto&) {});
  }
  const auto pods = over ? std::vector<std::string>() : table_.on_node(name);
  const WorkTime time;
  for (const auto& key : pods) {
    if (time.over()) break; // those behind it are asked for in the next turn
    const ObjectName at(key);
    const auto facts = table_.look(key);
    if (!facts || !facts->here) continue;
    const json eviction = {{"apiVersion", "policy/v1"},
                           {"kind", "Eviction"},
                           {"metadata", {{"name", at.name}, {"namespace", at.space}}},
                           {"deleteOptions", {{"preconditions", {{"uid", facts->here->uid}}}}}};
    const auto evicted = own.create(
        kube::path({"api", "v1", "namespaces", at.space, "pods", at.name, "eviction"}), eviction);
    // A budget that lets none go is asked again (429); another one of this name is heard of.
    if (!evicted && !is_gone(evicted.error()) &&
        evicted.error().code() != Code::too_many_requests && trouble)
      trouble = fail(evicted.error());
  }
  if (pods.empty()) {
    ZOO_TRY_VOID(own.remove_read(node_path(name), kube::text_at(*node, "/metadata/uid")));
    ZOO_TRY_VOID(own.remove(k_leases + kube::path({name})));
    log::info("clusters", "{}: node {} is gone", id_, name);
    return true;
  }
  if (!trouble) return fail(trouble.error());
  return false;
}

/// As kubelets do, for all nodes in one turn; also while upstream cannot be asked how they are.
Result<SyncedCluster::Next> SyncedCluster::renew_leases() {
  auto nodes = wish().all_nodes();
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(nodes, [&](const auto& name) {
      return (!nodes_seen_.contains(name) && !nodes_had_.contains(name)) ||
             node_trouble_.contains(name);
    });
  }
  const auto lease = own_.take();
  auto& api = *lease;
  const WorkTime time;
  // It goes on behind the one at which its time was over.
  const auto last = std::find(nodes.begin(), nodes.end(), std::exchange(renewed_, ""));
  for (auto at = last == nodes.end() ? nodes.begin() : last + 1; at != nodes.end(); ++at) {
    const auto& name = *at;
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
    if (!time.over()) continue;
    renewed_ = name;
    return Next{milliseconds(0)};
  }
  return Next{
      std::max<milliseconds>(parts_.lease, k_lease_pace * static_cast<std::int64_t>(nodes.size()))};
}

} // namespace zoo::clusters::sync
