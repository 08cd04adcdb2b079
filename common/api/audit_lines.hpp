// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::api {

/// Which lines of the audit log (docs/audit.md); what is empty asks nothing.
struct AuditQuery {
  std::string tenant, user, verb, decision;
  std::chrono::system_clock::time_point since{};
  std::optional<std::chrono::system_clock::time_point> until;
  std::size_t limit = 1000; ///< the newest so many
  bool denied = false;      ///< answered 401 or 403, or refused by zood (audit::denied())
};

/// Holds a line against a query, without parsing it: zood writes each member in one spelling.
/// Immutable.
class AuditFilter {
public:
  explicit AuditFilter(const AuditQuery& query);
  /// False too for what is no line of the audit log.
  bool operator()(std::string_view line) const;

private:
  std::string since_, until_;      ///< RFC 3339 without its zone
  std::vector<std::string> parts_; ///< each must be there
  bool denied_;
};

/// Is it JSON to its end? A crash or a full disk cuts lines off.
bool whole_line(std::string_view line);

} // namespace zoo::api
