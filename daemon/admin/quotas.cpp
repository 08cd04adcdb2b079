// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/quotas.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/admin/wish.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <string_view>

namespace zoo::admin {

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
  constexpr std::array<std::string_view, 2> k_known{"explain", "recount"};
  const auto body = read_wish(request, k_known);
  if (!body) return failure(body.error());
  if (body->contains("recount")) {
    const auto owner = kube::text_at(*body, "/recount");
    if (auto done = source->recount(owner); !done) return failure(done.error());
    return json_answer(200, {{"recount", owner}});
  }
  const auto asked = body->find("explain");
  if (asked == body->end() || !asked->is_object())
    return failure(
        Error(Code::bad_request, R"(the body must be {"explain": {...}} or {"recount": "NAME"})"));
  const auto said =
      source->explain(kube::text_at(*asked, "/owner"), kube::text_at(*asked, "/space"),
                      kube::list_at(*asked, "/objects"));
  return said ? json_answer(200, *said) : failure(said.error());
}

} // namespace zoo::admin
