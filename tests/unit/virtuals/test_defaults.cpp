// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/defaults.hpp"
#include "tests/unit/virtuals/world.hpp"

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;
using namespace zoo::virtuals;

TEST_CASE("every tenant has the mandatory objects, the same ones each time") {
  const Owner owner{"foofoo", "uid-1"};
  const std::string created = "2026-01-01T00:00:00Z";
  for (const auto* kind : {&flows(), &levels()}) {
    const auto objects = provided(*kind, owner, created, {});
    REQUIRE(objects.size() == (kind == &flows() ? 11 : 8));
    CHECK(objects[0]->name == "catch-all");
    CHECK(objects[1]->name == "exempt");
    CHECK(objects[0]->json == provided(*kind, owner, created, {})[0]->json);
    const auto shown = json::parse(objects[0]->json);
    CHECK(shown["metadata"]["creationTimestamp"] == created);
    CHECK(shown["metadata"]["uid"].get<std::string>().size() == 36);
    CHECK(shown["apiVersion"] == "flowcontrol.apiserver.k8s.io/v1");
    CHECK(
        shown["metadata"]["uid"] !=
        json::parse(provided(*kind, {"foofoo", "uid-2"}, created, {})[0]->json)["metadata"]["uid"]);
  }
}

TEST_CASE("every flow has its level") {
  for (const auto& each : provided(flows(), {"foofoo", "u"}, "2026-01-01T00:00:00Z", {})) {
    const auto flow = json::parse(each->json);
    CHECK(provides_level(flow["spec"]["priorityLevelConfiguration"]["name"].get<std::string>()));
  }
  CHECK_FALSE(provides_level("mine"));
}

TEST_CASE("there is an APIService for each group and version that is served") {
  const auto objects = provided(services(), {"foofoo", "u"}, "2026-01-01T00:00:00Z",
                                {{"", "v1"}, {"apps", "v1"}, {"example.com", "v1beta1"}});
  REQUIRE(objects.size() == 3);
  CHECK(objects[0]->name == "v1.");
  CHECK(objects[1]->name == "v1.apps");
  const auto own = json::parse(objects[2]->json);
  CHECK(own["metadata"]["name"] == "v1beta1.example.com");
  CHECK(own["spec"]["group"] == "example.com");
  CHECK(own["status"]["conditions"][0]["type"] == "Available");
  CHECK(own["status"]["conditions"][0]["status"] == "True");
}

TEST_CASE("the components are well") {
  const auto* kind = find_kind("", "componentstatuses");
  REQUIRE(kind != nullptr);
  const auto objects = provided(*kind, {"foofoo", "u"}, "2026-01-01T00:00:00Z", {});
  REQUIRE(objects.size() == 3);
  CHECK(json::parse(objects[2]->json)["conditions"][0]["status"] == "True");
}
