// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/quantity.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// VirtualCluster of kosmos.io/v1alpha1, namespaced: a control plane of its own. What zooctl and
/// zood both know of its fields.
namespace zoo::api {

inline constexpr std::string_view k_cluster_group = "kosmos.io";
inline constexpr std::string_view k_cluster_version = "v1alpha1";
inline constexpr std::string_view k_cluster_api_version = "kosmos.io/v1alpha1";
inline constexpr std::string_view k_cluster_resource = "virtualclusters";
inline constexpr std::string_view k_cluster_kind = "VirtualCluster";

/// Values of status.phase. "" is one that nobody has looked at yet.
namespace cluster_phase {
inline constexpr std::string_view k_preparing = "Preparing";
inline constexpr std::string_view k_initialized = "Initialized"; ///< it stays so
inline constexpr std::string_view k_pending = "Pending";         ///< it is tried again
inline constexpr std::string_view k_paused = "Paused";
inline constexpr std::string_view k_deleting = "Deleting";
} // namespace cluster_phase

/// spec of a VirtualCluster, judged.
struct ClusterSpec {
  std::vector<std::string> nodes;                  ///< each once
  std::map<std::string, kube::Quantity> resources; ///< the share, by name
  /// As how many nodes the share is shown, where it has no nodes by name.
  unsigned virtual_nodes = 1;
  bool exclusive = false; ///< its nodes are no other cluster's
  unsigned weight = 100;  ///< of its turns at the syncer; twice as much, twice as many
  bool dns = true;        ///< zood runs CoreDNS in it
  /// How many Services and nodePorts it may have upstream; nothing: as zood.yaml says.
  std::optional<unsigned> services, node_ports;
  bool disruption_budgets = false; ///< its PodDisruptionBudgets are upstream, too
  std::string version;             ///< of Kubernetes, without a "v"; "": zood's choice
  bool paused = false;
  std::chrono::milliseconds sleep_after{0}; ///< 0: never
  std::vector<std::string> extra_sans;      ///< names and addresses, spec.externalIP among them
  /// Does it ask for anything of the upstream?
  bool promotes() const { return !nodes.empty() || !resources.empty(); }
  /// Fields of Kosmos' type that are kept and have no meaning here.
  std::vector<std::string> unused;
};

/// Code::invalid with the field first ("spec.version must ...").
Result<ClusterSpec> cluster_spec(const nlohmann::json& object);

} // namespace zoo::api
