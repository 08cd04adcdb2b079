// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/networks.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

/// Where the API server of a virtual cluster may be connected to. Who is cluster-admin there says
/// where it wants to go, and zood's machine is not his. Pure.
namespace zoo::clusters {

/// The name behind which zood itself answers.
inline constexpr std::string_view k_inside_name = "zood.internal";
inline constexpr std::uint16_t k_inside_port = 443;
/// The Service of a cluster, in namespace kube-system, behind which its aggregation layer finds
/// zood for the usage of pods (sync/usage_api.hpp). It is another name for k_inside_name, which
/// nobody but the cluster's API server can reach; the syncer does not copy it.
inline constexpr std::string_view k_usage_service = "zoo-metrics";
/// By this name the API server verifies whom it finds there.
inline constexpr std::string_view k_usage_host = "zoo-metrics.kube-system.svc";
inline constexpr std::uint16_t k_kubelet_port = 10'250;

/// clusters.egress_allow: what an administrator of zood has opened. A value.
struct EgressAllowed {
  net::Networks networks;
  std::set<std::string, std::less<>> targets; ///< "hooks.example.com:8443", in lower case
};
/// Each is a network, an address, or a host (a name, or an address) and a port. Code::usage names
/// the first that is none.
Result<EgressAllowed> parse_egress_allow(std::span<const std::string> texts);

/// What nobody is connected to, of zood and of this upstream, beside what never leads anywhere
/// else. A value.
struct EgressPlaces {
  net::Networks advertised;                 ///< where clients find zood
  net::Networks upstream;                   ///< its API servers and nodes
  net::Networks services;                   ///< ClusterIPs
  net::Networks pods;                       ///< the upstream's pods, whosever they are
  std::set<std::string, std::less<>> names; ///< of zood and of the upstream's API servers
};

/// May the name be looked up? Code::forbidden, in a sentence.
Result<void> judge_name(std::string_view host, const EgressPlaces& places);
/// May one be connected to this address, which is what will be dialled? `machine`: the addresses of
/// this one, now. Code::forbidden, in a sentence that names it.
Result<void> judge_address(const net::Address& address, const EgressAllowed& allowed,
                           const EgressPlaces& places, const net::Networks& machine);

} // namespace zoo::clusters
