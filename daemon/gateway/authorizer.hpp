// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/view.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// What somebody wants to do, as k8s.io/apiserver/pkg/authorization/authorizer Attributes has it;
/// in the tenant's names.
struct Attributes {
  std::string verb;
  bool resource_request = true;
  std::string group, version, resource, subresource, name_space, name;
  std::string path; ///< of a non-resource request
};

struct Decision {
  bool allowed = false;
  std::string reason; ///< for the Status message and the audit line; in the tenant's names
};

/// Decides by the tenant's own rights. May suspend: the answer comes by callback, on the caller's
/// loop, possibly before authorize() returns. The access reviews ask it too.
class Authorizer {
public:
  virtual ~Authorizer() = default;
  virtual void authorize(const Identity& subject, const Attributes& attributes,
                         std::function<void(Decision)> done) const = 0;
};

/// Until the tenant's RBAC is evaluated, only its administrator passes (fail closed).
class AdministratorOnly final : public Authorizer {
public:
  explicit AdministratorOnly(std::string administrator_group);
  void authorize(const Identity& subject, const Attributes& attributes,
                 std::function<void(Decision)> done) const override;

private:
  std::string administrator_group_;
};

} // namespace zoo::gateway
