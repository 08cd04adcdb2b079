// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/authorizer.hpp"

namespace zoo::tenants {

using access::Attributes;
using access::Decision;
using access::Principal;

std::string_view super_user_group(const Principal& subject, std::string_view administrators) {
  for (const auto& group : subject.groups) {
    if (group == administrators || group == authz::k_masters) return group;
  }
  return {};
}

TenantAuthorizer::TenantAuthorizer(authz::PolicyStore& policies, net::Loop& loop,
                                   translate::Mapping mapping, std::string administrators)
    : policy_(policies, loop, std::move(mapping)), administrators_(std::move(administrators)) {}

void TenantAuthorizer::authorize(const Principal& subject, const Attributes& attributes,
                                 std::function<void(Result<Decision>)> done) const {
  if (auto known = decide_now(subject, attributes)) return done(*std::move(known));
  policy_.ask([user = user_of(subject), attributes,
               done = std::move(done)](const Result<authz::PolicyPtr>& policy) {
    if (!policy) return done(fail(policy.error()));
    done((*policy)->decide(user, attributes));
  });
}

std::optional<Decision> TenantAuthorizer::decide_now(const Principal& subject,
                                                     const Attributes& attributes) const {
  if (const auto group = super_user_group(subject, administrators_); !group.empty())
    return Decision{true, std::string("member of group \"").append(group).append("\"")};
  if (const auto policy = policy_.known()) return policy->decide(user_of(subject), attributes);
  return std::nullopt;
}

void TenantAuthorizer::rules(const Principal& subject, const std::string& name_space,
                             std::function<void(Result<authz::Policy::Rules>)> done) const {
  if (super_user(subject)) {
    authz::Policy::Rules all;
    all.rules = {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
    return done(std::move(all));
  }
  policy_.ask([user = user_of(subject), name_space,
               done = std::move(done)](const Result<authz::PolicyPtr>& policy) {
    if (!policy) return done(fail(policy.error()));
    done((*policy)->rules_for(user, name_space));
  });
}

void TenantAuthorizer::policy(std::function<void(Result<authz::PolicyPtr>)> done) const {
  policy_.ask(std::move(done));
}

authz::PolicyPtr TenantAuthorizer::known() const { return policy_.latest(); }

bool TenantAuthorizer::super_user(const Principal& subject) const {
  return !super_user_group(subject, administrators_).empty();
}

} // namespace zoo::tenants
