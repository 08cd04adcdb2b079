// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <span>
#include <string>
#include <string_view>

/// From where pods of tenants are reached whose networks are kept apart: the entries of
/// `guards.network_from` in zood.yaml and of `spec.guards.networkFrom` of a Tenant. Pure.
namespace zoo::api {

/// The words of `guards.network`.
inline constexpr std::string_view k_open = "open", k_isolated = "isolated";
inline constexpr std::size_t k_most_network_peers = 100; ///< entries of one list

/// Either addresses or namespaces: one of `cidr` and `label` is "".
struct NetworkPeer {
  std::string cidr;         ///< "10.0.0.0/8", "fd00::/8"
  std::string label, value; ///< of namespaces: "kubernetes.io/metadata.name", "ingress-nginx"
};

/// An entry is a CIDR, or LABEL=VALUE. Code::invalid, with what it is and what it may be; also for
/// the label of tenants, which would let another tenant in.
Result<NetworkPeer> network_peer(std::string_view text);

/// All of a list: Code::invalid for the first that is wrong, or for too many of them.
Result<void> check_network_peers(std::span<const std::string> all);

} // namespace zoo::api
