// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/audit/entry.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/upstream/upstream.hpp"

#include <array>
#include <chrono>
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

/// When a request came out of each audit::Stage but the last.
class StageTimes {
public:
  using Clock = std::chrono::steady_clock;
  void left(audit::Stage stage) { ///< the first time counts
    auto& when = left_[static_cast<std::size_t>(stage)];
    if (when == Clock::time_point()) when = Clock::now();
  }
  /// How long each took, of one that began at `begun` and took `entry.took`. What it did not come
  /// out of is 0, and the last one has the rest.
  void measure(Clock::time_point begun, audit::Entry& entry) const;

private:
  std::array<Clock::time_point, audit::k_stages.size() - 1> left_{};
};

/// Who may not do what, and why.
struct Refusal {
  authz::Attributes attributes;
  authz::Decision decision;
};

/// What became of a request, for the audit log.
struct Outcome {
  int status = 0;
  std::size_t bytes = 0, bytes_in = 0;
  audit::Decision decision = audit::Decision::none;
  audit::Ending ending = audit::Ending::none; ///< of a watch, where it is more than its time
  audit::Encoding read_as = audit::Encoding::json, told_as = audit::Encoding::json; ///< bodies
  std::string reason;
};

} // namespace zoo::gateway
