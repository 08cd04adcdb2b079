// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/wish.hpp"

#include "common/base/text.hpp"
#include "daemon/resources/body.hpp"
#include "daemon/resources/fields.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace zoo::admin {

using nlohmann::json;

Result<json> read_wish(const Request& request, std::span<const std::string_view> known) {
  json body = json::object();
  if (!text::trim(request.body).empty()) {
    std::vector<std::string> duplicates;
    ZOO_TRY(body,
            resources::parse_body(request.body, request.headers.get("content-type"), duplicates));
    if (!body.is_object()) return fail(Code::bad_request, "the body must be a JSON object");
    if (!duplicates.empty())
      return fail(Code::bad_request, "duplicate field \"{}\"", duplicates[0]);
  }
  for (const auto& [key, value] : body.items()) {
    if (key == "apiVersion" || key == "kind") continue;
    if (std::find(known.begin(), known.end(), key) == known.end())
      return fail(Code::bad_request, "unknown field \"{}\"; known are: {}", key,
                  fmt::join(known, ", "));
  }
  return body;
}

Result<bool> flag_member(const json& object, const char* key, bool otherwise) {
  const auto* value = resources::member(object, key);
  if (!value || value->is_null()) return otherwise;
  if (!value->is_boolean()) return fail(Code::bad_request, "{} must be true or false", key);
  return value->get<bool>();
}

} // namespace zoo::admin
