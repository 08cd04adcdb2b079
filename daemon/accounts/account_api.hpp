// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/authorizer.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/resources/api.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zoo::accounts {

/// What zood answers at the account door itself: all requests for tenancy.kiosk.sh, and get, list,
/// watch, create and server-side apply of the core kind `namespaces`. A caller whose rights allow
/// him such a request on `namespaces` in the whole cluster is not answered here: it goes straight
/// to upstream, and so does an apply by one who may patch that namespace. Thread-safe.
class AccountApi final : public access::LocalApi {
public:
  /// `parts`: its kinds are those of tenancy.kiosk.sh and namespaces. `workers` must outlive it.
  AccountApi(resources::Api::Parts parts, resources::Workers& workers,
             std::shared_ptr<const access::UpstreamRights> rights);

  bool serves(const access::Principal& principal, const translate::Target& target,
              std::string_view content_type) const override;
  bool divides(const translate::Target& target) const override;
  std::optional<access::Decision> decides(const access::Principal& principal,
                                          const access::Attributes& attributes) const override;
  const resources::Api& api() const override { return api_; }
  resources::Workers& workers() const override { return workers_; }

private:
  /// May he the same in the whole cluster? While that is not known he may not.
  bool may_everywhere(const access::Principal& principal, access::Attributes attributes) const;

  const resources::Api api_;
  resources::Workers& workers_;
  const std::shared_ptr<const access::UpstreamRights> rights_;
};

/// Who may what at the account door: whatever goes straight is upstream's to judge, so it is let
/// through. Who would be somebody else must be allowed to by upstream's RBAC, evaluated here, since
/// upstream sees zood ask for it. Thread-safe.
class AccountAuthorizer final : public access::Authorizer {
public:
  explicit AccountAuthorizer(std::shared_ptr<const access::UpstreamRights> rights)
      : rights_(std::move(rights)) {}
  void authorize(const access::Principal& subject, const access::Attributes& attributes,
                 std::function<void(Result<access::Decision>)> done) const override;
  std::optional<access::Decision> decide_now(const access::Principal& subject,
                                             const access::Attributes& attributes) const override;
  void rules(const access::Principal& subject, const std::string& name_space,
             std::function<void(Result<authz::Policy::Rules>)> done) const override;
  void policy(std::function<void(Result<authz::PolicyPtr>)> done) const override;
  authz::PolicyPtr known() const override { return nullptr; }
  bool super_user(const access::Principal&) const override { return false; }

private:
  const std::shared_ptr<const access::UpstreamRights> rights_;
};

} // namespace zoo::accounts
