// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/clusters/look_pace.hpp"
#include "daemon/net/address.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters {

/// A Service of a virtual cluster, at one of its ports. A value.
struct ServicePort {
  std::string name_space, name;
  std::string port; ///< the port's name; "": it has none
};
/// Of a list of Services with one address, the first one's; nothing if the list is empty, or it has
/// no such port of TCP. Pure.
std::optional<ServicePort> service_port(const nlohmann::json& list, std::uint16_t port);
/// Where that port leads, by a list of the Service's EndpointSlices: those that are ready, 16 at
/// most. Pure.
std::vector<net::Address> ready_endpoints(const nlohmann::json& list, const std::string& port);

/// Why none is looked at.
inline constexpr const char* k_large_services =
    "Services of this virtual cluster that are looked at are large; try again";

/// Where ClusterIPs of one virtual cluster lead, as its API server says when they are asked for. On
/// its loop.
class ClusterServices {
public:
  /// Nothing: the cluster has no Service with that address and port. An error: the API server of
  /// the cluster does not say.
  using Done = std::function<void(Result<std::optional<std::vector<net::Address>>>)>;

  /// `api`: of the cluster, as zood; `pace`: told what answers cost, and asked by who calls find().
  /// Both outlive this.
  ClusterServices(upstream::Caller& api, LookPace& pace) : api_(api), pace_(pace) {}

  /// `address`: as net::canonical_ip() has it. `done` comes once, not from inside this call, unless
  /// what is returned is destroyed before.
  std::shared_ptr<void> find(const std::string& address, std::uint16_t port, Done done);

  static constexpr std::size_t k_most = 16;               ///< endpoints that are tried
  static constexpr std::size_t k_answer_bytes = 2u << 20; ///< of each of the two questions

private:
  upstream::Caller& api_;
  LookPace& pace_;
};

} // namespace zoo::clusters
