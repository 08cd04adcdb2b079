// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/patch.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using namespace zoo;
using namespace zoo::resources;

namespace {
const json k_object = {{"metadata", {{"name", "foofoo"}, {"labels", {{"a", "1"}}}}},
                       {"spec", {{"displayName", "Foo"}}}};
}

TEST_CASE("a JSON patch is applied as a whole") {
  const auto out =
      json_patch(k_object, json::parse(R"([{"op":"test","path":"/spec/displayName","value":"Foo"},
                               {"op":"replace","path":"/spec/displayName","value":"Bar"},
                               {"op":"copy","from":"/metadata/labels/a","path":"/metadata/labels/b"},
                               {"op":"remove","path":"/metadata/labels/a"}])"));
  REQUIRE(out);
  CHECK((*out)["spec"]["displayName"] == "Bar");
  CHECK((*out)["metadata"]["labels"] == json{{"b", "1"}});
}

TEST_CASE("a JSON patch that does not apply is refused with its operation") {
  struct Case {
    const char* patch;
    Code code;
    const char* words;
  };
  for (const auto& each : {
           Case{R"({"spec":{}})", Code::bad_request, "list of operations"},
           Case{R"([{"path":"/a"}])", Code::bad_request, "no 'op'"},
           Case{R"([{"op":"frobnicate","path":"/a"}])", Code::bad_request, "malformed"},
           Case{R"([{"op":"add","path":"/a"}])", Code::bad_request, "malformed"},
           Case{R"([{"op":"add","path":"a","value":1}])", Code::bad_request, "malformed"},
           Case{R"([{"op":"test","path":"/spec/displayName","value":"X"}])", Code::invalid,
                "test of '/spec/displayName' failed"},
           Case{R"([{"op":"remove","path":"/spec/none"}])", Code::invalid, "cannot be applied"},
           Case{R"([{"op":"remove","path":""}])", Code::invalid, "cannot be applied"},
           Case{R"([{"op":"add","path":"/spec/displayName/x","value":1}])", Code::invalid,
                "leads into a value"},
           Case{R"([{"op":"copy","from":"/spec","path":"/spec/displayName/x"}])", Code::invalid,
                "leads into a value"},
           Case{R"([{"op":"remove","path":"/spec/displayName/x"}])", Code::invalid,
                "leads into a value"},
       }) {
    CAPTURE(each.patch);
    const auto out = json_patch(k_object, json::parse(each.patch));
    REQUIRE_FALSE(out);
    CHECK(out.error().code() == each.code);
    CHECK(out.error().message().find(each.words) != std::string::npos);
  }
}

TEST_CASE("copies cannot blow an object up") {
  json patch = json::array();
  for (int i = 0; i < 40; ++i)
    patch.push_back({{"op", "copy"}, {"from", ""}, {"path", "/metadata/x" + std::to_string(i)}});
  const auto out = json_patch(k_object, patch);
  REQUIRE_FALSE(out);
  CHECK(out.error().code() == Code::too_large);
}

TEST_CASE("a merge patch removes by null, an applied object does not") {
  const json patch = {{"metadata", {{"labels", {{"a", nullptr}, {"b", "2"}}}}}};
  CHECK((*merge_patch(k_object, patch))["metadata"]["labels"] == json{{"b", "2"}});
  CHECK((*apply_patch(k_object, patch))["metadata"]["labels"] == json{{"a", "1"}, {"b", "2"}});
  CHECK_FALSE(merge_patch(k_object, json::array()));
}

TEST_CASE("a move whose removal puts a string where it leads is refused") {
  const json object = {{"list", {"x", {{"a", 1}}, "y"}}};
  const auto out =
      json_patch(object, json::parse(R"([{"op":"move","from":"/list/0","path":"/list/1/k"}])"));
  REQUIRE_FALSE(out);
  CHECK(out.error().code() == Code::invalid);
  const auto moved =
      json_patch(object, json::parse(R"([{"op":"move","from":"/list/0","path":"/list/0/k"}])"));
  REQUIRE(moved);
  CHECK((*moved)["list"] == json{{{"a", 1}, {"k", "x"}}, "y"});
}
