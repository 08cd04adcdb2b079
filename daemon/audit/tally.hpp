// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/histogram.hpp"
#include "daemon/audit/entry.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zoo::audit {

/// How many requests are over, by door, verb, code and decision, and how long they took: what
/// /metrics says of them. Counts whatever the level of the audit log. Of a fixed size: no tenant,
/// no name and no path is a label. Any thread, no lock.
class Tally {
public:
  static constexpr unsigned k_sampled = 16; ///< one of so many requests is looked at in its stages
  void add(const Entry& entry);
  void write(MetricText& out) const; ///< what was never counted is left out

  static constexpr std::array<std::string_view, 9> k_verbs = {
      "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "other"};
  /// By Ending, but for `none`.
  static constexpr std::array<std::string_view, 7> k_endings = {
      "done", "leaving", "expired", "withdrawn", "unread", "client", "broken"};
  static constexpr std::array<std::string_view, 3> k_encodings = {"json", "protobuf",
                                                                  "yaml"}; ///< by Encoding
  /// As Entry::door names them.
  static constexpr std::array<std::string_view, 4> k_doors = {"tenants", "admin", "accounts",
                                                              "aggregated"};

private:
  using Count = std::atomic<std::uint64_t>;
  static constexpr std::size_t k_codes = 600; ///< beyond it: 0
  struct Door {
    std::array<std::array<Count, k_codes>, k_verbs.size()> codes{};
    std::array<Histogram, k_verbs.size()> times{};
    std::array<Count, 4> decisions{}; ///< by Decision
    Count bytes_in{0}, bytes_out{0};
  };
  std::array<Door, k_doors.size()> doors_{};
  std::array<Histogram, k_stages.size()> stages_{};
  std::array<Count, k_endings.size()> endings_{};
  std::array<Count, k_encodings.size()> read_{}, told_{}; ///< bytes that were translated
};

} // namespace zoo::audit
