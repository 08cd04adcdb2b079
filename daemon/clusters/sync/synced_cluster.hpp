// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/mirror.hpp"
#include "daemon/clusters/sync/namespace_labels.hpp"
#include "daemon/clusters/sync/opened_spaces.hpp"
#include "daemon/clusters/sync/pod_events.hpp"
#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/queue.hpp"
#include "daemon/clusters/sync/service_judge.hpp"
#include "daemon/clusters/sync/shared_classes.hpp"
#include "daemon/clusters/sync/sync_room.hpp"
#include "daemon/clusters/sync/sync_wish.hpp"
#include "daemon/clusters/sync/token_keeper.hpp"
#include "daemon/clusters/sync/usage_answers.hpp"
#include "daemon/tenants/cluster_tenants.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/connections.hpp"
#include "daemon/upstream/control_api.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace zoo::clusters::sync {

/// Names of nodes of the upstream; never null.
using NodeNames = std::shared_ptr<const std::vector<std::string>>;

struct SyncerParts {
  // Of all clusters, so that there are no more than workers need; never null.
  std::shared_ptr<upstream::Connections> upstream;                      ///< as zood
  std::shared_ptr<upstream::ActingConnections> acting;                  ///< as users of clusters
  std::function<std::shared_ptr<const translate::SharedNames>()> names; ///< never null
  /// May the cluster of this ID store such an object of a kind (mirror_kind.hpp) upstream?
  /// Code::forbidden, in the cluster's words. Any thread; must not block.
  std::function<Result<void>(const std::string& id, const MirrorKind& kind,
                             const nlohmann::json& object)>
      allowed = [](const std::string&, const MirrorKind&, const nlohmann::json&) {
        return Result<void>();
      };
  tenants::ClusterTenants& tenants;
  /// The state of the cluster of this ID is another one. Any thread; must not block.
  std::function<void(const std::string& id)> changed;
  /// Nodes that some cluster has alone. Any thread; must not block.
  std::function<NodeNames()> reserved{};
  bool quota_fence = true; ///< clusters.quota_fence
  std::chrono::milliseconds patrol{300'000};
  std::chrono::milliseconds lease{10'000};
  std::chrono::milliseconds node_look{60'000}; ///< what others' pods leave of a host
  // How the API server of a cluster is reached; tests have clusters without one.
  ConnectOwn connect_own = connect_to_own;
  Hear hear = hear_once;
};

/// One virtual cluster that is followed: its table of pods, its nodes, a thread "sync-<id>" that
/// lists and watches its pods, and a Mirror with one for each kind of other objects. What is to be
/// done stands in the queue, and work() does it, on the threads of the Syncer. Nothing is deleted
/// on either side because something could not be read: what is gone on one side is looked for there
/// once more, in a store that is known by its UID.
class SyncedCluster {
public:
  SyncedCluster(const SyncerParts& parts, FairQueue& queue, SyncWish wish);
  ~SyncedCluster(); ///< ends the thread; nobody may be in work()
  SyncedCluster(const SyncedCluster&) = delete;

  const std::string& id() const { return id_; }
  const MirrorOptions& options() const { return options_; }
  void set_wish(SyncWish wish); ///< any thread
  SyncState state() const;      ///< any thread
  std::size_t pods() const { return table_.size(); }
  std::size_t refused() const { return table_.refused(); }
  bool has_address(const std::string& address) const { return table_.has_address(address); }

  /// Upstream says this of a pod in a namespace of its, or that it is gone. Any thread.
  void hear_pod(const std::string& key, std::string_view object, bool gone);
  /// The same of an object of a mirrored kind: its metadata.
  void hear_object(std::size_t kind, const std::string& name_space, std::string_view name,
                   std::string_view object, bool gone) {
    mirror_.hear(kind, name_space, name, object, gone);
  }
  /// Upstream has an Event of a pod in one of its namespaces. Any thread.
  void hear_event(std::string_view event) { events_.hear(event); }
  /// Whom its API server asks about Services, and about what its pods use. Any thread.
  ServiceJudge& judge() { return judge_; }
  UsageAnswers& usage() { return usage_; }
  /// Objects beside pods that are kept equal, by the name of their resource. Any thread.
  std::map<std::string, std::size_t> objects() const;
  /// A node upstream is another one. Any thread.
  void hear_node(const std::string& name);
  void look_at_nodes(); ///< the same of all of them
  /// What upstream said was perhaps not all: everything is read again. Any thread.
  void reread();
  void reread(std::size_t kind) { mirror_.reread(kind); } ///< the same of one mirrored kind
  /// Ends what is under way within moments. Any thread.
  void stop_calls() { stop_.request_stop(); }
  /// Upstream is not heard, or is again: then it is read as a whole. Any thread.
  void set_upstream_away(bool away);

  using Next = WorkNext;
  Next work(const FairQueue::Work& work); ///< a worker's thread; blocks

private:
  using Lease = upstream::Connections::Lease;
  struct Trouble {
    std::string reason, message;
  };
  struct RoomWait {
    unsigned tries = 0;
    FairQueue::Clock::time_point next{};
  };

  // synced_cluster.cpp
  std::unique_ptr<upstream::ControlApi> connect_own();
  Result<void> known_store(upstream::ControlApi& api, Store whose);
  void run(const std::stop_token& stop); ///< the thread
  Result<void> follow(const std::stop_token& stop);
  static bool same_wish(const PodFacts& before, const PodFacts& now);
  void note(const nlohmann::json& pod, bool told);
  void set_trouble(Trouble& which, Trouble now);
  void tell_if_other();
  Result<Next> patrol();
  Result<std::vector<tenants::Found>> read_namespaces(upstream::ControlApi& api);
  Result<void> sweep_namespaces(upstream::ControlApi& api);
  Result<Next> sweep();
  Result<Next> learn_dns();
  DressTerms terms() const;
  SyncWish wish() const;
  translate::Mapping mapping() const;
  SyncRoom make_room();
  Result<void> keep_api();

  // pod_work.cpp
  Result<Next> work_pod(const std::string& key, unsigned attempts);
  static PodThere there_of(const nlohmann::json& pod);
  void compare(const std::string& key, const nlohmann::json& object);
  void give_back(const std::string& key);
  void count_there(const std::string& key, const nlohmann::json& pod, bool anew = false);
  /// Something of the share is free: those that it was too small for are tried soon.
  void room_made();
  Next fill_room();
  Result<void> take_heard(const std::string& key, const PodTable::Taken& taken);
  static bool is_shown(const PodFacts& facts, const nlohmann::json& status);
  Result<void> show(const std::string& key, const PodFacts& facts, const nlohmann::json& pod);
  /// The cluster's pod; nothing if it has gone, or is another one by now: that will be heard.
  Result<std::optional<nlohmann::json>> read_here(const std::string& key, std::string_view uid);
  Result<Next> create_pod(const std::string& key, const PodFacts& facts, unsigned attempts);
  Result<Next> change_pod(const std::string& key, const PodFacts& facts, unsigned attempts);
  Result<Next> stop_pod(const std::string& key, const PodFacts& facts);
  Result<Next> finish_pod(const std::string& key, const PodFacts& facts);
  Result<Next> refuse(const std::string& key, const PodFacts& facts, const std::string& why,
                      unsigned attempts);
  Result<void> accepted(const std::string& key, const PodFacts& facts);
  Result<std::optional<nlohmann::json>> read_there(const std::string& key);

  // fence_work.cpp
  Result<void> open_namespace(const std::string& name_space);
  Result<void> keep_fence(upstream::ControlApi& api, const std::string& name_space,
                          const Capacity& share);

  // pod_later.cpp
  struct Parts {
    nlohmann::json latest;        ///< upstream's pod, as it is then
    std::optional<Error> refused; ///< why one of them was not taken
  };
  Result<Parts> change_parts(upstream::ControlApi& api, const std::string& key,
                             const nlohmann::json& pod, const Dressed& dressed,
                             const nlohmann::json& there);
  /// `fresh`: those of the dressed `pod` that upstream's, of that UID, does not have.
  Result<void> add_ephemeral(upstream::ControlApi& api, const std::string& path,
                             const nlohmann::json& pod, const std::string& uid,
                             const nlohmann::json& fresh);
  Result<void> resize(upstream::ControlApi& api, const std::string& key, const nlohmann::json& pod,
                      const nlohmann::json& there, nlohmann::json change);
  Result<Next> look_for_room(const std::string& key, const PodFacts& facts, unsigned attempts);
  Result<Next> no_room(const std::string& key, const PodFacts& facts, const nlohmann::json& pod,
                       const std::string& lacks);

  // node_work.cpp
  Result<Next> work_node(const std::string& name);
  Result<Next> remove_node(const std::string& name);
  Result<bool> ask_to_leave(const std::string& name, bool over);
  void look_for_stray_pods();
  bool time_is_over(const std::string& node) const;
  Result<Next> renew_leases();
  Result<void> look_for_old_nodes();
  Result<void> keep_node(const nlohmann::json& wanted);
  Result<Capacity> claims_of_others(const std::string& node);
  Result<Capacity> room_of(const std::string& name, const nlohmann::json& host);
  bool keeps_node(const std::string& name) const;
  std::size_t node_count() const;

  const SyncerParts& parts_;
  FairQueue& queue_;
  const std::string id_;
  const MirrorOptions options_;
  std::stop_source stop_;
  StoredBytes stored_;
  WritePace pace_;
  PodTable table_;
  upstream::Connections own_;
  upstream::Connections& upstream_;
  const AsTenant as_tenant_;

  mutable std::mutex mutex_;
  SyncWish wish_;
  SyncState told_;
  std::unordered_set<std::string> kept_;        ///< the nodes that it is to have
  std::map<std::string, Trouble> node_trouble_; ///< of nodes that are not as they should be
  std::set<std::string> nodes_seen_;            ///< that were looked at
  std::set<std::string> nodes_had_;             ///< that the cluster had when it was followed
  std::map<std::string, Capacity> others_;      ///< what pods of others asked for on them
  /// Nodes that were taken from it, of which it perhaps has pods still: since when.
  std::map<std::string, FairQueue::Clock::time_point> leaving_;
  Trouble own_trouble_, upstream_trouble_; ///< why a side was not read; the latter by patrol()
  std::string own_store_, upstream_store_;
  std::string dns_; ///< the address of Service kube-system/kube-dns; "": not known, or none
  /// Owners of pods that had no room, by UID: when the next one may be made anew.
  std::map<std::string, RoomWait> room_waits_;
  std::string api_address_, api_trouble_;
  OpenedSpaces spaces_;
  std::atomic<bool> listed_ = false, known_ = false;
  std::atomic<bool> crowded_ = false; ///< it has more pods than are kept
  std::atomic<bool> upstream_away_ = false;
  /// Stores that are not what they were: the values of Store, added.
  std::atomic<unsigned> strange_ = 0;
  ListTurns list_turns_{ListTurns::max()};
  /// Where the work of these keys goes on, since its time was over: one worker at a time has each.
  std::string renewed_, swept_spaces_, swept_volumes_;
  const SyncRoom room_;
  Mirror mirror_;
  NamespaceLabels labels_;
  TokenKeeper tokens_;
  PodEvents events_;
  SharedClasses classes_;
  ServiceJudge judge_;
  UsageAnswers usage_;
  std::jthread thread_; ///< last: it uses all the rest
};

} // namespace zoo::clusters::sync
