// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/token_claims.hpp"

#include "common/api/tenant.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/access/principal.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <cstddef>

namespace zoo::tenants {
namespace {

using access::k_audience;
using translate::JsonTree;
using translate::JsonType;

constexpr std::size_t k_max_token = 16 * 1024;
constexpr std::size_t k_id_length = 6;

} // namespace

tl::unexpected<Error> refused_token() {
  return fail(Code::unauthorized, "Unauthorized: the bearer token is not valid here");
}

bool names_audience(translate::JsonNode audience) {
  if (audience.is(JsonType::string)) return audience.string() == k_audience;
  for (auto each = audience.first(); each; each = each.next()) {
    if (each.string() == k_audience) return true;
  }
  return false;
}

Result<TokenClaims> read_token(std::string_view token) {
  if (token.size() > k_max_token) return refused_token();
  const auto parts = text::split(token, '.');
  if (parts.size() != 3 || parts[0].empty() || parts[2].empty()) return refused_token();
  const auto payload = crypto::base64url_decode(parts[1]);
  if (!payload) return refused_token();
  const auto tree = JsonTree::parse(*payload);
  if (!tree) return refused_token();
  const auto claims = tree->root();
  TokenClaims out;
  out.upstream_user = claims["sub"].string();
  out.expires = claims["exp"].integer().value_or(0);
  out.issued = claims["iat"].integer().value_or(0);
  const auto account = authz::service_account(out.upstream_user);
  if (!account || !names_audience(claims["aud"])) return refused_token();
  if (account.name_space.size() <= k_id_length + 1 || account.name_space[k_id_length] != '-')
    return refused_token();
  out.tenant = account.name_space.substr(0, k_id_length);
  if (!api::validate_id(out.tenant)) return refused_token();
  out.name_space = account.name_space.substr(k_id_length + 1);
  out.name = account.name;
  return out;
}

} // namespace zoo::tenants
