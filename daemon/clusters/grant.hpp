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
  /// A node that it asks for and does not have as it asks for it, and who has it.
  struct Contest {
    std::string node, holder; ///< holder: "<namespace>/<name>"
    bool exclusive = false;   ///< the holder has it alone
  };
  std::optional<Contest> contest;
};

/// A node goes to whoever asks first: one that another cluster has alone is not given, nor is one
/// that another cluster has given to a cluster that wants it alone. What a cluster has it keeps.
/// `all`: every record there is. Pure.
Grant grant_nodes(const Record& record, const std::vector<std::string>& wanted, bool exclusive,
                  const std::vector<Record>& all);

} // namespace zoo::clusters
