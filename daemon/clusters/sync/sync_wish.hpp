// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/kubeconfig.hpp"
#include "daemon/clusters/sync/mirror_kind.hpp"
#include "daemon/clusters/sync/node_dress.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::clusters::sync {

/// What is to be kept equal between one virtual cluster and the upstream.
struct SyncWish {
  std::string id, key; ///< key: "<namespace>/<name>", for logs
  std::string name;    ///< of the cluster, and of the nodes of its share
  std::string version; ///< of Kubernetes, for those
  bool named = false;  ///< its nodes are the upstream's, by name; else its share's
  /// Of the upstream, where they are named; null: none. Copies of a wish share it, for it may be
  /// long.
  std::shared_ptr<const std::vector<std::string>> nodes;
  unsigned virtual_nodes = 1; ///< as how many its share is shown, else
  unsigned weight = 100;      ///< of its turns in the queue
  bool dns = false;           ///< Service kube-system/kube-dns is there, or comes: pods wait
  Capacity share;             ///< empty: it has none
  MirrorLimits limits;        ///< of Services and nodePorts
  MirrorOptions options;      ///< fixed while it is followed: another one is followed anew
  std::string server;         ///< of its API server
  std::string advertised;     ///< the host at which clients find zood
  std::uint16_t port = 0;     ///< and the cluster's own port there
  std::string api_address;    ///< ClusterIP of its API server; "": not known yet
  /// zood's access to that; asked when a connection is made.
  std::function<Result<kube::ClusterAccess>()> access;
  std::string access_print; ///< another text once `access` gives another one
  /// UIDs of namespace kube-system on both sides, by which a store is known again; "": not yet.
  std::string own_store, upstream_store;

  bool same(const SyncWish& other) const {
    return name == other.name && version == other.version && named == other.named &&
           node_names() == other.node_names() && virtual_nodes == other.virtual_nodes &&
           weight == other.weight && dns == other.dns && share == other.share &&
           limits == other.limits && server == other.server && advertised == other.advertised &&
           port == other.port && access_print == other.access_print;
  }
  /// The nodes that the cluster is to have.
  std::vector<std::string> all_nodes() const {
    if (named) return node_names();
    return share.empty() ? std::vector<std::string>() : share_nodes(name, virtual_nodes);
  }
  const std::vector<std::string>& node_names() const {
    static const std::vector<std::string> none;
    return nodes == nullptr ? none : *nodes;
  }
};

/// How it goes.
struct SyncState {
  bool nodes_ready = false, synced = false;
  std::string nodes_reason, nodes_message, reason, message;
  std::string api_address;               ///< as in SyncWish, once it is known
  std::string api_trouble;               ///< why pods cannot reach the API server; "": they can
  std::string own_store, upstream_store; ///< as in SyncWish, once they are known
  bool operator==(const SyncState&) const = default;
};

} // namespace zoo::clusters::sync
