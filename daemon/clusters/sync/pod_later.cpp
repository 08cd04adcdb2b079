// SPDX-License-Identifier: Apache-2.0
// What becomes of a pod after it was made upstream: what it is given by requests of its own, and
// what is done when upstream has no room for it.
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_calls.hpp"
#include "daemon/clusters/sync/synced_cluster.hpp"
#include "daemon/clusters/sync/words.hpp"

#include <algorithm>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// How long upstream may look for a node, after the cluster has chosen one.
constexpr std::int64_t k_room_seconds = 30;
/// Between two pods of one owner that are made anew for that; twice as long each time.
constexpr seconds k_owner_first{10}, k_owner_most{300};
constexpr std::size_t k_most_owners = 1'000; ///< that are remembered

std::string uid_of(const json& object) { return kube::text_at(object, "/metadata/uid"); }

/// The UID of the controller that makes another one when this pod is deleted; "": none does.
std::string controller_of(const json& pod) {
  for (const auto& each : kube::list_at(pod, "/metadata/ownerReferences"))
    if (each.is_object() && each.value("controller", json()) == true &&
        each.value("kind", json()) != "Node")
      return kube::text_at(each, "/uid");
  return {};
}

} // namespace

/// `pod`: the cluster's; `there`: upstream's, as it is. One that is refused is in nobody's way: an
/// ephemeral container cannot be taken back in the cluster.
Result<SyncedCluster::Parts> SyncedCluster::change_parts(upstream::ControlApi& api,
                                                         const std::string& key, const json& pod,
                                                         const Dressed& dressed,
                                                         const json& there) {
  Parts out{there, std::nullopt};
  const auto path = PodKey(key).path_there(id_);
  bool any = false;
  const auto done = [&](const Result<void>& part) -> Result<void> {
    any = true;
    if (part) return {};
    if (!is_refusal(part.error())) return fail(part.error());
    if (!out.refused) out.refused = part.error();
    return {};
  };
  if (const auto gates = other_gates(there, dressed); !gates.empty()) {
    const json change = {{"metadata", {{"uid", uid_of(there)}}},
                         {"status", {{"conditions", gates}}}};
    ZOO_TRY_VOID(done(patch_pod(api, path + "/status", change)));
  }
  if (auto change = resources_change(there, dressed.pod); !change.is_null())
    ZOO_TRY_VOID(done(resize(api, key, pod, there, std::move(change))));
  if (const auto fresh = new_ephemeral(there, dressed); !fresh.empty())
    ZOO_TRY_VOID(done(add_ephemeral(api, path, dressed.pod, uid_of(there), fresh)));
  if (any) {
    ZOO_TRY(out.latest, api.get(path));
  }
  return out;
}

/// They go through the same rules as all that a tenant writes.
Result<void> SyncedCluster::add_ephemeral(upstream::ControlApi& api, const std::string& path,
                                          const json& pod, const std::string& uid,
                                          const json& fresh) {
  Result<void> out;
  // One by one: that one is refused is not the others' fault.
  for (const auto& each : fresh) {
    auto whole = pod;
    whole["spec"]["ephemeralContainers"] = json::array({each});
    auto done = [&]() -> Result<void> {
      ZOO_TRY(const auto inward, pod_in(mapping(), whole));
      const json change = {
          {"metadata", {{"uid", uid}}},
          {"spec", {{"ephemeralContainers", inward["spec"]["ephemeralContainers"]}}}};
      return patch_pod(api, path + "/ephemeralcontainers", change);
    }();
    if (!done && !is_refusal(done.error())) return done;
    if (out) out = std::move(done);
  }
  return out;
}

Result<void> SyncedCluster::resize(upstream::ControlApi& api, const std::string& key,
                                   const json& pod, const json& there, json change) {
  const auto before = table_.look(key);
  if (!before) return {};
  // What is less than before is free when upstream has taken it.
  const auto claims = pod_claims(pod);
  if (const auto shortage = table_.reserve(key, larger_of(before->claims, claims)))
    return fail(Code::forbidden,
                "it is to have {} of {} more, and {} are left of the share of the virtual cluster",
                shortage->wanted.text(), shortage->resource,
                shortage->left.negative() ? "0" : shortage->left.text());
  change["metadata"]["uid"] = uid_of(there);
  const auto done = patch_pod(api, PodKey(key).path_there(id_) + "/resize", change);
  if (done || before->counted)
    table_.reserve(key, done ? claims : before->claims);
  else
    table_.uncount(key);
  if (done) return {};
  return fail(done.error());
}

/// The pod is upstream as it should be; but perhaps upstream finds no node for it.
Result<SyncedCluster::Next> SyncedCluster::look_for_room(const std::string& key,
                                                         const PodFacts& facts, unsigned attempts) {
  if (!facts.here || !facts.there || facts.there->owner != facts.here->uid || facts.here->leaving ||
      facts.here->ended || facts.there->leaving)
    return Next{};
  const auto since = facts.there->waits_since;
  if (since <= 0) {
    if (facts.there->hash == facts.here->hash) ZOO_TRY_VOID(accepted(key, facts));
    return Next{};
  }
  const auto waited = kube::unix_now() - since;
  if (waited < k_room_seconds)
    return Next{seconds(k_room_seconds - std::max<std::int64_t>(waited, 0))};
  ZOO_TRY(const auto pod, read_here(key, facts.here->uid));
  if (!pod) return Next{};
  ZOO_TRY(const auto there, read_there(key));
  if (!there) return Next{milliseconds(0)};
  const auto now = there_of(*there);
  if (now.waits_since <= 0 || now.owner != facts.here->uid) return Next{};
  if (!now.lacks.empty()) return no_room(key, facts, *pod, now.lacks);
  return refuse(key, facts, fmt::format("it has found no node for it in {} s", waited), attempts);
}

/// The cluster's scheduler believed that there is room. One that somebody makes anew is deleted, so
/// that it is placed once more; any other one fails, as on a kubelet that has no room.
Result<SyncedCluster::Next> SyncedCluster::no_room(const std::string& key, const PodFacts& facts,
                                                   const json& pod, const std::string& lacks) {
  const PodKey at(key);
  if (keeps_node(facts.node)) queue_.add(id_, "n/" + facts.node, Lane::first);
  const auto owner = controller_of(pod);
  if (owner.empty()) {
    const auto lease = own_.take();
    const json failed = {
        {"metadata", {{"uid", facts.here->uid}}},
        {"status",
         {{"phase", "Failed"},
          {"reason", k_no_room_reason + lacks},
          {"message", fmt::format("Pod was rejected: the upstream has not had enough {} for {} s",
                                  lacks, k_room_seconds)}}}};
    const auto said = patch_status(*lease, at, failed);
    if (!said && !is_gone(said.error())) return fail(said.error());
    log::info("clusters", "{}: pod {} fails: upstream has not enough {}", id_, key, lacks);
    return Next{};
  }
  {
    const std::scoped_lock lock(mutex_);
    const auto now = FairQueue::Clock::now();
    if (room_waits_.size() >= k_most_owners && !room_waits_.contains(owner))
      std::erase_if(room_waits_, [&](const auto& each) { return each.second.next < now; });
    if (room_waits_.size() >= k_most_owners) room_waits_.erase(room_waits_.begin());
    auto& wait = room_waits_[owner];
    if (now < wait.next) return Next{std::chrono::ceil<milliseconds>(wait.next - now)};
    const auto pause = k_owner_first * (1L << std::min(wait.tries, 5U));
    wait.next = now + std::min<seconds>(pause, k_owner_most);
    ++wait.tries;
  }
  const auto lease = own_.take();
  ZOO_TRY_VOID(remove_of(*lease, at.path(), facts.here->uid));
  log::info("clusters", "{}: pod {} is made anew: upstream has not enough {}", id_, key, lacks);
  return Next{};
}

} // namespace zoo::clusters::sync
