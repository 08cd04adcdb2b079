// SPDX-License-Identifier: Apache-2.0
#include "common/kube/yaml.hpp"
#include "daemon/translate/json_yaml.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace zoo;

TEST_CASE("an answer in YAML reads as the JSON that it was made of") {
  for (
      const std::string text : {
          R"({})",
          R"([])",
          R"("text")",
          R"({"a":1,"b":[],"c":{},"d":null,"e":true,"f":1.5e3})",
          R"({"list":[1,"two",{"three":3,"four":[4,[5,{"six":6}]]},[]],"after":"x"})",
          R"({"strings":["yes","1e3","","a: b","- x","line\nbreak","ünï","~","0x1f"," lead","#c"]})",
          R"({"yes":1,"a b":2,"1":3,"":4})",
      }) {
    CAPTURE(text);
    const auto yaml = translate::json_to_yaml(text);
    REQUIRE(yaml);
    CAPTURE(*yaml);
    const auto back = kube::yaml_to_json(*yaml);
    REQUIRE(back);
    CHECK(nlohmann::json::parse(*back) == nlohmann::json::parse(text));
  }
}

TEST_CASE("block style, as kubectl prints it") {
  CHECK(*translate::json_to_yaml(R"({"kind":"Pod","spec":{"x":[{"a":1,"b":"2"},3]}})") ==
        "kind: Pod\nspec:\n  x:\n  - a: 1\n    b: \"2\"\n  - 3\n");
}

TEST_CASE("depth costs no stack") {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 150; ++i)
      text += open;
    text += "1";
    for (int i = 0; i < 150; ++i)
      text += open == "[" ? "]" : "}";
    const auto yaml = translate::json_to_yaml(text);
    REQUIRE(yaml);
    const auto back = kube::yaml_to_json(*yaml);
    REQUIRE(back);
    CHECK(nlohmann::json::parse(*back) == nlohmann::json::parse(text));
  }
  CHECK_FALSE(translate::json_to_yaml("{"));
}
