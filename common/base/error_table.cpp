// SPDX-License-Identifier: Apache-2.0
#include "common/base/error_table.hpp"

#include <algorithm>
#include <array>

namespace zoo {
namespace {

constexpr std::array k_table = {
    ErrorRow{Code::bad_request, "bad_request", 65, 400, "BadRequest", LogLevel::info},
    ErrorRow{Code::unauthorized, "unauthorized", 77, 401, "Unauthorized", LogLevel::info},
    ErrorRow{Code::forbidden, "forbidden", 77, 403, "Forbidden", LogLevel::info},
    ErrorRow{Code::not_found, "not_found", 4, 404, "NotFound", LogLevel::info},
    ErrorRow{Code::method_not_allowed, "method_not_allowed", 65, 405, "MethodNotAllowed",
             LogLevel::info},
    ErrorRow{Code::not_acceptable, "not_acceptable", 65, 406, "NotAcceptable", LogLevel::info},
    ErrorRow{Code::already_exists, "already_exists", 5, 409, "AlreadyExists", LogLevel::info},
    ErrorRow{Code::conflict, "conflict", 6, 409, "Conflict", LogLevel::info},
    ErrorRow{Code::expired, "expired", 6, 410, "Expired", LogLevel::info},
    ErrorRow{Code::too_large, "too_large", 65, 413, "RequestEntityTooLarge", LogLevel::info},
    ErrorRow{Code::unsupported_media_type, "unsupported_media_type", 65, 415,
             "UnsupportedMediaType", LogLevel::info},
    ErrorRow{Code::invalid, "invalid", 65, 422, "Invalid", LogLevel::info},
    ErrorRow{Code::too_many_requests, "too_many_requests", 75, 429, "TooManyRequests",
             LogLevel::info},
    ErrorRow{Code::timeout, "timeout", 7, 504, "Timeout", LogLevel::warning},
    ErrorRow{Code::unavailable, "unavailable", 69, 503, "ServiceUnavailable", LogLevel::warning},
    ErrorRow{Code::internal, "internal", 70, 500, "InternalError", LogLevel::error},
    ErrorRow{Code::usage, "usage", 64, 400, "BadRequest", LogLevel::info},
    ErrorRow{Code::io, "io", 74, 500, "StorageFailure", LogLevel::error},
    ErrorRow{Code::cancelled, "cancelled", 130, 499, "", LogLevel::debug},
};

} // namespace

std::span<const ErrorRow> error_table() { return k_table; }

const ErrorRow& error_row(Code code) {
  const auto* row = std::find_if(k_table.begin(), k_table.end(),
                                 [code](const ErrorRow& each) { return each.code == code; });
  return row == k_table.end() ? error_row(Code::internal) : *row;
}

bool may_pass(Code code) {
  switch (code) {
  case Code::unavailable:
  case Code::timeout:
  case Code::too_many_requests:
  case Code::conflict:
  case Code::unauthorized: // a credential that is about to be renewed
  case Code::internal:
  case Code::io:
  case Code::cancelled:
    return true;
  default:
    return false;
  }
}

Code code_from_status(int http_status, std::string_view reason) {
  if (!reason.empty()) {
    for (const auto& row : k_table) {
      if (row.reason == reason) return row.code;
    }
    if (reason == "Gone") return Code::expired;
    if (reason == "ServerTimeout") return Code::timeout;
  }
  for (const auto& row : k_table) {
    if (row.http_status == http_status)
      return row.code == Code::already_exists ? Code::conflict : row.code;
  }
  return http_status >= 500 ? Code::internal : Code::bad_request;
}

} // namespace zoo
