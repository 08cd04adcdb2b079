// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/policy_store.hpp"
#include "daemon/gateway/view.hpp"
#include "daemon/translate/mapping.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::gateway {

using authz::Attributes;
using authz::Decision;

/// Decides by the tenant's own rights. May suspend: every answer comes by callback, on the caller's
/// loop, possibly before the call returns. Code::unavailable, with the reason, where the rights are
/// not known: nobody is let through then. The access reviews ask it too.
class Authorizer {
public:
  virtual ~Authorizer() = default;
  virtual void authorize(const Identity& subject, const Attributes& attributes,
                         std::function<void(Result<Decision>)> done) const = 0;
  /// The same where it need not suspend; none: it must.
  virtual std::optional<Decision> decide_now(const Identity& subject,
                                             const Attributes& attributes) const = 0;
  /// All that holds for the subject in a namespace.
  virtual void rules(const Identity& subject, const std::string& name_space,
                     std::function<void(Result<authz::Policy::Rules>)> done) const = 0;
  /// The policy itself: for aggregated roles, and to see whether a write would grant too much.
  virtual void policy(std::function<void(Result<authz::PolicyPtr>)> done) const = 0;
  /// What is known at the moment; null if nothing is.
  virtual authz::PolicyPtr known() const = 0;
  /// A member of a group that may do everything inside the tenant, whatever its RBAC says.
  virtual bool super_user(const Identity& subject) const = 0;
};

/// By the RBAC objects of one tenant. Belongs to one loop.
class TenantAuthorizer final : public Authorizer {
public:
  /// `administrators`: the group of super-users beside system:masters.
  TenantAuthorizer(authz::PolicyStore& policies, net::Loop& loop, translate::Mapping mapping,
                   std::string administrators);
  void authorize(const Identity& subject, const Attributes& attributes,
                 std::function<void(Result<Decision>)> done) const override;
  std::optional<Decision> decide_now(const Identity& subject,
                                     const Attributes& attributes) const override;
  void rules(const Identity& subject, const std::string& name_space,
             std::function<void(Result<authz::Policy::Rules>)> done) const override;
  void policy(std::function<void(Result<authz::PolicyPtr>)> done) const override;
  authz::PolicyPtr known() const override;
  bool super_user(const Identity& subject) const override;

private:
  mutable authz::TenantPolicy policy_; ///< finds its place at the first question
  std::string administrators_;
};

/// The group for which `subject` is a super-user, "" if he is none.
std::string_view super_user_group(const Identity& subject, std::string_view administrators);

} // namespace zoo::gateway
