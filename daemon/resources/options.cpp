// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/options.hpp"

#include "daemon/resources/fields.hpp"

#include <nlohmann/json.hpp>

namespace zoo::resources {
namespace {

Result<bool> all_is_dry(std::string_view value) {
  if (value == "All") return true;
  return fail(Code::bad_request, "dryRun must be All, not '{}'", value);
}

} // namespace

Result<bool> dry_run_of(const Request& request) {
  bool out = false;
  for (const auto& [key, value] : request.query)
    if (key == "dryRun") {
      ZOO_TRY(out, all_is_dry(value));
    }
  return out;
}

Result<DeleteOptions> delete_options(const nlohmann::json& body) {
  DeleteOptions out;
  if (!body.is_object()) return fail(Code::bad_request, "the body of a DELETE is DeleteOptions");
  if (const auto* conditions = member(body, "preconditions")) {
    ZOO_TRY(out.expected.uid, text_member(*conditions, "uid", "preconditions.uid"));
    ZOO_TRY(out.expected.resource_version,
            text_member(*conditions, "resourceVersion", "preconditions.resourceVersion"));
  }
  if (const auto* dry = member(body, "dryRun"); dry && dry->is_array()) {
    for (const auto& each : *dry) {
      ZOO_TRY(out.dry_run, all_is_dry(each.is_string() ? each.get<std::string>() : ""));
    }
  }
  return out;
}

} // namespace zoo::resources
