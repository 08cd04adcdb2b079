// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::tenants {

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

/// The one answer to every bad token: nobody learns which tenants and accounts exist.
tl::unexpected<Error> refused_token();

/// Is `zood` one of the audiences, a string or a list of them?
bool names_audience(translate::JsonNode audience);

} // namespace zoo::tenants
