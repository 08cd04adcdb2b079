// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/rule.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::http {
class FieldLines;
}

namespace zoo::access {

/// The only audience of the tokens that zood hands out. Upstream answers such a token with 401.
inline constexpr std::string_view k_audience = "zood";

/// Principal::credential of somebody who came in with a ServiceAccount's token. No certificate's
/// serial number is such a word.
inline constexpr std::string_view k_token_credential = "token";

/// Who a request comes from, in the words of his own view. Only authentication makes one: a
/// ViewSource, or an impersonation that the client's own rights allowed. Immutable once it stands
/// in a Route; any thread.
struct Principal {
  /// Of the tenant that he belongs to; of an account's user "u:" and his name. What is his is
  /// counted under it.
  std::string id;
  std::string user;
  std::vector<std::string> groups;
  /// For the audit log and for revocation: the serial number of his certificate in lower-case
  /// hexadecimal, or k_token_credential.
  std::string credential;
  std::int64_t issued = 0;  ///< a certificate's epoch; of a token, Unix seconds
  std::int64_t expires = 0; ///< a certificate's end in Unix seconds; 0 for a token: upstream judges
  std::string uid;          ///< of the user, as a TokenReview tells it; "" if there is none
  authz::Extra extra;
  std::string impersonator; ///< the user that he was before he impersonated another one; "" = none
  /// as_tenant_user() or as_caller() of him (passage.hpp), made once where the same principal is
  /// used for many requests; null: it is made for each request.
  std::shared_ptr<const http::FieldLines> upstream_fields;
};

/// Whose what he does is counted as: "tenant abc123", "user john". For logs.
inline std::string owner_of(const Principal& principal) {
  return principal.id.starts_with("u:") ? "user " + principal.id.substr(2)
                                        : "tenant " + principal.id;
}

/// The same person as the evaluator of RBAC wants him.
inline authz::User user_of(const Principal& principal) {
  return {principal.user, principal.uid, principal.groups, principal.extra};
}

} // namespace zoo::access
