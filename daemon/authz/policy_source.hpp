// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/policy.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/mapping.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class Caller;
class Upstream;
} // namespace zoo::upstream

namespace zoo::authz {

/// Bounds of what is kept of one tenant (docs/limits.md).
struct PolicyLimits {
  std::size_t bytes = 8u << 20;          ///< of its RBAC objects as JSON; above it nobody is served
  std::chrono::seconds idle{600};        ///< not asked for so long: forgotten
  std::chrono::milliseconds stale{5000}; ///< a watch is lost for so long: not believed any more
};

/// Follows the RBAC objects of one tenant: Roles, RoleBindings (the ClusterRoleBindings lie among
/// them, DESIGN 8) and ClusterRoles, each by a range list and the watch from there, decoded from
/// their inert form. On one loop, no thread safety.
///
/// Every change leads to a new Policy a few milliseconds later. While upstream cannot be reached
/// the last one is believed for `stale`, then there is none.
class PolicySource {
public:
  using Publish = std::function<void(Result<PolicyPtr>)>;

  /// `publish` hears every new policy, and every failure to have one (Code::unavailable, with the
  /// reason): not from inside start().
  PolicySource(upstream::Upstream& upstream, upstream::Caller& caller, net::Loop& loop,
               translate::Mapping mapping, PolicyLimits limits, Publish publish);
  ~PolicySource();
  PolicySource(const PolicySource&) = delete;
  PolicySource& operator=(const PolicySource&) = delete;

  void start();
  /// Names are read by this mapping from now on; reads anew if that makes a difference.
  void remap(const translate::Mapping& mapping);
  const translate::Mapping& mapping() const { return mapping_; }

private:
  class Kind;
  struct Parts;

  void changed(); ///< some object is another, or a kind is read for the first time
  void lost(const Error& why);
  void publish();
  bool complete() const;
  std::size_t bytes() const; ///< of all kinds, kept or counted

  upstream::Upstream& upstream_;
  upstream::Caller& caller_;
  net::Loop& loop_;
  translate::Mapping mapping_;
  PolicyLimits limits_;
  Publish publish_;
  std::unique_ptr<Parts> parts_;
};

/// One object of upstream's as the evaluator needs it; null: it is none of the tenant's RBAC.
/// Exposed for tests.
struct DecodedObject {
  std::shared_ptr<const Role> role;
  std::shared_ptr<const Binding> binding;
};
DecodedObject decode_role(const translate::Mapping& mapping, std::string_view kind,
                          std::string_view object);
DecodedObject decode_binding(const translate::Mapping& mapping, std::string_view object);

} // namespace zoo::authz
