// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/message.hpp"

#include <string_view>

/// What may stand where in an HTTP message (RFC 9110 section 5, RFC 9112 section 3), for both
/// versions and both directions. Pure functions, any thread.
namespace zoo::http {

bool is_token(std::string_view text);          ///< methods, field names
bool is_field_value(std::string_view text);    ///< no control characters but HTAB
bool is_origin_form(std::string_view target);  ///< '/'..., visible ASCII, no fragment
bool is_authority(std::string_view authority); ///< host[:port], no userinfo

/// Fields of one connection, that never pass an intermediary (RFC 9110 section 7.6.1).
bool is_hop_by_hop(std::string_view name);

/// True if the comma-separated list in any field `name` has `token` (without case).
bool list_has(const Headers& headers, std::string_view name, std::string_view token);

/// 1xx, 204 and 304 have no body whatever their fields say (RFC 9112 section 6.3).
inline bool status_forbids_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

} // namespace zoo::http
