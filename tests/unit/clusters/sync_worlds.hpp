// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/mirror.hpp"
#include "daemon/clusters/sync/synced_cluster.hpp"
#include "tests/unit/clusters/fake_side.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

/// A virtual cluster between two scripted API servers, in three sizes: what its parts stand on, a
/// Mirror, and all of it. What is due is done when a test says so, on its thread.
namespace zoo::tests {

namespace sync = clusters::sync;

inline constexpr const char* k_id = "clu5t3";
inline constexpr const char* k_kube_system = "/api/v1/namespaces/kube-system";
// Objects of the cluster, and where they are upstream.
inline constexpr const char* k_pod = "/api/v1/namespaces/default/pods/web";
inline constexpr const char* k_pod_there = "/api/v1/namespaces/clu5t3-default/pods/web";
inline constexpr const char* k_service = "/api/v1/namespaces/default/services/web";
inline constexpr const char* k_service_there = "/api/v1/namespaces/clu5t3-default/services/web";
inline constexpr const char* k_config = "/api/v1/namespaces/default/configmaps/conf";
inline constexpr const char* k_config_there = "/api/v1/namespaces/clu5t3-default/configmaps/conf";
inline constexpr const char* k_space = "/api/v1/namespaces/default";
inline constexpr const char* k_space_there = "/api/v1/namespaces/clu5t3-default";
/// Of a name that provisioners make up.
inline constexpr const char* k_volume =
    "/api/v1/persistentvolumes/pvc-00000000-0000-4000-8000-000000000001";

using Lines = std::vector<std::string>;

/// A pod on node n1, with what of its spec is another thing.
nlohmann::json pod_of(const char* spec = "{}");
nlohmann::json service_of();

/// Both API servers, and what is to be done between them. Each change that was sent is checked to
/// name its object in the end, whatever was tried.
struct Sides {
  FakeSide own{"own"}, up{"up"};
  const std::string own_store = own.uid_of(k_kube_system), up_store = up.uid_of(k_kube_system);
  sync::FairQueue queue{4};

  Sides();
  ~Sides();
  Sides(const Sides&) = delete;
  /// Makes a namespace of the cluster upstream, as zood does.
  void open(const std::string& space);
  /// Does what is due until nothing is. Keys that begin with none of `kinds` are forgotten.
  void settle(const std::function<sync::WorkNext(const sync::FairQueue::Work&)>& work,
              const std::vector<std::string>& kinds);
};

/// What a SyncedCluster gives to its parts, made of functions.
struct Room : Sides {
  sync::StoredBytes stored;
  sync::WritePace pace;
  upstream::Connections own_api, up_api;
  upstream::ActingConnections acting;
  const sync::AsTenant tenant_api;
  sync::ListTurns turns{sync::ListTurns::max()};
  std::stop_source calls;
  const sync::SyncRoom room;

  Room();

private:
  sync::SyncRoom make_room();
};

/// A Mirror.
struct MirrorRoom : Room {
  std::unique_ptr<sync::Mirror> mirror;

  MirrorRoom();
  void start(); ///< both sides are read, and what is to be done is done
  void stop();  ///< nobody looks from here on, until start()
  void settle();
  /// The key of the patrol of a kind.
  static std::string all_of(const char* resource);
};

/// A whole SyncedCluster, which has nodes n1 and n2.
struct Cluster : Sides {
  std::unique_ptr<tenants::ClusterTenants> tenants;
  const sync::SyncerParts parts;
  std::unique_ptr<sync::SyncedCluster> cluster;
  std::vector<std::string> kinds{"p/", "a/", "m/", "x/", "s/", "t/"}; ///< of work that is done

  Cluster();
  static sync::SyncWish wish();
  void start(); ///< both sides are read, and what is to be done is done
  void stop();  ///< nobody looks from here on, until start()
  void settle();
  void work(const char* key); ///< be it due or not
  /// Upstream tells what it has of the pod, or has had.
  void hear(const nlohmann::json& pod, bool gone);

private:
  sync::SyncerParts make_parts();
};

} // namespace zoo::tests
