// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/authorities.hpp"
#include "daemon/clusters/settings.hpp"
#include "daemon/resources/kind.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zoo::clusters {

/// What the row asks of the controller. Any thread; each may block.
struct KindParts {
  std::shared_ptr<resources::Backing> backing;
  /// Adds spec.kubeconfig and how the processes are to an object that is shown alone.
  std::function<void(nlohmann::json& object, std::vector<std::string>& warnings)> decorate;
  std::function<Result<nlohmann::json>(const std::string& key)> certificates;
  /// `revoke`: the administrator's credentials until now are refused from then on.
  std::function<Result<nlohmann::json>(const std::string& key, bool revoke)> renew;
  /// Of one authority following another.
  std::function<Result<nlohmann::json>(const std::string& key, AuthorityStage stage)>
      turn_authority;
  /// What came behind that position of a component's log; without one, its last lines.
  std::function<Result<FilePart>(const std::string& key, const std::string& component,
                                 std::size_t lines, std::optional<std::uint64_t> from)>
      log_part;
  std::function<void(const std::string& key)> wake; ///< one that sleeps is to be started
};

/// VirtualCluster of kosmos.io/v1alpha1, namespaced.
resources::KindPtr cluster_kind(KindParts parts);

/// Takes out of an object that somebody wrote what is zood's: spec.kubeconfig, also where kubectl
/// remembers what it applied.
void scrub_kubeconfig(nlohmann::json& object);

} // namespace zoo::clusters
