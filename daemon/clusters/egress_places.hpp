// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace zoo::clusters {

/// Where the upstream and zood are, as texts: addresses, networks, names.
struct PlaceTexts {
  std::vector<std::string> advertised, upstream, services, pods, names;
};
/// Texts that are no networks are left out. Pure.
EgressPlaces places_of(const PlaceTexts& texts);
/// Adds what a list of Nodes says: their addresses, and the networks of their pods. Pure.
void add_nodes(const nlohmann::json& list, PlaceTexts& texts);
/// Adds the addresses of an EndpointSlice: those of Service default/kubernetes. Pure.
void add_slice(const nlohmann::json& slice, PlaceTexts& texts);
/// Adds the ranges of a list of ServiceCIDRs. Pure.
void add_ranges(const nlohmann::json& list, PlaceTexts& texts);

/// Keeps what is the upstream's, which no virtual cluster's API server is connected to: asks it for
/// its nodes, its API servers and its Services' ranges, every five minutes. Thread "egress-places".
class PlacesKeeper {
public:
  struct Parts {
    PlaceTexts known; ///< what needs not be asked for
    std::string host; ///< of the upstream's API, a name or an address
    /// The upstream as zood.
    std::function<std::unique_ptr<upstream::ControlApi>()> connect;
  };
  explicit PlacesKeeper(Parts parts) : parts_(std::move(parts)) {}
  ~PlacesKeeper() { stop(); }
  PlacesKeeper(const PlacesKeeper&) = delete;

  void start();
  void stop(); ///< waits for a question that is on its way
  /// Null until the upstream has answered once. Any thread.
  std::shared_ptr<const EgressPlaces> now() const { return now_.load(); }

private:
  void run(const std::stop_token& stop);
  Result<EgressPlaces> read() const;

  const Parts parts_;
  Published<const EgressPlaces> now_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

} // namespace zoo::clusters
