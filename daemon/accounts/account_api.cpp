// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_api.hpp"

#include "daemon/accounts/account.hpp"
#include "daemon/translate/target.hpp"

#include <utility>

namespace zoo::accounts {
AccountApi::AccountApi(resources::Api::Parts parts, resources::Workers& workers,
                       std::shared_ptr<const access::UpstreamRights> rights)
    : api_(std::move(parts)), workers_(workers), rights_(std::move(rights)) {}

bool AccountApi::may_everywhere(const access::Principal& principal,
                                access::Attributes attributes) const {
  attributes.name_space.clear();
  const auto rights = rights_->rights();
  return rights && (*rights)->decide(user_of(principal), attributes).allowed;
}

bool AccountApi::serves(const access::Principal& principal, const translate::Target& target,
                        std::string_view content_type) const {
  if (!target.resource_request) return false;
  if (target.group == k_tenancy_group) return true;
  if (!target.is("", "namespaces") || !target.subresource.empty() || target.legacy_watch)
    return false;
  const auto& verb = target.verb;
  if (verb == "patch") {
    if (!content_type.starts_with("application/apply-patch+")) return false;
    const auto rights = rights_->rights();
    const access::Attributes wanted{
        verb, true, "", target.version, target.resource, "", target.name, target.name, ""};
    return !rights || !(*rights)->decide(user_of(principal), wanted).allowed;
  }
  if (verb != "get" && verb != "list" && verb != "watch" && verb != "create") return false;
  return !may_everywhere(principal, {verb, true, "", target.version, target.resource, "", "",
                                     target.authorization_name(), ""});
}

bool AccountApi::divides(const translate::Target& target) const {
  return target.is("", "namespaces") && target.subresource.empty() && !target.legacy_watch &&
         (target.verb == "list" || target.verb == "watch");
}

std::optional<access::Decision> AccountApi::decides(const access::Principal& principal,
                                                    const access::Attributes& attributes) const {
  const bool spaces = attributes.resource_request && attributes.group.empty() &&
                      attributes.resource == "namespaces" && attributes.subresource.empty();
  if (!spaces || may_everywhere(principal, attributes)) return std::nullopt;
  const bool reads = attributes.verb == "list" || attributes.verb == "watch";
  if (reads && attributes.name.empty())
    return access::Decision{true, "zood shows the namespaces that you may get"};
  if (attributes.verb != "create") return std::nullopt;
  const access::Attributes wanted{
      "create",        true, std::string(k_tenancy_group), std::string(k_version), "spaces", "", "",
      attributes.name, ""};
  if (!may_everywhere(principal, wanted)) return std::nullopt;
  return access::Decision{true, "zood makes a namespace as a space of your account"};
}

void AccountAuthorizer::authorize(const access::Principal& subject,
                                  const access::Attributes& attributes,
                                  std::function<void(Result<access::Decision>)> done) const {
  if (auto now = decide_now(subject, attributes)) return done(*std::move(now));
  const auto rights = rights_->rights();
  if (!rights) return done(fail(rights.error()));
  done((*rights)->decide(user_of(subject), attributes));
}

std::optional<access::Decision>
AccountAuthorizer::decide_now(const access::Principal&,
                              const access::Attributes& attributes) const {
  if (attributes.verb == "impersonate") return std::nullopt;
  return access::Decision{true, "upstream judges it"};
}

void AccountAuthorizer::rules(const access::Principal& subject, const std::string& name_space,
                              std::function<void(Result<authz::Policy::Rules>)> done) const {
  const auto rights = rights_->rights();
  if (!rights) return done(fail(rights.error()));
  done((*rights)->rules_for(user_of(subject), name_space));
}

void AccountAuthorizer::policy(std::function<void(Result<authz::PolicyPtr>)> done) const {
  done(fail(Code::unavailable, "what an account's user may do is upstream's to say"));
}

} // namespace zoo::accounts
