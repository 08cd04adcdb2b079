// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What a pod of a virtual cluster says of how it is, taken from upstream's. Pure.
namespace zoo::clusters::sync {

/// What of the cluster's pod a status depends on. Small: there is one a pod.
struct StatusTerms {
  std::string uid;
  std::int64_t generation = 0;
  std::vector<std::string> containers; ///< all three sorts; others upstream has added
  std::vector<std::string> gates;      ///< conditions of readiness gates: the cluster's own
};
StatusTerms status_terms(const nlohmann::json& cluster_pod);

/// What of a pod shown_status() looks at, with what names it: the rest need not be brought into
/// another one's names.
nlohmann::json status_alone(const nlohmann::json& pod);

/// The status that the cluster's pod is to show, of upstream's in the cluster's names. Left out are
/// what is another thing there (qosClass, claims, nominated nodes, conditions of readiness gates)
/// and that upstream's scheduler has not found a node yet, since the cluster's has. Of the
/// cluster's own pod: what it shows now, in the same form.
nlohmann::json shown_status(const nlohmann::json& pod, const StatusTerms& terms);

/// Does a status of upstream's, as shown_status() has it, say no more than what the cluster knows
/// of a pod that has a node: that it is pending, and was given one?
bool says_nothing(const nlohmann::json& shown);

/// With what the reason of a pod begins that is Failed since upstream has no room for it; the
/// resource is behind it, as kubelets have it: OutOfcpu.
inline constexpr const char* k_no_room_reason = "OutOf";
/// The resource of which no node has enough, by the words of a PodScheduled condition ("0/3 nodes
/// are available: 3 Insufficient cpu. ..."); "": it is another thing that is in the way.
std::string lacking(std::string_view message);

/// A strategic merge patch of pods/status by which `shown` is said of the pod with that UID, and of
/// no other: upstream refuses another one's with 422. What is not in `shown` any more is taken
/// away; conditions of others stay.
nlohmann::json status_patch(const nlohmann::json& shown, const StatusTerms& terms);

/// To tell whether two are the same.
std::uint64_t fingerprint(const nlohmann::json& value);

} // namespace zoo::clusters::sync
