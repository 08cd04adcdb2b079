// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/quotas.hpp"

#include "daemon/resources/body.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace zoo::admin {

using nlohmann::json;

Answer quotas_answer(const Request& request, QuotaSource* source) {
  if (source == nullptr)
    return failure(Error(Code::not_found,
                         "this zood keeps no quotas of accounts: set accounts.enabled in its "
                         "configuration"));
  if (resources::reads(request)) {
    const auto items = source->quotas(std::string(request.parameter("owner")));
    return items ? json_answer(200, {{"items", *items}}) : failure(items.error());
  }
  if (request.method != "POST") return wrong_method(request, "GET, POST");
  std::vector<std::string> duplicates;
  const auto body =
      resources::parse_body(request.body, request.headers.get("content-type"), duplicates);
  if (!body) return failure(body.error());
  const auto text = [](const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (body->is_object() && body->contains("recount")) {
    const auto owner = text(*body, "recount");
    if (auto done = source->recount(owner); !done) return failure(done.error());
    return json_answer(200, {{"recount", owner}});
  }
  const auto asked = body->is_object() ? body->find("explain") : body->end();
  if (asked == body->end() || !asked->is_object())
    return failure(
        Error(Code::bad_request, R"(the body must be {"explain": {...}} or {"recount": "NAME"})"));
  const auto said = source->explain(text(*asked, "owner"), text(*asked, "space"),
                                    asked->value("objects", json::array()));
  return said ? json_answer(200, *said) : failure(said.error());
}

} // namespace zoo::admin
