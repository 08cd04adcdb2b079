// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/audit_lines.hpp"
#include "common/base/result.hpp"
#include "daemon/audit/log.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace zoo::audit {

using Query = api::AuditQuery;

struct Found {
  std::vector<std::string> lines; ///< of JSON, oldest first
  bool more = false;              ///< there are older ones
  std::size_t torn = 0;           ///< lines left out that a crash or a full disk cut off
};

/// Reads the files of a Log, the newest first, as far back as the question goes; a line that is
/// written meanwhile may be missing, and none comes twice. Blocking; memory for `limit` lines.
/// Code::io.
Result<Found> read(const Log& log, const Query& query);

} // namespace zoo::audit
