// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/control_api.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace zoo::app {

/// What `zooctl doctor` looks at beside tenants and what is kept upstream: the machine that zood
/// runs on, the upstream's clock, version and shares, and whether clients find the door.
struct MachineParts {
  std::filesystem::path directory; ///< zood's
  store::Store& store;
  upstream::ControlApi& upstream;
  upstream::ActingApi& acting;  ///< for what is asked as a tenant's user would
  std::size_t files_wanted = 0; ///< open files (settings.hpp)
  std::string advertise;        ///< "https://HOST:PORT"
  std::string authorities;      ///< that kubeconfigs trust, as PEM
};

/// Does the upstream count requests of tenants, and zood's own, against the shares that zood has
/// installed for them (FlowSchemas zoo-tenants and zoo-system)? Nothing where that is not known, or
/// one of these is missing, which another check says. Blocks.
/// https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
std::optional<tenants::Finding> fairness_finding(upstream::ControlApi& as_zood,
                                                 upstream::ActingApi& as_tenant);

/// Do all services answer that other API servers register upstream (APIServices)? While one does
/// not, the upstream deletes no namespace. Without zood's own, of which another check speaks.
/// Nothing where that is not known. Blocks.
std::optional<tenants::Finding> services_finding(upstream::ControlApi& as_zood);

/// Blocks for some seconds at most where something does not answer. Writes one record of the store,
/// to see how long that takes.
std::vector<tenants::Finding> machine_findings(const MachineParts& parts);

} // namespace zoo::app
