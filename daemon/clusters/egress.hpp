// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/door_table.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/clusters/look_pace.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/resolver.hpp"
#include "daemon/upstream/pool.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters {

class ClusterNodes;
class ClusterServices;
class UpstreamPods;

/// What has become of the connections that one cluster's API server asked for. Any thread.
struct EgressTally {
  std::atomic<std::uint64_t> asked{0}, refused{0};
};

/// What stands behind the egress door of one cluster; on its loop, and destroyed there.
struct EgressRoom {
  /// `upstream`: as zood, on this loop.
  EgressRoom(net::Loop& on, const DoorEntry& of,
             std::shared_ptr<const upstream::UpstreamEndpoint> api,
             std::function<upstream::Caller&()> upstream);
  ~EgressRoom();

  net::Loop& loop;
  const DoorEntry cluster;
  upstream::Pool api; ///< its API server, as zood
  LookPace looks;     ///< of both that look at objects of the cluster when they are asked
  std::unique_ptr<ClusterNodes> nodes;
  std::unique_ptr<ClusterServices> services;
  std::unique_ptr<UpstreamPods> pods; ///< of the upstream, whosever they are
  /// It outlives the room, which must not be kept by who counts: it is destroyed on its loop.
  const std::shared_ptr<EgressTally> tally = std::make_shared<EgressTally>();
  /// Bytes of bodies that zood itself was sent from inside and has not answered yet, and of long
  /// answers that are not sent yet (held_bytes.hpp). The counter outlives the room.
  const std::shared_ptr<std::atomic<std::size_t>> inside_bytes =
      std::make_shared<std::atomic<std::size_t>>(0);
  static constexpr std::size_t k_most_inside = std::size_t{16} << 20; ///< docs/limits.md
};

/// What answers what a virtual cluster's API server asks zood itself, at zood.internal. The room
/// outlives the handler.
using InsideService = std::function<std::unique_ptr<http::StreamHandler>(
    const EgressRoom& room, http::RequestHead head, http::ServerStream& stream)>;

struct EgressParts {
  net::Loops loops;
  std::filesystem::path directory; ///< DIR/clusters
  net::ListenerLimits limits;
  EgressAllowed allowed;
  /// As they were last heard of; null: never yet. On any loop; must not block.
  std::function<std::shared_ptr<const EgressPlaces>()> places;
  std::function<upstream::Caller&(net::Loop&)> upstream; ///< as zood
  /// The kubelets of a cluster; called once for each door that opens, they go with it.
  std::function<std::unique_ptr<http::Service>(const std::shared_ptr<EgressRoom>& room)> kubelets;
  /// Does the upstream say that a pod of this cluster has the IP address? Such a one is reached,
  /// though it is of the upstream's pods. On the cluster's loop; must not block.
  std::function<bool(const DoorEntry& cluster, const std::string& address)> own_pod =
      [](const auto&, const auto&) { return false; };
  /// By path: "/services". One that ends with a slash serves all paths below it, and itself without
  /// the slash.
  std::map<std::string, InsideService> inside{};
};

/// The egress doors, one a cluster that is awake: the socket to which its API server sends all that
/// it asks of the outside. Opened and closed as the table says. One thread at a time, but for
/// counts().
class EgressDoors {
public:
  explicit EgressDoors(EgressParts parts);
  ~EgressDoors();
  EgressDoors(const EgressDoors&) = delete;

  /// A door that cannot be opened is logged, and tried again at the next call.
  void follow(const DoorTable& table);
  /// The cluster's certificates are there; `others`: not those of before, with which its door is
  /// opened anew.
  void furnished(const DoorTable& table, const std::string& id, bool others);
  void close(); ///< all of them, while the loops turn

  struct Count {
    std::size_t open = 0;
    std::uint64_t asked = 0, refused = 0;
  };
  std::map<std::string, Count> counts() const; ///< by ID

private:
  struct Open {
    DoorEntry entry;
    std::shared_ptr<const EgressTally> tally;
    std::unique_ptr<net::Listener> listener;
  };
  Result<Open> open(const DoorEntry& entry);

  const std::shared_ptr<const EgressParts> parts_;
  const std::shared_ptr<net::Resolver> names_;
  std::map<std::string, Open> open_; ///< by UID
};

/// Of a virtual cluster's API server to the outside, all together.
inline constexpr std::size_t k_egress_connections = 256;

} // namespace zoo::clusters
