// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/machine_findings.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace zoo;
using app::fairness_finding;
using app::services_finding;
using nlohmann::json;
using Level = tenants::Finding::Level;

namespace {

/// An upstream that counts every request by the FlowSchema of this UID; "": by none.
class Counting final : public upstream::ActingApi {
public:
  Counting(std::string uid, json names) : uid_(std::move(uid)), names_(std::move(names)) {}
  Result<http_client::Response> request(std::string_view, std::string_view, std::string_view,
                                        std::string, std::string_view) override {
    http_client::Response out;
    if (!uid_.empty()) out.headers.emplace_back("X-Kubernetes-PF-FlowSchema-UID", uid_);
    if (!groups.empty()) {
      out.status = 403;
      return out;
    }
    out.status = 200;
    auto items = json::array();
    for (const auto& each : names_)
      items.push_back({{"metadata", {{"name", each}, {"uid", "uid-" + each.get<std::string>()}}}});
    out.body = json{{"items", items}}.dump();
    return out;
  }
  void act_as(const std::string& user, const std::vector<std::string>& all) override {
    acts = user;
    groups = all;
  }
  std::string acts;
  std::vector<std::string> groups;

private:
  std::string uid_;
  json names_;
};

std::optional<tenants::Finding>
found(const std::string& own, const std::string& theirs,
      const json& names = json::array({"zoo-system", "zoo-tenants", "strange"})) {
  Counting zood(own, names), tenant(theirs, names);
  auto out = fairness_finding(zood, tenant);
  CHECK(zood.acts.empty());
  if (out) CHECK(tenant.groups == std::vector<std::string>{"zoo:tenants"});
  return out;
}

/// An upstream with these APIServices.
class Serving final : public upstream::ControlApi {
public:
  explicit Serving(json items) : items_(std::move(items)) {}
  Result<http_client::Response> request(std::string_view, std::string_view path, std::string_view,
                                        std::string, std::string_view) override {
    http_client::Response out;
    out.status = path == "/apis/apiregistration.k8s.io/v1/apiservices" ? 200 : 404;
    out.body = json{{"kind", "APIServiceList"}, {"items", items_}}.dump();
    return out;
  }

private:
  json items_;
};

json service(const std::string& name, const char* available, bool own = false) {
  json out = {{"metadata", {{"name", name}}}, {"spec", {{"group", "x"}}}};
  if (!own) out["spec"]["service"] = {{"name", "s"}, {"namespace", "n"}};
  const json condition = {
      {"type", "Available"}, {"status", available}, {"reason", "FailedDiscoveryCheck"}};
  out["status"]["conditions"] = json::array({condition});
  return out;
}

} // namespace

TEST_CASE("the upstream counts tenants and zood by the schemas that zood has installed") {
  const auto good = found("uid-zoo-system", "uid-zoo-tenants");
  REQUIRE(good);
  CHECK(good->level == Level::ok);
  CHECK(good->subject == "fairness");
}

TEST_CASE("a schema that takes their requests is named") {
  const auto tenants = found("uid-zoo-system", "uid-strange");
  REQUIRE(tenants);
  CHECK(tenants->level == Level::warning);
  CHECK(tenants->message ==
        "the upstream counts requests of tenants by FlowSchema strange, and not by zoo-tenants");
  CHECK(tenants->remedy.starts_with("give strange a higher matchingPrecedence than zoo-tenants"));
  const auto own = found("uid-new", "uid-zoo-tenants");
  REQUIRE(own);
  CHECK(own->message ==
        "the upstream counts zood's own requests by FlowSchema uid-new, and not by zoo-system");
}

TEST_CASE(
    "an upstream that does not share itself out is told of, and one without the schemas not") {
  const auto none = found("", "");
  REQUIRE(none);
  CHECK(none->level == Level::warning);
  CHECK(none->message.find("API priority and fairness") != std::string::npos);
  CHECK_FALSE(found("uid-strange", "uid-strange", json::array({"strange"})));
}

TEST_CASE("a service of another API server that does not answer is named") {
  auto items = json::array({service("v1.apps", "True", true), service("v1beta1.a", "True")});
  Serving good(items);
  const auto well = services_finding(good);
  REQUIRE(well);
  CHECK(well->level == Level::ok);
  CHECK(well->message == "all 1 that other API servers serve upstream answer");
  items.push_back(service("v1.b", "False"));
  items.push_back(service("v1alpha1.tenancy.kiosk.sh", "False"));
  Serving bad(items);
  const auto away = services_finding(bad);
  REQUIRE(away);
  CHECK(away->level == Level::warning);
  CHECK(away->subject == "api services");
  CHECK(away->message.starts_with("1 of 2 do not answer"));
  CHECK(away->message.ends_with(": v1.b (FailedDiscoveryCheck)"));
  for (int i = 0; i < 6; ++i)
    items.push_back(service("v1.c" + std::to_string(i), "False"));
  Serving worse(items);
  const auto many = services_finding(worse);
  REQUIRE(many);
  CHECK(many->message.ends_with(" and others"));
}
