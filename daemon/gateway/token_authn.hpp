// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/view.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::gateway {

/// The only audience of the tokens that zood hands out: upstream answers them with 401.
inline constexpr std::string_view k_audience = "zood";

/// What a token says of itself before anybody has verified it.
struct TokenClaims {
  std::string upstream_user;    ///< sub
  std::string tenant;           ///< the ID that its namespace begins with
  std::string name_space, name; ///< of the ServiceAccount; the tenant's
  std::int64_t expires = 0;     ///< Unix seconds
  std::int64_t issued = 0;      ///< the same
};
/// Reads a JWT of a tenant's ServiceAccount for audience `zood`. Code::unauthorized for anything
/// else. Pure, any thread.
Result<TokenClaims> read_token(std::string_view token);

/// A ServiceAccount, verified by upstream.
struct TokenUser {
  std::shared_ptr<const tenants::TenantEntry> tenant;
  Identity identity; ///< in the tenant's names
};

/// Authenticates tokens of tenants' ServiceAccounts by TokenReview upstream, which knows whether
/// account, pod and secret still live, with a short memory. What cannot be such a token is refused
/// without asking. On one loop.
class TokenAuthenticator {
public:
  TokenAuthenticator(net::Loop& loop, upstream::Upstream& upstream,
                     const tenants::TenantDirectory& directory);
  ~TokenAuthenticator();

  using Done = std::function<void(Result<TokenUser>)>;
  /// `done` possibly inside the call. Code::unauthorized; Code::unavailable if upstream does not
  /// answer; Code::too_many_requests if too many are being asked about.
  void authenticate(const std::string& token, Done done);

  static constexpr std::chrono::seconds k_remembered{10}, k_refusal_remembered{2};
  static constexpr std::size_t k_max_remembered = 4096, k_max_asked = 64;

private:
  struct Answer {
    Result<TokenUser> user = fail(Code::unauthorized, "");
    std::chrono::steady_clock::time_point until;
  };
  struct Question;

  Result<TokenUser> admit(const TokenUser& user) const;
  void ask(const std::string& key, const std::string& token, TokenClaims claims, Done done);
  void answered(const std::string& key, const Result<upstream::Answer>& answer);
  Result<TokenUser> read(const TokenClaims& claims, const upstream::Answer& answer) const;

  net::Loop& loop_;
  upstream::Upstream& upstream_;
  const tenants::TenantDirectory& directory_;
  std::unordered_map<std::string, Answer> answers_; ///< by SHA-256 of the token
  std::unordered_map<std::string, std::unique_ptr<Question>> asked_;
  std::shared_ptr<void> alive_;
};

} // namespace zoo::gateway
