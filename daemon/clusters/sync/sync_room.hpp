// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/kubeconfig.hpp"
#include "daemon/clusters/sync/calls.hpp"
#include "daemon/clusters/sync/mirror_kind.hpp"
#include "daemon/clusters/sync/own_watch.hpp"
#include "daemon/clusters/sync/queue.hpp"
#include "daemon/clusters/sync/stored.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/connections.hpp"

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

namespace zoo::clusters::sync {

/// Connections to the upstream as the user of one virtual cluster, whose rights end at its
/// namespaces: those of all clusters, each told for whom it asks before it is lent. Any thread.
class AsTenant {
public:
  AsTenant(upstream::ActingConnections& all, std::string_view id)
      : all_(all), user_(tenant_user(id)) {}
  upstream::ActingConnections::Lease take() const {
    return all_.take(
        [this](upstream::ActingApi& api) { api.act_as(user_, {std::string(k_tenant_group)}); });
  }

private:
  upstream::ActingConnections& all_;
  const std::string user_;
};

/// Whose store is meant: the virtual cluster's own, or the upstream's.
enum class Store : unsigned { cluster = 1, upstream = 2 };

/// What all that is done for one virtual cluster stands on; its SyncedCluster's, which outlives
/// what uses it. Any thread.
struct SyncRoom {
  std::string id; ///< of the cluster
  FairQueue& queue;
  StoredBytes& stored; ///< what it has upstream
  WritePace& pace;     ///< asked before each object that is made or changed upstream, and told
  upstream::Connections& own;      ///< its API server, as zood
  upstream::Connections& upstream; ///< as zood: for reads, and for what zood itself keeps there
  const AsTenant& as_tenant;       ///< as the cluster's user
  ListTurns& list_turns;           ///< at lists of its API server
  std::function<Result<kube::ClusterAccess>()> access; ///< to its API server
  Hear hear;                                           ///< lists and watches a collection there
  std::function<translate::Mapping()> mapping;
  std::function<MirrorTerms()> terms;
  /// Is the store behind this connection to it the one that it was? Code::internal: no, and nothing
  /// of it may be believed.
  std::function<Result<void>(upstream::ControlApi& api, Store whose)> known_store;
  /// The namespace (in the cluster's names) is there upstream, and user `zoo:<id>` may write there.
  std::function<Result<void>(const std::string& name_space)> open_namespace;
  std::function<void(const std::string& name_space)> lost_namespace; ///< it is not there any more
  /// May a cluster store this object (in its own names)? Code::forbidden, in its words.
  std::function<Result<void>(const MirrorKind& kind, const nlohmann::json& object)> allowed;
  std::function<void()> changed; ///< the state of the cluster may be another one
  std::chrono::milliseconds patrol;
  std::stop_token calls; ///< ends what is under way

  /// known_store() on a connection that is taken for this question alone. Blocking.
  Result<void> known(Store whose) const {
    const auto lease = (whose == Store::cluster ? own : upstream).take();
    return known_store(*lease, whose);
  }
};

} // namespace zoo::clusters::sync
