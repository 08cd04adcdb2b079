// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/keeper/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The control plane of one virtual cluster: which programs, with which flags. Pure.
namespace zoo::clusters {

/// Ports of a cluster's own address (docs/decisions/232-an-address-a-cluster.md).
inline constexpr std::uint16_t k_api_port = 26'443;
inline constexpr std::uint16_t k_etcd_port = 23'790;
inline constexpr std::uint16_t k_etcd_peer_port = 23'791;
inline constexpr std::uint16_t k_controllers_port = 20'257;
inline constexpr std::uint16_t k_scheduler_port = 20'259;

struct PlanInput {
  std::string id, version;
  std::string address;          ///< of loopback, its own
  std::string directory;        ///< absolute: of the cluster's files
  std::string service_range;    ///< ClusterIPs: "10.0.0.0/16"
  std::string node_ports;       ///< "30000-32767"
  std::uint64_t memory = 0;     ///< bytes that the programs together may have
  std::uint64_t etcd_quota = 0; ///< bytes of etcd's database; 0: as etcd has it
  unsigned weight = 100;        ///< spec.weight
  /// Place::authority_turn: programs that read once which authorities they trust are started anew
  /// with another one.
  std::uint32_t authority_turn = 0;
  std::uint32_t number = 0; ///< Place::number
  bool run = true;
  /// Else etcd and kube-apiserver alone: kube-controller-manager ends at once where its rights are
  /// not there yet, which kube-apiserver makes while it already listens.
  bool whole = true;
};
keeper::Plan plan_for(const PlanInput& input);

/// Ports at which that program listens, at the cluster's address; "": all of a cluster's.
std::vector<std::uint16_t> ports_of(std::string_view component);

/// kube-apiserver's connections to the outside (nodes, webhooks, aggregated API servers) go to this
/// socket of the directory in which it works and to no other place
/// (docs/decisions/270-the-way-out-is-judged.md).
std::string egress_configuration();

/// A range of IPv4 addresses of loopback: "127.64.0.0/16".
struct AddressRange {
  std::uint32_t first = 0; ///< the network's own address, which is never given out
  std::uint32_t size = 0;
  std::string text(std::uint32_t number) const; ///< the address with that number, from 1 on
};
/// Code::usage for anything but a network of 127.0.0.0/8 with at least 4 addresses.
Result<AddressRange> parse_addresses(std::string_view text);

/// Is there a user for each of these addresses from clusters.uid_base on? 0: none is asked for.
/// Code::usage.
Result<void> check_uid_base(std::uint64_t base, const AddressRange& addresses);

/// "7500-8499". Code::usage, which names `key` of zood.yaml.
struct PortRange {
  std::uint16_t first = 0, last = 0;
};
Result<PortRange> parse_ports(std::string_view key, std::string_view text);

/// The version that a cluster gets: `wanted`, or for "" the newest of those that are there.
/// Code::not_found with what there is.
Result<std::string> choose_version(std::string_view wanted,
                                   const std::vector<std::string>& present);
/// By numbers: "1.9.0" is older than "1.36.3".
bool older_version(std::string_view a, std::string_view b);

} // namespace zoo::clusters
