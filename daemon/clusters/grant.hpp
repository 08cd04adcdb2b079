// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters {

/// Which nodes of the upstream a cluster has. Place::nodes keeps it, so that what one has alone
/// stays so however often zood ends. A value.
struct Grant {
  std::vector<std::string> nodes; ///< of those that it asks for, in that order
  bool exclusive = false;         ///< they are its alone
  /// The first node that the cluster asks for and cannot have, or cannot have alone, and the
  /// cluster that has it.
  struct Contest {
    std::string node, holder; ///< holder: "<namespace>/<name>"
    bool exclusive = false;   ///< the holder has it alone
  };
  std::optional<Contest> contest;
};

/// The cluster that asks first for a node gets it. A node that another cluster has alone is not
/// given to this one; a node that another cluster has is not given to this one alone. A cluster
/// keeps the nodes that it has.
/// `all`: every record there is. Pure.
Grant grant_nodes(const Record& record, const std::vector<std::string>& wanted, bool exclusive,
                  const std::vector<Record>& all);

} // namespace zoo::clusters
