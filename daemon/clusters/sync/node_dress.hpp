// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/quantity.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

/// Nodes of a virtual cluster: those of the upstream that it was given, by name, and its share of
/// the upstream as a node. Pure.
namespace zoo::clusters::sync {

/// The label of each Node that zood keeps in a cluster: "named" or "share".
inline constexpr const char* k_node_label = "virtual-cluster/node";
/// Stands on a Node that leaves the cluster: since when.
inline constexpr const char* k_leaving_annotation = "virtual-cluster/leaving-since";
/// Pods that a share has room for where it does not say.
inline constexpr std::int64_t k_share_pods = 500;

using Capacity = std::map<std::string, kube::Quantity>;

/// The capacity of a share: what was promoted, and "pods".
Capacity share_capacity(const Capacity& promoted);
/// The names of the nodes as which a share is shown: the cluster's, or "<cluster>-0" and so on.
std::vector<std::string> share_nodes(const std::string& cluster, unsigned count);
/// What of a share_capacity() the node of that number has: all have as much, in whole units (of
/// cpu: thousandths), and the first one the rest.
Capacity share_part(const Capacity& capacity, unsigned count, unsigned number);

/// `host`: the node upstream. `allocatable`: what of it the cluster's pods may have.
nlohmann::json named_node(const nlohmann::json& host, const Capacity& allocatable);
/// The node of the same name when there is none upstream: it is not ready, and says so.
nlohmann::json lost_node(const std::string& name);
/// `capacity`: a share_capacity(), or a part of it.
nlohmann::json share_node(const std::string& name, const Capacity& capacity,
                          const std::string& version);

/// What the pods of a cluster may have of a host: what is allocatable there and nobody else's pods
/// ask for; of what a share limits, no more than they have there and is left of the share.
Capacity room_on(const nlohmann::json& host, const Capacity& of_others, const Capacity& here,
                 const Capacity& share_left);

/// `current`, the Node in the cluster, as `wanted` has it: labels, annotations and taints of others
/// stay, and a cordon of theirs; what came from the host, and is not there any more, goes. Of a
/// Node that was leaving the mark and zood's cordon go. Equal to `current` where nothing is to be
/// written. Status apart.
nlohmann::json kept_node(const nlohmann::json& current, const nlohmann::json& wanted);
/// The same of its status, as a merge patch; null where nothing is to be written. Times of
/// conditions whose status stays do not move.
nlohmann::json status_change(const nlohmann::json& current, const nlohmann::json& wanted);

} // namespace zoo::clusters::sync
