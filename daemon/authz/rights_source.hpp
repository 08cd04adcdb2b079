// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/namespace_budget.hpp"
#include "daemon/authz/rights.hpp"

#include <chrono>
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

/// Of RBAC objects as JSON. What is more than that of one namespace is left out, and the rights
/// that it gives are not known; above the limit of all, trouble() says so until there are fewer
/// (key accounts.rbac_limit, docs/limits.md).
struct RightsLimits {
  std::size_t bytes;
  std::size_t of_namespace;
};

/// Follows the four RBAC kinds of the upstream and keeps a RightsTable by them. Tenants' objects
/// are left out: roles and bindings in their inert form grant nothing upstream (DESIGN 8), and the
/// binding `zoo-tenant` concerns none but tenants' users. On one loop; no thread safety.
class RightsSource {
public:
  /// `changed` is called on the loop, never from inside start(), when take() has something new:
  /// objects, a revision, or whether all is known. The caller gathers.
  /// `believed`: for how long without hearing of a kind.
  RightsSource(upstream::Upstream& upstream, upstream::Caller& caller, net::Loop& loop,
               RightsLimits limits, std::function<void()> changed,
               std::chrono::milliseconds believed = std::chrono::seconds(5));
  ~RightsSource();
  RightsSource(const RightsSource&) = delete;
  RightsSource& operator=(const RightsSource&) = delete;

  void start();

  /// What is there now, and what has changed since the last take().
  RightsTable::Published take();
  /// Namespaces whose roles and bindings are more than one namespace may have.
  NamespaceBudget::Crowded crowded() const;
  /// Namespaces in which everybody's rights change too often (OpenNamespaces).
  std::size_t restless() const;
  /// The newest resourceVersion that any of the four streams has told; 0 before the first.
  std::int64_t revision() const;
  /// Why take() is not to be believed: not read yet, a watch that has been cut off for longer than
  /// `believed`, too many bytes. Code::unavailable. Nothing: it is. A way upstream that has died
  /// without a word is found after ChangeFollower's silence.
  std::optional<Error> trouble() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::authz
