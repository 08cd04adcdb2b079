// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/openapi_v2.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace zoo::translate;
using Json = nlohmann::json;

namespace {

OpenApiPart part_of(const Json& paths, const Json& schemas) {
  const Json document{{"openapi", "3.0.0"},
                      {"info", {{"title", "Kubernetes"}, {"version", "v1.36.3"}}},
                      {"paths", paths},
                      {"components", {{"schemas", schemas}}}};
  auto part = openapi_v2_part(document.dump());
  REQUIRE(part.has_value());
  return *std::move(part);
}

Json schema(const char* text) {
  return Json::parse(part_of(Json::object(), {{"a", Json::parse(text)}}).definitions.at("a"));
}

Json J(const char* text) { return Json::parse(text); }

std::string whole(const OpenApiPart& part) {
  const auto text = openapi_v2_text(part);
  return openapi_v2_begin(part.version) + text.paths + std::string(k_openapi_v2_definitions) +
         text.definitions + std::string(k_openapi_v2_parameters) + text.parameters +
         std::string(k_openapi_v2_end);
}

} // namespace

// The expectations are what kube-apiserver 1.36.3 makes of the same definitions.
TEST_CASE("a schema loses what OpenAPI 2.0 or kubectl cannot read") {
  CHECK(schema(R"({"allOf":[{"$ref":"#/components/schemas/b"}],"default":{},"description":"d"})") ==
        J(R"({"$ref":"#/definitions/b","description":"d"})"));
  CHECK(schema(R"({"$ref":"#/components/schemas/b"})") == J(R"({"$ref":"#/definitions/b"})"));
  CHECK(schema(R"({"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]})") ==
        J(R"({"format":"int-or-string","type":"string"})"));
  CHECK(schema(R"({"type":"string","default":"x","enum":["x"],"example":"y","not":{}})") ==
        J(R"({"type":"string","enum":["x"],"example":"y"})"));
  CHECK(schema(R"({"type":"object","properties":{"default":{"type":"string","nullable":true},
                   "b":{"type":"integer"}},"required":["default","b"]})") ==
        J(R"({"type":"object","properties":{"default":{},"b":{"type":"integer"}},
              "required":["b"]})"));
  CHECK(schema(R"({"type":"object","nullable":true,"properties":{"a":{}},"description":"d"})") ==
        J(R"({"description":"d"})"));
  CHECK(schema(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true,
                   "properties":{"a":{}}})") ==
        J(R"({"x-kubernetes-preserve-unknown-fields":true})"));
  CHECK(schema(R"({"type":"array","items":{"type":"object","additionalProperties":
                   {"$ref":"#/components/schemas/b"}}})") ==
        J(R"({"type":"array","items":{"type":"object","additionalProperties":
              {"$ref":"#/definitions/b"}}})"));
  CHECK(schema(R"({"type":"array","description":"of anything"})") ==
        J(R"({"description":"of anything"})"));
  CHECK(schema(R"({"type":"object","additionalProperties":true})") ==
        J(R"({"type":"object","additionalProperties":true})"));
  CHECK(schema(R"({"type":"object","description":"d","x-kubernetes-preserve-unknown-fields":true,
                   "x-kubernetes-group-version-kind":[{"group":"g","version":"v","kind":"K"}]})") ==
        J(R"({"type":"object",
              "x-kubernetes-group-version-kind":[{"group":"g","version":"v","kind":"K"}]})"));
}

TEST_CASE("a schema may be nested as deeply as a request") {
  std::string text = R"({"type":"string"})";
  for (int i = 0; i < 2000; ++i)
    text = R"({"type":"object","properties":{"a":)" + text + "}}";
  auto part = openapi_v2_part(R"({"openapi":"3.0.0","components":{"schemas":{"a":)" + text + "}}}");
  REQUIRE(part.has_value());
  CHECK(Json::accept(part->definitions.at("a")));
}

TEST_CASE("operations take their bodies among the parameters, and share those") {
  const auto paths = J(R"({"/apis/g/v1/things":{
    "parameters":[{"name":"pretty","in":"query","description":"p",
                   "schema":{"type":"string","uniqueItems":true}},
                  {"name":"dryRun","in":"query","schema":{"type":"string","uniqueItems":true}}],
    "post":{"operationId":"createThing","tags":["t"],
      "requestBody":{"required":true,"content":{"*/*":{"schema":{"$ref":"#/components/schemas/T"}}}},
      "responses":{"200":{"description":"OK","content":{
          "application/json":{"schema":{"$ref":"#/components/schemas/T"}},
          "application/yaml":{"schema":{"$ref":"#/components/schemas/T"}}}},
        "401":{"description":"Unauthorized"}},
      "x-kubernetes-action":"post"},
    "delete":{"requestBody":{"content":{"*/*":{"schema":
        {"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"}}}},
      "responses":{"200":{"description":"OK"}}}}})");
  const auto part = part_of(paths, Json::object());
  const auto path = Json::parse(part.paths.at("/apis/g/v1/things"));
  const auto post = path["post"];
  CHECK(post["operationId"] == "createThing");
  CHECK(post["x-kubernetes-action"] == "post");
  CHECK(post["consumes"] == J(R"(["*/*"])"));
  CHECK(post["produces"] == J(R"(["application/json","application/yaml"])"));
  CHECK(post["schemes"] == J(R"(["https"])"));
  CHECK(post["parameters"] ==
        J(R"([{"name":"body","in":"body","required":true,"schema":{"$ref":"#/definitions/T"}}])"));
  CHECK(post["responses"] == J(R"({"200":{"description":"OK","schema":{"$ref":"#/definitions/T"}},
              "401":{"description":"Unauthorized"}})"));
  CHECK_FALSE(post.contains("requestBody"));

  // What kubectl before 1.27 looks for stands where it looks.
  REQUIRE(path["parameters"].size() == 2);
  CHECK(path["parameters"][1] ==
        J(R"({"name":"dryRun","in":"query","type":"string","uniqueItems":true})"));
  REQUIRE(part.parameters.size() == 2);
  for (const auto& reference : {path["parameters"][0], path["delete"]["parameters"][0]}) {
    const auto name = reference["$ref"].get<std::string>();
    REQUIRE(name.starts_with("#/parameters/"));
    CHECK(part.parameters.contains(name.substr(13)));
  }
}

TEST_CASE("parts become one document") {
  auto common =
      part_of({{"/apis/", Json::object()}}, J(R"({"b":{"type":"string"},"meta":{"type":"object",
      "x-kubernetes-group-version-kind":[{"group":"","kind":"D","version":"v1"}]}})"));
  const auto other = part_of({{"/apis/x/", Json::object()}}, J(R"({"meta":{"type":"object",
      "x-kubernetes-group-version-kind":[{"group":"x","kind":"D","version":"v1"}]}})"));
  common.merge(other);
  const auto document = Json::parse(whole(common));
  CHECK(document["swagger"] == "2.0");
  CHECK(document["info"]["version"] == "v1.36.3");
  CHECK(document["paths"].size() == 2);
  CHECK(document["definitions"]["meta"]["x-kubernetes-group-version-kind"].size() == 2);

  const auto own = part_of({{"/apis/own/", Json::object()}, {"/apis/", Json::object()}},
                           J(R"({"own":{},"b":{"type":"integer"}})"));
  const auto text = openapi_v2_text(own, &common);
  CHECK(text.paths == R"(,"/apis/own/":{})");
  CHECK(text.definitions == R"(,"own":{})"); // what is common stays as it is
  CHECK(text.parameters.empty());
  CHECK(common.bytes() > 0);
}

TEST_CASE("something else is no OpenAPI document") {
  CHECK_FALSE(openapi_v2_part("{}").has_value());
  CHECK_FALSE(openapi_v2_part("not JSON").has_value());
  CHECK_FALSE(openapi_v2_part(R"({"openapi":"2.0"})").has_value());
}
