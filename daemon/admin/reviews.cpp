// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/reviews.hpp"

#include "common/api/tenant.hpp"
#include "daemon/resources/body.hpp"

#include <nlohmann/json.hpp>

namespace zoo::admin {
namespace {

using nlohmann::json;

Result<json> read(const Request& request, std::string_view kind) {
  const auto type = request.headers.get("content-type");
  if (resources::media_type(type) == "application/vnd.kubernetes.protobuf") {
    ZOO_TRY(auto review, review_from_protobuf(request.body));
    if (review["kind"] != kind) return fail(Code::bad_request, "the body must be a {}", kind);
    return review;
  }
  std::vector<std::string> duplicates;
  ZOO_TRY(auto body, resources::parse_body(request.body, type, duplicates));
  if (!body.is_object() || body.value("kind", json()) != kind)
    return fail(Code::bad_request, "the body must be a {}", kind);
  return body;
}

std::string word(const json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

} // namespace

Answer access_review(const Request& request) {
  auto body = read(request, "SelfSubjectAccessReview");
  if (!body) return failure(body.error());
  const auto spec = body->value("spec", json::object());
  bool allowed = true;
  if (spec.is_object() && spec.contains("resourceAttributes")) {
    const auto& wanted = spec["resourceAttributes"];
    const auto resource = word(wanted, "resource");
    const auto group = word(wanted, "group");
    allowed = resource == "*" || (resource == api::k_tenant_resource &&
                                  (group == api::k_tenant_group || group == "*"));
  }
  (*body)["status"] = {{"allowed", allowed},
                       {"reason", allowed ? "administrators of zood may do everything here"
                                          : "zood's admin API has no such resource; a tenant's "
                                            "objects are reached with the tenant's kubeconfig"}};
  return json_answer(201, *body);
}

Answer rules_review(const Request& request) {
  auto body = read(request, "SelfSubjectRulesReview");
  if (!body) return failure(body.error());
  (*body)["status"] = {
      {"incomplete", false},
      {"resourceRules",
       json::array(
           {{{"verbs", {"*"}}, {"apiGroups", {api::k_tenant_group}}, {"resources", {"*"}}}})},
      {"nonResourceRules", json::array({{{"verbs", {"*"}}, {"nonResourceURLs", {"*"}}}})}};
  return json_answer(201, *body);
}

Answer self_review(const Request& request) {
  auto body = read(request, "SelfSubjectReview");
  if (!body) return failure(body.error());
  (*body)["status"] = {
      {"userInfo", {{"username", request.who.name}, {"groups", request.who.groups}}}};
  return json_answer(201, *body);
}

} // namespace zoo::admin
