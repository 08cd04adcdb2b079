// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/access/principal.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/token_claims.hpp"
#include "daemon/upstream/token_keys.hpp"
#include "daemon/upstream/token_review.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::tenants {

/// A ServiceAccount, verified by upstream.
struct TokenUser {
  std::shared_ptr<const TenantEntry> tenant;
  access::Principal principal; ///< in the tenant's names
};

/// Authenticates tokens of tenants' ServiceAccounts by TokenReview upstream, which knows whether
/// account, pod and secret still live, with a short memory. What cannot be such a token is refused
/// without asking: who only knows a tenant's ID must not keep its accounts from being answered. On
/// one loop.
class TokenAuthenticator {
public:
  TokenAuthenticator(net::Loop& loop, upstream::Upstream& upstream,
                     const TenantDirectory& directory);
  ~TokenAuthenticator();

  using Done = std::function<void(Result<TokenUser>)>;
  /// `done` possibly inside the call. Code::unauthorized; Code::unavailable if upstream does not
  /// answer; Code::too_many_requests if too many are being asked about.
  void authenticate(const std::string& token, Done done);

  static constexpr std::chrono::seconds k_remembered{10}, k_refusal_remembered{2};
  static constexpr std::size_t k_max_remembered = 4096, k_max_asked = 64;
  static constexpr std::size_t k_max_of_tenant = 16;
  /// Of those whose signature is by no key that upstream publishes, where it publishes any.
  static constexpr std::size_t k_max_unknown = 8, k_max_unknown_of_tenant = 2;

private:
  struct About {
    TokenClaims claims;
    bool unknown; ///< what signed it
  };

  Result<TokenUser> admit(const TokenUser& user) const;
  void ask(const std::string& key, const std::string& token, TokenClaims claims, bool unknown,
           Done done);
  void answered(const std::string& key, const Result<upstream::TokenUser>& answer);
  Result<TokenUser> read(const TokenClaims& claims, const upstream::TokenUser& user) const;

  net::Loop& loop_;
  upstream::Upstream& upstream_;
  const TenantDirectory& directory_;
  upstream::TokenKeys keys_;
  upstream::TokenMemory<TokenUser, About> memory_;
  std::shared_ptr<void> alive_;
};

} // namespace zoo::tenants
