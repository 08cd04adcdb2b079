// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/absence.hpp"
#include "daemon/clusters/sync/synced_cluster.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace zoo::clusters::sync {

/// Keeps the nodes, the pods, and what pods need of all virtual clusters equal with upstream's.
/// Upstream is followed once for all of them, on `loop`; what is to be done is done by threads
/// "sync-1".."sync-N", which take from one fair queue.
class Syncer {
public:
  Syncer(upstream::Upstream& upstream, net::Loop& loop, SyncerParts parts, unsigned workers = 8);
  ~Syncer();
  Syncer(const Syncer&) = delete;

  void start();
  /// Ends everything, while the loop still turns. Nothing is deleted.
  void stop();

  /// From now on this cluster is kept so. Any thread, one at a time for a cluster; does not block,
  /// unless other kinds of its objects are to be upstream than before: then it waits for calls.
  void follow(SyncWish wish);
  /// The nodes that some cluster has alone from now on: pods of shares keep off them that are made
  /// behind it. Any thread; does not block.
  void set_reserved(std::vector<std::string> nodes);
  /// No more; when it returns nothing is written for it any more. Any thread; waits for calls.
  void leave(const std::string& id);
  /// Nothing for one that is not followed.
  std::optional<SyncState> state(const std::string& id) const;
  struct Count {
    std::size_t pods = 0;    ///< that are bound to a node, or upstream
    std::size_t refused = 0; ///< that upstream does not take
    std::size_t backlog = 0; ///< of what is to be done for it
  };
  std::map<std::string, Count> counts() const; ///< by ID. Any thread
  /// Does upstream say that a pod of this cluster has the IP address? Any thread; does not block.
  bool has_address(const std::string& id, const std::string& address) const;
  /// The API server of this cluster asks about a Service (service_judge.hpp). False: the cluster is
  /// not followed, or too many questions of it wait; `done` is not called. Any thread; does not
  /// block.
  bool review(const std::string& id, std::string body, ServiceJudge::Done done);
  /// The API server of this cluster asks what its pods use (usage_answers.hpp). False: as above.
  bool usage(const std::string& id, UsageRequest request, UsageAnswers::Done done);
  /// Objects beside pods that are kept equal, by cluster and resource. Any thread.
  std::map<std::string, std::map<std::string, std::size_t>> objects() const;

private:
  std::shared_ptr<SyncedCluster> find(std::string_view id) const;
  void hear_pod(translate::EventType type, std::string_view name_space, std::string_view name,
                std::string_view object);
  void hear_object(std::size_t kind, translate::EventType type, const translate::ObjectKey& key,
                   std::string_view object);
  void follow_objects();
  void reread_all();
  void upstream_away(bool away); ///< of the loop: clusters say so
  void run(const std::stop_token& stop);

  upstream::Upstream& upstream_;
  net::Loop& loop_;
  std::atomic<NodeNames> reserved_ = std::make_shared<const std::vector<std::string>>();
  const SyncerParts parts_;
  FairQueue queue_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<SyncedCluster>> clusters_;
  bool away_ = false; ///< upstream_away(), under mutex_
  std::mutex left_mutex_;
  std::vector<std::shared_ptr<SyncedCluster>> left_; ///< whom somebody had in hand when they left
  std::unique_ptr<Absence> absence_;                 ///< of upstream, as pods_ hears it; the loop's
  std::unique_ptr<upstream::ChangeFollower> pods_, nodes_; ///< likewise
  std::vector<std::unique_ptr<upstream::ChangeFollower>>
      objects_; ///< likewise; Events behind the mirror_kinds()
  const unsigned workers_;
  std::vector<std::jthread> threads_; ///< last: they use all the rest
};

} // namespace zoo::clusters::sync
