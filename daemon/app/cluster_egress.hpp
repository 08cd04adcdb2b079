// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/config/config.hpp"
#include "daemon/app/address.hpp"
#include "daemon/clusters/egress.hpp"
#include "daemon/clusters/egress_places.hpp"
#include "daemon/clusters/services_inside.hpp"
#include "daemon/clusters/settings.hpp"
#include "daemon/clusters/sync/syncer.hpp"
#include "daemon/clusters/usage_inside.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/upstream.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace zoo::app {

/// What the egress doors of virtual clusters stand on. All of it outlives them.
struct ClusterEgressParts {
  const config::Values& values;
  upstream::Credential& credential;
  upstream::Upstream& upstream;
  const gateway::GatewayShared& gateway;
  net::Loops loops;
  Address advertise;
  const clusters::Settings& settings;
  const clusters::PublishedDoors& table;
  const clusters::sync::Syncer& syncer; ///< who knows which pods are whose
  clusters::AskAboutService review;     ///< what clusters' API servers ask about Services
  clusters::AskAboutUsage usage;        ///< and about what pods use
};

/// The egress doors, put together: the judge of addresses, and the gateway by which kubelets'
/// requests go upstream. Any thread.
class ClusterEgress {
public:
  /// Code::usage: clusters.egress_allow names what is no network and no host with a port.
  static Result<std::unique_ptr<ClusterEgress>> open(ClusterEgressParts parts);
  ~ClusterEgress();

  void start();
  void follow(); ///< the table is another one
  /// The cluster's certificates are there; `others`: not those of before.
  void furnished(const std::string& id, bool others);
  std::map<std::string, clusters::EgressDoors::Count> counts() const;
  void close(); ///< while the loops turn; nothing is opened after it

private:
  ClusterEgress(ClusterEgressParts parts, clusters::EgressAllowed allowed);

  const ClusterEgressParts parts_;
  clusters::PlacesKeeper places_;
  mutable std::mutex mutex_;
  bool closed_ = false; ///< under the mutex, as `doors_`
  clusters::EgressDoors doors_;
};

} // namespace zoo::app
