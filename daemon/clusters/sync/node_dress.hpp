// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/quantity.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

/// Nodes of a virtual cluster: those of the upstream that it was given, by name, and its share of
/// the upstream as a node. Pure.
namespace zoo::clusters::sync {

/// The label of each Node that zood keeps in a cluster: "named" or "share".
inline constexpr const char* k_node_label = "virtual-cluster/node";
/// Pods that a share has room for where it does not say.
inline constexpr std::int64_t k_share_pods = 500;

using Capacity = std::map<std::string, kube::Quantity>;

/// The capacity of a share: what was promoted, and "pods".
Capacity share_capacity(const Capacity& promoted);

/// `host`: the node upstream. `allocatable`: what of it the cluster's pods may have.
nlohmann::json named_node(const nlohmann::json& host, const Capacity& allocatable);
/// The node of the same name when there is none upstream: it is not ready, and says so.
nlohmann::json lost_node(const std::string& name);
nlohmann::json share_node(const std::string& name, const Capacity& share,
                          const std::string& version);

/// What the pods of a cluster may have of a host: what is allocatable there and nobody else's pods
/// ask for; of what a share limits, no more than they have there and is left of the share.
Capacity room_on(const nlohmann::json& host, const Capacity& of_others, const Capacity& here,
                 const Capacity& share_left);

/// `current`, the Node in the cluster, as `wanted` has it: labels and annotations of others stay,
/// as do the taints that the cluster's own controllers put there. Equal to `current` where nothing
/// is to be written. Status apart.
nlohmann::json kept_node(const nlohmann::json& current, const nlohmann::json& wanted);
/// The same of its status, as a merge patch; null where nothing is to be written. Times of
/// conditions whose status stays do not move.
nlohmann::json status_change(const nlohmann::json& current, const nlohmann::json& wanted);

} // namespace zoo::clusters::sync
