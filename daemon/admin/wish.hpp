// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/admin/api_types.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string_view>

/// Bodies of requests that ask zood to do something. Pure.
namespace zoo::admin {

/// The body as an object; an empty one: nothing is wished. Code::bad_request if it is none, or has
/// a field twice, or one that is not among `known`: a misspelt wish is not passed over.
Result<nlohmann::json> read_wish(const Request& request, std::span<const std::string_view> known);

/// Code::bad_request unless the member is true, false or not there.
Result<bool> flag_member(const nlohmann::json& object, const char* key, bool otherwise);

} // namespace zoo::admin
