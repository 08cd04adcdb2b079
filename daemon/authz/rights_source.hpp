// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/rights.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Caller;
class Upstream;
} // namespace zoo::upstream

namespace zoo::authz {

/// Follows the four RBAC kinds of the upstream and keeps a RightsTable by them. Objects in
/// tenants' namespaces are left out: they are inert upstream (DESIGN 8). On one loop; no thread
/// safety.
class RightsSource {
public:
  /// `changed` is called on the loop, never from inside start(), when take() has something new:
  /// objects, a revision, or whether all is known. The caller gathers.
  /// `most_bytes`: of RBAC objects as JSON; above it trouble() says so until there are fewer
  /// (key accounts.rbac_limit, docs/limits.md).
  RightsSource(upstream::Upstream& upstream, upstream::Caller& caller, net::Loop& loop,
               std::size_t most_bytes, std::function<void()> changed);
  ~RightsSource();
  RightsSource(const RightsSource&) = delete;
  RightsSource& operator=(const RightsSource&) = delete;

  void start();

  /// What is there now, and what has changed since the last take().
  RightsTable::Published take();
  /// The newest resourceVersion that any of the four streams has told; 0 before the first.
  std::int64_t revision() const;
  /// Why take() is not to be believed: not read yet, a stream that has been silent or cut off for
  /// longer than 5 s, too many bytes. Code::unavailable. Nothing: it is.
  std::optional<Error> trouble() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::authz
