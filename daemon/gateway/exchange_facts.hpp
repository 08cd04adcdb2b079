// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/audit/entry.hpp"
#include "daemon/upstream/upstream.hpp"

#include <cstddef>
#include <string>

namespace zoo::translate {
struct KindFacts;
}

namespace zoo::gateway {

/// What the request is for, as upstream serves it and the tenant may see it.
struct Resource {
  upstream::CatalogPtr catalog; ///< null once a long-running flow has begun
  bool namespaced = false;
  bool own_group = false;       ///< a custom group of the tenant's own
  std::string kind, kind_group; ///< of the objects that travel; in the tenant's names
  const translate::KindFacts* facts = nullptr;
};

/// What became of a request, for the audit log.
struct Outcome {
  int status = 0;
  std::size_t bytes = 0, bytes_in = 0;
  audit::Decision decision = audit::Decision::none;
  std::string reason;
};

} // namespace zoo::gateway
