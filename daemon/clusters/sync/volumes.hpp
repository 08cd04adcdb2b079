// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/sync_room.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// PersistentVolumes of a cluster's claims: upstream's provisioners make them there, and the
/// cluster has one of the same name that says how large it is and on which nodes it can be used.
/// Upstream deletes the real one; the cluster's goes behind it.
namespace zoo::clusters::sync {

/// On each PersistentVolume in a cluster that is the upstream's.
inline constexpr const char* k_volume_label = "virtual-cluster/of-upstream";

/// The cluster's, of upstream's and of the claim in the cluster. Where its data is stays
/// upstream's: nobody in the cluster mounts it. `named_node`: the cluster has Nodes of upstream's
/// names, to which the volume may be bound; a share is a Node without any label of its hosts. Pure.
nlohmann::json shown_volume(const nlohmann::json& upstream, const nlohmann::json& claim,
                            bool named_node);

// Rows of the table of kinds for PersistentVolumeClaims (mirror_kind.hpp). Pure.

/// What the cluster's scheduler has chosen, but a node that the cluster has by name, or zood has
/// shown there, is no wish.
Result<void> dress_claim(nlohmann::json& object, const MirrorTerms& terms);
/// Of a claim that is there nothing can be changed but how much it asks for.
void keep_claim(nlohmann::json& next, const nlohmann::json& there);
nlohmann::json shown_claim(const nlohmann::json& own, const nlohmann::json& there);
nlohmann::json shown_claim_status(const nlohmann::json& own, const nlohmann::json& there);

/// Makes the volume of a claim in the cluster before the claim is said to be bound to it. `there`:
/// upstream's claim. Blocking.
Result<void> keep_volume(const SyncRoom& room, const nlohmann::json& claim,
                         const nlohmann::json& there);
/// Takes those away in the cluster whose claim has gone there, and that are no more upstream: those
/// behind the name `swept`, which is where the next call goes on; "" when all were looked at.
/// Blocking.
Result<void> sweep_volumes(const SyncRoom& room, std::string& swept);

} // namespace zoo::clusters::sync
