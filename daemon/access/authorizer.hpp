// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/access/principal.hpp"
#include "daemon/authz/policy_store.hpp"

#include <functional>
#include <optional>
#include <string>

namespace zoo::access {

using authz::Attributes;
using authz::Decision;

/// Decides whether somebody may do something, by the rights of his own view. The gateway asks it
/// for each request, and access reviews are answered by it. An answer comes by callback on the
/// caller's loop, possibly before the call returns. Code::unavailable, with the reason, where the
/// rights are not known: nobody is let through then. Belongs to one loop.
class Authorizer {
public:
  virtual ~Authorizer() = default;
  virtual void authorize(const Principal& subject, const Attributes& attributes,
                         std::function<void(Result<Decision>)> done) const = 0;
  /// The decision, if it is known without asking anybody; none: call authorize().
  virtual std::optional<Decision> decide_now(const Principal& subject,
                                             const Attributes& attributes) const = 0;
  /// All rules that hold for the subject in a namespace.
  virtual void rules(const Principal& subject, const std::string& name_space,
                     std::function<void(Result<authz::Policy::Rules>)> done) const = 0;
  /// The policy itself: it fills aggregated roles, and tells whether a write would grant too much.
  virtual void policy(std::function<void(Result<authz::PolicyPtr>)> done) const = 0;
  /// The policy as it is known at the moment; null if nothing is known.
  virtual authz::PolicyPtr known() const = 0;
  /// Is he a member of a group that may do everything inside the view, whatever its RBAC says?
  virtual bool super_user(const Principal& subject) const = 0;
};

} // namespace zoo::access
