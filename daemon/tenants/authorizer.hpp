// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/authorizer.hpp"
#include "daemon/authz/policy_store.hpp"
#include "daemon/translate/mapping.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::tenants {

/// Decides by the RBAC objects of one tenant, which are read upstream at the tenant's first
/// question. Belongs to one loop.
class TenantAuthorizer final : public access::Authorizer {
public:
  /// `administrators`: the group of super-users beside system:masters.
  TenantAuthorizer(authz::PolicyStore& policies, net::Loop& loop, translate::Mapping mapping,
                   std::string administrators);
  void authorize(const access::Principal& subject, const access::Attributes& attributes,
                 std::function<void(Result<access::Decision>)> done) const override;
  std::optional<access::Decision> decide_now(const access::Principal& subject,
                                             const access::Attributes& attributes) const override;
  void rules(const access::Principal& subject, const std::string& name_space,
             std::function<void(Result<authz::Policy::Rules>)> done) const override;
  void policy(std::function<void(Result<authz::PolicyPtr>)> done) const override;
  authz::PolicyPtr known() const override;
  bool super_user(const access::Principal& subject) const override;

private:
  mutable authz::TenantPolicy policy_; ///< finds its place at the first question
  std::string administrators_;
};

/// The group for which `subject` is a super-user, "" if he is none.
std::string_view super_user_group(const access::Principal& subject,
                                  std::string_view administrators);

} // namespace zoo::tenants
