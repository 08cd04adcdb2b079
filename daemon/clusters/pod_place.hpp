// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters {

/// Where a pod of a virtual cluster is, and what its containers are called there.
struct PodPlace {
  std::string node;                    ///< of the cluster
  std::vector<std::string> containers; ///< others were added upstream, and are not shown
};

/// Of the pod "namespace/name" of the cluster; nothing: the cluster has none of this name upstream.
using FindPlace = std::function<std::optional<PodPlace>(const std::string& pod)>;

} // namespace zoo::clusters
