// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::http {
class FieldLines;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::gateway {

class Authorizer;
class FlowShare;

/// Of who came in with the token of a ServiceAccount; no serial is such a word.
inline constexpr std::string_view k_token_credential = "token";

/// Who a request comes from, in the words of its own view. Made by authentication only.
struct Identity {
  std::string user;
  std::vector<std::string> groups;
  /// For audit and revocation: serial of the certificate, or k_token_credential.
  std::string credential;
  std::int64_t issued = 0;  ///< a certificate's epoch; of a token, Unix seconds
  std::int64_t expires = 0; ///< of a certificate: Unix seconds; 0: upstream knows
  std::string uid;
  authz::Extra extra;
  std::string impersonator; ///< who he was before he asked to be somebody else; "" = himself
  /// impersonation() of it (upstream_request.hpp), where it is kept; null: made for each request.
  std::shared_ptr<const http::FieldLines> upstream_fields;
};

/// Is what he came in with still good for the tenant `uid`, leaving dates aside?
inline bool honours(const tenants::TenantEntry& tenant, std::string_view uid,
                    const Identity& identity) {
  return identity.credential == k_token_credential
             ? tenant.honours_token(uid, identity.issued)
             : tenant.honours_certificate(uid, identity.credential, identity.issued);
}

inline authz::User user_of(const Identity& identity) {
  return {identity.user, identity.uid, identity.groups, identity.extra};
}

/// What a client sees of an upstream: the one object that the rest of the way asks (DESIGN 4). A
/// tenant's view maps by prefix and lets its RBAC decide; an account's view maps nothing; a virtual
/// cluster's view is another upstream without mapping. Immutable, shared by the requests of one
/// moment; any thread.
struct View {
  translate::Mapping mapping;
  std::string uid;     ///< of the Tenant behind it; part of every sealed token
  std::string created; ///< its creationTimestamp: of what every cluster has from the beginning
  std::shared_ptr<const Authorizer> authorizer;
  std::string upstream_user;            ///< "zoo:<id>"; impersonated on the tenant's own paths
  std::optional<api::AuditLevel> audit; ///< the tenant's own; none: zood's
  api::Guards guards;               ///< what may not be written, whatever the tenant's RBAC says
  api::Quota quota;                 ///< how much may be stored
  api::Flow flow;                   ///< how much may go on at the same time
  std::shared_ptr<FlowShare> share; ///< what does, through whatever view; thread-safe
};

/// After *who*, a request gets one, and nothing behind asks again which tenant it is (DESIGN 14).
struct Route {
  upstream::Upstream& upstream;
  std::shared_ptr<const View> view;
  std::shared_ptr<const Identity> who;

  const Identity& identity() const { return *who; }
};

} // namespace zoo::gateway
