// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/definitions.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo::tenants;
using nlohmann::json;

TEST_CASE("the version that upstream misses") {
  const std::string said =
      "Internal error occurred: request to convert CR from an invalid group/version: ";
  CHECK(missing_version(said + "foofoo-example.com/v1alpha1", "foofoo-example.com") == "v1alpha1");
  CHECK(missing_version(said + "foofoo-example.com/v1, and more", "foofoo-example.com") == "v1");
  CHECK(missing_version(said + "foofoo-example.com/v1", "example.com").empty());
  CHECK(missing_version("storage is (re)initializing", "foofoo-example.com").empty());
}

TEST_CASE("under a readable definition everything can be read") {
  const auto before = json::parse(R"({"spec":{"group":"g.example.com",
    "names":{"plural":"xs","singular":"x","kind":"X","listKind":"XList"},
    "conversion":{"strategy":"Webhook","webhook":{}},
    "versions":[{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.a"}],
      "schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true}}}}},
      {"name":"v2","served":false,"storage":false}]},
    "status":{"acceptedNames":{"plural":"xs","singular":"","kind":"Other","listKind":""},"storedVersions":["v1"]}})");
  const auto after = readable_definition(before, "v1alpha1");
  const auto& versions = after["spec"]["versions"];
  REQUIRE(versions.size() == 3);
  for (const auto& each : versions)
    CHECK(
        each["schema"] ==
        json::parse(
            R"({"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}})"));
  CHECK(versions[0]["name"] == "v1");
  CHECK(versions[0]["served"] == true);
  CHECK(versions[0]["storage"] == true);
  CHECK_FALSE(versions[0].contains("selectableFields"));
  CHECK(versions[1]["served"] == false);
  CHECK(versions[2]["name"] == "v1alpha1");
  CHECK(versions[2]["served"] == false);
  CHECK(versions[2]["storage"] == false);
  CHECK(after["spec"]["conversion"] == json::parse(R"({"strategy":"None"})"));
  CHECK(after["status"]["acceptedNames"] ==
        json::parse(R"({"plural":"xs","singular":"x","kind":"Other","listKind":"XList"})"));
  // Once is enough, and what is there is not added.
  CHECK(readable_definition(after, "v1alpha1") == after);
  CHECK(readable_definition(after, "") == after);
}

TEST_CASE("a definition that hides its objects is established again") {
  const auto with = [](const char* kind, const char* conditions) {
    return json::parse(
        std::string(R"({"status":{"acceptedNames":{"plural":"xs","singular":"x","kind":")") + kind +
        R"(","listKind":"XList"},"conditions":)" + conditions + "}}");
  };
  const auto* no = R"([{"type":"Established","status":"False"},{"type":"Other","status":"True"}])";
  CHECK(hides_objects(with("X", no)));
  CHECK(hides_objects(with("X", "[]")));
  CHECK_FALSE(hides_objects(with("X", R"([{"type":"Established","status":"True"}])")));
  CHECK_FALSE(hides_objects(with("", no))); // its names were never accepted
  CHECK_FALSE(hides_objects(json::parse(R"({"spec":{}})")));
  const auto after = established(with("X", no));
  CHECK_FALSE(hides_objects(after));
  CHECK(after["status"]["conditions"].size() == 2);
  CHECK(after["status"]["conditions"][0]["type"] == "Other");
}
