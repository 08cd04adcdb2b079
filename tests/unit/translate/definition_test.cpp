// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/definition.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/pattern.hpp"
#include "daemon/translate/rewrite.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <regex>

using namespace zoo;
using namespace zoo::translate;
using nlohmann::json;

namespace {

const Mapping mapping = test::tenant();

json definition(const json& schema) {
  return {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "abc123"}}}}},
          {"spec",
           {{"versions",
             json::array({json{{"name", "v1"}, {"schema", {{"openAPIV3Schema", schema}}}}})}}}};
}

json of_version(const json& schema) { return {{"properties", {{"apiVersion", schema}}}}; }

/// What is stored of that schema; it is proven, right, and reads as it was written.
json stored(const json& schema) {
  const auto text = definition(schema).dump();
  const auto in = definition_in(mapping, text);
  REQUIRE(in);
  CHECK(prove_definition(mapping, *in));
  CHECK(*repair_definition(mapping, *in) == *in);
  CHECK((*in == text || definition_may_change(mapping, *in)));
  CHECK(*definition_out(mapping, *in) == text);
  return json::parse(*in)["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

std::string refusal(const json& schema) {
  const auto in = definition_in(mapping, definition(schema).dump());
  return in ? "" : in.error().message();
}

} // namespace

TEST_CASE("what a schema says of its objects' apiVersion gets the prefix") {
  CHECK(stored(of_version({{"type", "string"}, {"enum", {"acid.zalan.do/v1", "v1", "apps/v1"}}})) ==
        of_version({{"type", "string"}, {"enum", {"abc123-acid.zalan.do/v1", "v1", "apps/v1"}}}));
  CHECK(stored(of_version({{"default", "a.b/v1"}, {"minLength", 3}, {"maxLength", 9}})) ==
        of_version({{"default", "abc123-a.b/v1"}, {"minLength", 10}, {"maxLength", 16}}));
  CHECK(stored(of_version({{"pattern", "^a\\.b/v[12]$"}})) ==
        of_version({{"pattern", "^abc123-a\\.b/v[12]$"}}));
  const json rules = json::array({{{"rule", "self == 'a.b/v1'"}}});
  CHECK(stored(of_version(
            {{"x-kubernetes-validations",
              rules}}))["properties"]["apiVersion"]["x-kubernetes-validations"][0]["rule"] ==
        "self.replace('abc123-', '', 1) == 'a.b/v1'");
}

TEST_CASE("schemas that are combined speak of the same apiVersion") {
  for (const auto* list : {"allOf", "anyOf", "oneOf"}) {
    CHECK(stored({{list, {of_version({{"enum", {"a.b/v1"}}})}}}) ==
          json{{list, {of_version({{"enum", {"abc123-a.b/v1"}}})}}});
    CHECK(stored(of_version({{list, {{{"enum", {"a.b/v1"}}}}}})) ==
          of_version({{list, {{{"enum", {"abc123-a.b/v1"}}}}}}));
  }
  CHECK(stored({{"not", of_version({{"enum", {"a.b/v1"}}})}}) ==
        json{{"not", of_version({{"enum", {"abc123-a.b/v1"}}})}});
  json deep = of_version({{"enum", {"a.b/v1"}}});
  for (int i = 0; i < 40; ++i)
    deep = json{{"not", deep}};
  CHECK(refusal(deep).find("rule definition-groups") != std::string::npos);
}

TEST_CASE("rules of a definition read the tenant's apiVersion") {
  const json schema = {
      {"x-kubernetes-validations",
       json::array({{{"rule", "self.apiVersion == 'a.b/v1'"},
                     {"messageExpression", "'not ' + self.apiVersion"}},
                    {{"rule", "!oldSelf.hasValue() || oldSelf.value().apiVersion == 'a'"},
                     {"optionalOldSelf", true}},
                    {{"rule", "self.spec.size > 1"}}})}};
  const auto out = stored(schema)["x-kubernetes-validations"];
  CHECK(out[0]["rule"] == "self.apiVersion.replace('abc123-', '', 1) == 'a.b/v1'");
  CHECK(out[0]["messageExpression"] == "'not ' + self.apiVersion.replace('abc123-', '', 1)");
  CHECK(out[1]["rule"].get<std::string>().find("[dyn(oldSelf.value().apiVersion)]") !=
        std::string::npos);
  CHECK(out[2]["rule"] == "self.spec.size > 1");
}

TEST_CASE("an apiVersion within the object is what the tenant wrote") {
  const json within = {
      {"properties",
       {{"spec",
         {{"x-kubernetes-validations", json::array({{{"rule", "self.apiVersion == 'a.b/v1'"}}})},
          {"properties",
           {{"apiVersion", {{"enum", {"a.b/v1"}}}},
            {"template",
             {{"x-kubernetes-embedded-resource", true},
              {"properties",
               {{"apiVersion", {{"pattern", "\\ba"}, {"default", "a.b/v1"}}}}}}}}}}}}}};
  CHECK(stored(within) == within);
}

TEST_CASE("a pattern that no other one can stand for is refused") {
  for (const auto* pattern : {"\\ba", "x|(^a)", "(?i)a", "\\Qa\\E", "a^b", "\\Aa"}) {
    const auto why = refusal(of_version({{"pattern", pattern}}));
    CHECK_MESSAGE(why.find("spec.versions[0].schema.openAPIV3Schema: the pattern of apiVersion") ==
                      0,
                  pattern);
    CHECK(why.find("(rule definition-groups)") != std::string::npos);
  }
}

TEST_CASE("a pattern behind a prefix matches what it matched without one") {
  const std::string prefix = "abc123-";
  for (const std::string pattern :
       {"^a\\.b/v1$", "b", "^a$|b|^c", "", "v[^|^]$", "^(a|b)+", "(?:a|b)$", "^[]^|(]", "a|", "/",
        "^a(?:b|c)\\|\\^", "[[:alpha:]^]\\("}) {
    CAPTURE(pattern);
    const auto in = pattern_in(prefix, pattern);
    REQUIRE(in);
    CHECK(pattern_out(prefix, *in) == pattern);
    if (pattern.find("[]") != std::string::npos || pattern.find("(]") != std::string::npos)
      continue;
    // std::regex knows no flags: '.' with line breaks is written out.
    auto plain = *in;
    for (std::size_t at; (at = plain.find("(?s:.*)")) != std::string::npos;)
      plain.replace(at, 7, "(?:[^]*)");
    for (const std::string value : {"a.b/v1", "a", "b", "c", "xa.b/v1", "", "a|", "bb", "acb",
                                    "ab|^", "v|", "v2", "x(", "^(", "-", "abc123-a"})
      CHECK(std::regex_search(prefix + value, std::regex(plain)) ==
            std::regex_search(value, std::regex(pattern)));
  }
  for (const auto* other : {"^a$", "abc123-", "(?s:.*)", "^abc123-a|b", "(", "["})
    CHECK(pattern_out(prefix, other) == other);
}

TEST_CASE("what a patch has left of a schema is made right") {
  const auto& root = root_of("apiextensions.k8s.io", "CustomResourceDefinition");
  const auto bare =
      definition(of_version({{"enum", {"a.b/v1"}}, {"maxLength", 6}, {"pattern", "^a"}})).dump();
  CHECK_FALSE(prove_definition(mapping, bare));
  const auto settled = settle(root, mapping, bare);
  REQUIRE((settled && *settled));
  CHECK(json::parse(**settled)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] ==
        of_version({{"enum", {"abc123-a.b/v1"}}, {"maxLength", 13}, {"pattern", "^abc123-a"}}));
  CHECK(prove_definition(mapping, **settled));
}

TEST_CASE("patches of a schema are translated at their place") {
  const auto& root = root_of("apiextensions.k8s.io", "CustomResourceDefinition");
  const std::string schema = "/spec/versions/0/schema/openAPIV3Schema";
  const auto patched = [&](const std::string& path, const json& value) {
    const json patch = {{{"op", "add"}, {"path", schema + path}, {"value", value}}};
    const auto out = patch_in(root, mapping, BodyFormat::json_patch, patch.dump(), "");
    REQUIRE(out);
    const auto operation = json::parse(*out)[0];
    CHECK(operation["path"] == schema + path);
    return operation["value"];
  };
  CHECK(patched("/properties/apiVersion/enum/0", "a.b/v1") == "abc123-a.b/v1");
  CHECK(patched("/properties/apiVersion/pattern", "^a") == "^abc123-a");
  CHECK(patched("/properties/apiVersion", {{"enum", {"a.b/v1"}}}) ==
        json{{"enum", {"abc123-a.b/v1"}}});
  CHECK(patched("/x-kubernetes-validations/0/rule", "self.apiVersion == 'x'") ==
        "self.apiVersion.replace('abc123-', '', 1) == 'x'");
  CHECK(patched("/properties/spec/properties/apiVersion/enum/0", "a.b/v1") == "a.b/v1");
  auto merge = definition(of_version({{"enum", {"a.b/v1"}}}));
  merge.erase("metadata");
  const auto out = patch_in(root, mapping, BodyFormat::merge_patch, merge.dump(), "");
  REQUIRE(out);
  CHECK(out->find("abc123-a.b/v1") != std::string::npos);
}

TEST_CASE("definitions that say nothing of it are not parsed when they are read") {
  CHECK_FALSE(definition_may_change(
      mapping, definition(of_version({{"type", "string"}, {"description", "a"}})).dump()));
  CHECK(definition_may_change(mapping, definition(of_version({{"maxLength", 9}})).dump()));
  CHECK(definition_may_change(mapping, definition(of_version({{"enum", {"abc123-x/v1"}}})).dump()));
}
