// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/kinds.hpp"
#include "daemon/resources/api.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace zoo;
using nlohmann::json;

namespace {

/// One account, which is written as it is told.
class OneAccount final : public resources::Backing {
public:
  json stored = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                 {"kind", "Account"},
                 {"metadata", {{"name", "blue"}, {"resourceVersion", "7"}}},
                 {"spec", {{"space", {{"limit", 2}}}}},
                 {"status", {{"namespaces", json::array({{{"name", "web"}}})}}}};

  Result<resources::ObjectPtr> get(const resources::Who&, const resources::Key&) override {
    return resources::make_object(stored);
  }
  Result<resources::Page> list(const resources::Who&, std::string_view, const resources::Key&,
                               std::size_t) override {
    return resources::Page{{resources::make_object(stored)}, 7, std::nullopt};
  }
  Result<std::unique_ptr<resources::Subscription>>
  watch(const resources::Who&, std::int64_t,
        std::function<void(const resources::Change&)>) override {
    return fail(Code::expired, "not here");
  }
  Result<resources::Written> update(const resources::Who&, json object,
                                    const resources::WriteOptions&) override {
    stored = std::move(object);
    return resources::Written{resources::make_object(stored)};
  }
};

struct AccountKindWorld {
  std::shared_ptr<OneAccount> backing = std::make_shared<OneAccount>();
  resources::Api api{{.kinds = {accounts::account_kind(backing)},
                      .name = "test",
                      .title = "test",
                      .later = [](const std::function<void()>& job) { job(); },
                      .now = [] { return std::int64_t{0}; }}};

  resources::Answer write(const char* method, const char* type, const json& body) const {
    http::RequestHead head;
    head.method = method;
    head.target = "/apis/tenancy.kiosk.sh/v1alpha1/accounts/blue";
    head.headers.add("content-type", type);
    auto request = resources::parse_request(head);
    REQUIRE(request);
    request->body = body.dump();
    const auto answer = api.handle(*request);
    REQUIRE(answer);
    return *answer;
  }
  resources::Answer merge(const json& patch) const {
    return write("PATCH", "application/merge-patch+json", patch);
  }
};

} // namespace

TEST_CASE("V4 whoever changes the status of an account is told that it is not his to write") {
  const AccountKindWorld world;
  const auto refused = world.merge({{"status", {{"namespaces", json::array()}}}});
  CHECK(refused.status == 422);
  CHECK(refused.body.find("status: field is immutable") != std::string::npos);
  CHECK(world.merge({{"status", {{"namespaces", json::array({{{"name", "web"}}})}}}}).status ==
        200);
  CHECK(world.merge({{"metadata", {{"labels", {{"a", "b"}}}}}}).status == 200);
  auto whole = world.backing->stored;
  whole["status"]["namespaces"] = json::array();
  CHECK(world.write("PUT", "application/json", whole).status == 422);
  whole.erase("status");
  CHECK(world.write("PUT", "application/json", whole).status == 200);
  CHECK(world.backing->stored["status"]["namespaces"].size() == 1);
}

TEST_CASE("a field of kiosk's README is hinted at by the name that it has") {
  const AccountKindWorld world;
  const auto answer = world.merge({{"spec", {{"spaceLimit", 5}}}});
  CHECK(answer.status == 200);
  CHECK(std::any_of(answer.warnings.begin(), answer.warnings.end(), [](const auto& warning) {
    return warning == "spec.spaceLimit has no effect: it is called spec.space.limit now";
  }));
}
