// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::clusters {

/// What the doors know of a cluster. A value.
struct DoorEntry {
  /// open: connections go through. asleep: one wakes it, and waits. starting: they wait. closed:
  /// they are refused.
  enum class State { open, starting, asleep, closed };
  std::string id, key, uid;
  std::string address;    ///< of its kube-apiserver, of loopback; the port is k_api_port
  std::uint16_t port = 0; ///< its direct door; 0: none yet
  State state = State::closed;
  bool operator==(const DoorEntry&) const = default;
};

/// All clusters by ID: made by the controller, read by the loops.
struct DoorTable {
  std::map<std::string, DoorEntry, std::less<>> clusters;
  const DoorEntry* find(std::string_view id) const {
    const auto found = clusters.find(id);
    return found == clusters.end() ? nullptr : &found->second;
  }
};
using PublishedDoors = Published<const DoorTable>;

} // namespace zoo::clusters
