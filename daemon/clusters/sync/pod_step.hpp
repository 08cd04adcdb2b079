// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/tenants/footprint.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What is to be done next about one pod of a cluster. Pure.
namespace zoo::clusters::sync {

/// The pod in the cluster, as its API server has it.
struct PodHere {
  std::string uid, hash; ///< of Dressed
  bool leaving = false;  ///< it has a deletionTimestamp
  bool ran = false;      ///< it has been seen upstream: only kubelets set status.startTime
  bool bound = true;     ///< to a node that zood keeps in the cluster
  bool ended = false;    ///< Succeeded or Failed
  bool tokens = false;   ///< it is to have some (pod_tokens.hpp)
  /// It is Failed since upstream had no room for it: it stays so, and upstream is to have none.
  bool given_up = false;
  /// Its node was taken from the cluster, and the time to leave it is over: upstream is to have
  /// none, whatever the cluster says.
  bool stranded = false;
};

/// The pod of that name upstream.
struct PodThere {
  std::string uid;   ///< upstream's
  std::string owner; ///< whose it is: the UID in the cluster; "": zood has not made it
  std::string hash;  ///< of what was wished when it was written
  bool leaving = false;
  bool ended = false;        ///< Succeeded or Failed
  std::uint64_t version = 0; ///< its resourceVersion: of two that were read, which is the later
  /// At which it is reached, as upstream says: none of one that has ended, or has its node's.
  std::vector<std::string> addresses{};
  /// Since when upstream's scheduler finds no node for it, in Unix seconds; 0: it has one, or was
  /// not looked at yet.
  std::int64_t waits_since = 0;
  std::string lacks{}; ///< the resource of which no node has enough: "cpu"; "": it is another thing
  /// Seconds that it has to end: its own, or those that it was given when it was deleted.
  std::int64_t grace = 30;
};

/// What upstream runs of a pod that the cluster has no more, or on a node that it has no more, has
/// so many seconds to end at most, whatever its own grace is.
inline constexpr std::int64_t k_longest_grace = tenants::k_longest_pod_grace;

enum class PodStep : std::uint8_t {
  nothing,
  create,  ///< upstream
  change,  ///< upstream: what may be changed there
  stop,    ///< upstream's, since the cluster's goes or is gone
  replace, ///< upstream's is of an earlier pod of this name: it goes first
  evict,   ///< the cluster's, since upstream's goes
  finish,  ///< the cluster's is over: upstream has none of it
  foreign, ///< somebody else has a pod of this name upstream, which stays
};
std::string_view step_name(PodStep step);

/// `was_there`: upstream had the cluster's pod since zood knows of it.
PodStep next_step(const std::optional<PodHere>& here, const std::optional<PodThere>& there,
                  bool was_there);

} // namespace zoo::clusters::sync
