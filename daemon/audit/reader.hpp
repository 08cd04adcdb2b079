// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/audit/log.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace zoo::audit {

/// Which lines; what is empty asks nothing.
struct Query {
  std::string tenant, user, verb, decision;
  std::chrono::system_clock::time_point since{};
  std::optional<std::chrono::system_clock::time_point> until;
  std::size_t limit = 1000; ///< the newest so many
};

struct Found {
  std::vector<std::string> lines; ///< of JSON, oldest first
  bool more = false;              ///< there are older ones
};

/// Reads the files of a Log, the newest first, as far back as the question goes; a line that is
/// written meanwhile may be missing, and none comes twice. Blocking; memory for `limit` lines.
/// Code::io.
Result<Found> read(const Log& log, const Query& query);

} // namespace zoo::audit
