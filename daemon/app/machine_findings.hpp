// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/control_api.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace zoo::app {

/// What `zooctl doctor` looks at beside tenants and what is kept upstream: the machine that zood
/// runs on, the upstream's clock and version, and whether clients find the door.
struct MachineParts {
  std::filesystem::path directory; ///< zood's
  store::Store& store;
  upstream::ControlApi& upstream;
  std::size_t files_wanted = 0; ///< open files (settings.hpp)
  std::string advertise;        ///< "https://HOST:PORT"
  std::string authorities;      ///< that kubeconfigs trust, as PEM
};

/// Blocks for some seconds at most where something does not answer. Writes one record of the store,
/// to see how long that takes.
std::vector<tenants::Finding> machine_findings(const MachineParts& parts);

} // namespace zoo::app
