// SPDX-License-Identifier: Apache-2.0
#include "common/templates/parameters.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::templates;
using nlohmann::json;

namespace {

Lookup always(const std::string& value) {
  return [value](std::string_view) -> Result<std::optional<std::string>> { return value; };
}
const Lookup nobody = [](std::string_view) -> Result<std::optional<std::string>> {
  return std::optional<std::string>();
};
const Lookup forbidden = [](std::string_view name) -> Result<std::optional<std::string>> {
  return fail(Code::invalid, "asked for {}", name);
};

struct Case {
  const char* input;
  Lookup lookup;
  json output;
};

std::string refused(const Parameter& parameter, const Values& given) {
  const auto done = choose_values({parameter}, given, "t");
  REQUIRE_FALSE(done);
  CHECK(done.error().code() == Code::invalid);
  return done.error().message();
}

} // namespace

TEST_CASE("P1 P2 P4 P5 P6 P7 P8 P9 P10 P12 P13 P14 parameters are replaced as kiosk does") {
  const Case cases[] = {
      {" test abc ${Test} ", always("test"), " test abc test "},
      {"${Test}", always("${Test}"), "${Test}"}, // a value is not looked at again
      {" test abc $${Test} ", forbidden, " test abc ${Test} "},
      {" test abc $$${Test} ", forbidden, " test abc $${Test} "},
      {" test ${ABC}${Test} abc $${Test}${Test} ", always("test"),
       " test testtest abc ${Test}test "},
      {"${Test}${Test}${Test}", always("Test"), "TestTestTest"},
      {"${integer}", always("1"), "1"},
      {"${bool}", always("true"), "true"},
      {"Test", forbidden, "Test"},
      {"${{Test}}", always("1"), 1},
      {"${{Test}}", always("false"), false},
      {"${{Test}}", always("0.5"), 0.5},
      {"${{Test}}", always("{a: [1, x]}"), {{"a", {1, "x"}}}},
      {"${{Test}}", always(""), nullptr},
      {"a ${unknown} b", nobody, "a ${unknown} b"},
      {"${{unknown}}", nobody, "${{unknown}}"},
      {"$", forbidden, "$"},
      {"$${", forbidden, "$${"},
      {"${}", forbidden, "${}"},
      {"$a{b}", forbidden, "$a{b}"},
      {"", forbidden, ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.input);
    const auto done = substitute(one.input, one.lookup);
    REQUIRE(done);
    CHECK(*done == one.output);
  }
}

TEST_CASE("P3 P11 a name is asked for as it stands, and its error is passed on") {
  std::string asked;
  const Lookup listens = [&](std::string_view name) -> Result<std::optional<std::string>> {
    asked = name;
    return std::string("x");
  };
  REQUIRE(substitute(" test abc ${Test} ", listens));
  CHECK(asked == "Test");
  REQUIRE(substitute("${{namespace.metadata.labels.a/b}}", listens));
  CHECK(asked == "namespace.metadata.labels.a/b");
  const auto done = substitute("${bool}", forbidden);
  REQUIRE_FALSE(done);
  CHECK(done.error().message() == "asked for bool");
}

TEST_CASE("a value adds no key beside the one that it stands at, and costs what it may cost") {
  json object = {{"a", "${x}"}, {"${x}", "k"}, {"list", {"${x}", 1, nullptr}}};
  REQUIRE(substitute_all(object, always("1\nevil: true")));
  CHECK(object ==
        json{{"a", "1\nevil: true"}, {"${x}", "k"}, {"list", {"1\nevil: true", 1, nullptr}}});
  CHECK_FALSE(substitute("${{x}}", always("a: b: c")));
  CHECK_FALSE(substitute("${{x}}", always("[" + std::string(70'000, '1') + "]")));
  CHECK_FALSE(substitute("${{x}}", always(std::string(200, '[') + std::string(200, ']'))));
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'h'; ++c)
    bomb +=
        fmt::format("{}: &{} [*{},*{},*{},*{},*{},*{},*{},*{}]\n", c, c, char(c - 1), char(c - 1),
                    char(c - 1), char(c - 1), char(c - 1), char(c - 1), char(c - 1), char(c - 1));
  CHECK_FALSE(substitute("${{x}}", always(bomb)));
}

TEST_CASE("N16 values are checked: declared, required, and whole") {
  const Parameter plain{"size", "1", false, ""};
  CHECK(choose_values({plain}, {}, "t")->at("size") == "1");
  CHECK(choose_values({plain}, {{"size", "2"}}, "t")->at("size") == "2");
  CHECK(refused(plain, {{"colour", "red"}}) ==
        "parameter \"colour\" is not declared by template \"t\" (it declares size)");
  const auto none = choose_values({}, {{"colour", "red"}}, "t");
  REQUIRE_FALSE(none);
  CHECK(none.error().message() ==
        "parameter \"colour\" is not declared by template \"t\" (it declares none)");

  const Parameter required{"size", std::nullopt, true, ""};
  CHECK(refused(required, {}) ==
        "parameter \"size\" of template \"t\" is required and has no value");
  CHECK(choose_values({required}, {{"size", ""}}, "t")->at("size").empty());
  CHECK(choose_values({{"size", "1", true, ""}}, {}, "t")->at("size") == "1"); // met by the default
  CHECK(choose_values({{"size", std::nullopt, false, "[0-9]+"}}, {}, "t")->at("size").empty());

  const Parameter number{"size", "1", false, "[0-9]+"};
  CHECK(choose_values({number}, {{"size", "22"}}, "t"));
  CHECK(refused(number, {{"size", "22x"}}) ==
        "parameter \"size\" of template \"t\": the value \"22x\" does not match \"[0-9]+\"");
  CHECK_FALSE(choose_values({number}, {{"size", "2\n2"}}, "t"));
  CHECK_FALSE(
      choose_values({{"size", "x", false, "[0-9]+"}}, {{"size", "1"}}, "t"));    // a wrong default
  CHECK(choose_values({{"size", "0.5", false, "^[0-9]*\\.?[0-9]+$"}}, {}, "t")); // kiosk's example
  CHECK(refused({"size", "1", false, "("}, {}).find("is no regular expression") !=
        std::string::npos);
  CHECK_FALSE(choose_values({{"size", "1", false, std::string(5'000, '.')}}, {}, "t"));
  CHECK_FALSE(choose_values({{"size", "1", false, "((a{1,1000}){1,1000}){1,1000}"}}, {}, "t"));
}

TEST_CASE("predefined names go first, whatever their case") {
  Surroundings at{"web", "team", "", {{"tier", "gold"}}, {{"Note", "n"}}, {}, {{"a", "b"}}};
  const Values values{{"namespace", "theirs"}, {"SIZE", "3"}};
  const auto lookup = lookup_in(at, values);
  const auto value = [&](std::string_view name) { return lookup(name)->value_or("?"); };
  CHECK(value("namespace") == "web");
  CHECK(value("NAMESPACE") == "web");
  CHECK(value("Account") == "team");
  CHECK(value("namespace.metadata.labels.tier") == "gold");
  CHECK(value("Namespace.Metadata.Annotations.Note") == "n");
  CHECK(value("account.metadata.annotations.a") == "b");
  CHECK(value("SIZE") == "3");
  CHECK(value("size") == "?");
  CHECK_FALSE(lookup("namespace.metadata.labels.none"));
  CHECK_FALSE(lookup("account.metadata.labels.a"));
  CHECK_FALSE(lookup("tenant"));
  at.account.clear();
  const auto ownerless = lookup("account");
  REQUIRE_FALSE(ownerless);
  CHECK(ownerless.error().message() ==
        "${account} has no value: no account owns namespace \"web\"");
}
