// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/control_api.hpp"
#include "daemon/virtuals/validate.hpp"
#include "tests/unit/virtuals/world.hpp"

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;
using namespace zoo::virtuals;

namespace {

class Scripted final : public upstream::ControlApi {
public:
  Result<http_client::Response> request(std::string_view method, std::string_view asked_path,
                                        std::string_view, std::string body,
                                        std::string_view) override {
    CHECK(method == "POST");
    path = asked_path;
    asked = json::parse(body);
    return answer;
  }
  std::string path;
  json asked;
  http_client::Response answer;
};

const translate::Mapping& mapping() {
  static const translate::Mapping out("foofoo", std::make_shared<translate::SharedNames>());
  return out;
}

} // namespace

TEST_CASE("upstream is asked for a dry run under a name of the tenant's") {
  Scripted api;
  auto defaulted = flow("foofoo-a");
  defaulted["spec"]["matchingPrecedence"] = 1000;
  api.answer = {201, {{"Warning", "299 - \"foofoo-a is odd\""}}, defaulted.dump()};
  auto object = flow("a");
  object["metadata"]["uid"] = "u";
  object["metadata"]["labels"] = {{"x", "1"}};
  object["status"] = {{"conditions", json::array()}};
  const auto verdict = must(ask_upstream(api, flows(), object, mapping(), "Strict"));
  CHECK(api.path.find("dryRun=All") != std::string::npos);
  CHECK(api.path.find("fieldValidation=Strict") != std::string::npos);
  CHECK(api.asked["metadata"] == json::parse(R"({"name":"foofoo-a","labels":{"x":"1"}})"));
  CHECK_FALSE(api.asked.contains("status"));
  CHECK(verdict.accepted);
  CHECK(verdict.spec["matchingPrecedence"] == 1000);
  REQUIRE(verdict.warnings.size() == 1);
  CHECK(verdict.warnings[0] == "299 - \"a is odd\"");
}

TEST_CASE("an APIService is asked for under the tenant's own group") {
  Scripted api;
  const auto object =
      object_of(services(), "v1.example.com", {{"group", "example.com"}, {"version", "v1"}});
  auto answer = object;
  answer["metadata"]["name"] = "v1.foofoo-example.com";
  answer["spec"]["group"] = "foofoo-example.com";
  answer["spec"]["versionPriority"] = 15;
  api.answer = {201, {}, answer.dump()};
  const auto verdict = must(ask_upstream(api, services(), object, mapping(), ""));
  CHECK(api.asked["metadata"]["name"] == "v1.foofoo-example.com");
  CHECK(api.asked["spec"]["group"] == "foofoo-example.com");
  CHECK(verdict.spec ==
        json::parse(R"({"group":"example.com","version":"v1","versionPriority":15})"));
}

TEST_CASE("a refusal comes in the tenant's names, zood's own trouble as such") {
  Scripted api;
  api.answer = {422, {}, R"({"kind":"Status","message":"FlowSchema \"foofoo-a\" is invalid",
                             "details":{"name":"foofoo-a"},"code":422})"};
  const auto verdict = must(ask_upstream(api, flows(), flow("a"), mapping(), ""));
  CHECK_FALSE(verdict.accepted);
  CHECK(verdict.status == 422);
  CHECK(verdict.body.find("foofoo-") == std::string::npos);
  api.answer = {403, {}, R"({"kind":"Status","reason":"Forbidden","message":"no","code":403})"};
  CHECK(ask_upstream(api, flows(), flow("a"), mapping(), "").error().code() == Code::unavailable);
  api.answer = {502, {}, "<html>"};
  CHECK(ask_upstream(api, flows(), flow("a"), mapping(), "").error().code() == Code::unavailable);
}
