// SPDX-License-Identifier: Apache-2.0
#include "common/kube/yaml.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using kube::yaml_to_json;

namespace {

std::string json(std::string_view yaml) {
  auto out = yaml_to_json(yaml);
  return out ? *out : "error: " + out.error().text();
}

std::string scalar(const std::string& text) {
  auto out = json("a: " + text);
  return out.starts_with(R"({"a":)") ? out.substr(5, out.size() - 6) : out;
}

std::string error(std::string_view yaml, Code code = Code::bad_request) {
  const auto out = yaml_to_json(yaml);
  if (out) return "no error: " + *out;
  CHECK(out.error().code() == code);
  return out.error().message();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("plain scalars mean what goyaml.v2 says") {
  const std::pair<const char*, const char*> cases[] = {
      {"yes", "true"},
      {"No", "false"},
      {"ON", "true"},
      {"off", "false"},
      {"y", "true"},
      {"N", "false"},
      {"true", "true"},
      {"FALSE", "false"},
      {"tRUE", R"("tRUE")"},
      {"~", "null"},
      {"null", "null"},
      {"Null", "null"},
      {"", "null"},
      {"nULL", R"("nULL")"},
      {"010", "8"},
      {"0o10", "8"},
      {"0x1F", "31"},
      {"-0x1f", "-31"},
      {"0b101", "5"},
      {"-0b11", "-3"},
      {"08", "8"},
      {"1_000", "1000"},
      {"+5", "5"},
      {"-0", "0"},
      {"0", "0"},
      {"00", "0"},
      {"0x", R"("0x")"},
      {"0b2", R"("0b2")"},
      {"1.5", "1.5"},
      {"1.50", "1.50"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"5.", "5"},
      {"+1.5", "1.5"},
      {"01.5", "1.5"},
      {"1e3", "1e3"},
      {"1E+3", "1e+3"},
      {"1e", R"("1e")"},
      {"1e1000", R"("1e1000")"},
      {"1e-1000", "1e-1000"},
      {".", R"(".")"},
      {"-", "error"},
      {"1.2.3", R"("1.2.3")"},
      {"1:30", R"("1:30")"},
      {"12:30:45", R"("12:30:45")"},
      {"2026-01-31", R"("2026-01-31")"},
      {"2026-01-31T10:00:00Z", R"("2026-01-31T10:00:00Z")"},
      {"18446744073709551615", "18446744073709551615"},
      {"0xffffffffffffffff", "18446744073709551615"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"-9223372036854775809", "-9223372036854775809"},
      {"nginx:1.25", R"("nginx:1.25")"},
      {"a b", R"("a b")"},
      {"'yes'", R"("yes")"},
      {"\"1\"", R"("1")"},
      {"!!str 1", R"("1")"},
      {"!!int 7", "7"},
      {"!!float 5", "5"},
      {"!!bool yes", "true"},
      {"!!binary aGFsbG8=", R"("hallo")"},
      {"!!null ~", "null"},
      {"!!timestamp 2026-01-31", R"("2026-01-31")"},
      {"'ä\"\\'", R"("ä\"\\")"}};
  for (const auto& [yaml, expected] : cases) {
    CAPTURE(yaml);
    if (std::string_view(expected) == "error") {
      CHECK(scalar(yaml).starts_with("error"));
    } else {
      CHECK(scalar(yaml) == expected);
    }
  }
}

TEST_CASE("every number that comes out is JSON") {
  for (const auto* yaml : {"010", "0o7", "0x1F", "1_0.5_0", ".5", "5.", "+.5e+10", "-.5", "00.5",
                           "1e1", "0b1", "-0", "+0", "-0.0", "08", "1__0"}) {
    CAPTURE(yaml);
    const auto out = nlohmann::json::parse(scalar(yaml), nullptr, false);
    CHECK(out.is_number());
  }
}

TEST_CASE("keys that are numbers or booleans become strings") {
  CHECK(json("1: a") == R"({"1":"a"})");
  CHECK(json("0x10: a") == R"({"16":"a"})");
  CHECK(json("yes: a") == R"({"true":"a"})");
  CHECK(json("1.5: a") == R"({"1.5":"a"})");
  CHECK(json("1e3: a") == R"({"1000":"a"})");
  CHECK(json("1234567.5: a") == R"({"1.2345675e+06":"a"})");
  CHECK(json("2026-01-31: a") == R"({"2026-01-31":"a"})");
  CHECK(json("\"\": a") == R"({"":"a"})");
  CHECK(contains(error("~: a"), "null"));
  CHECK(contains(error("? [a]\n: b"), "list or a mapping"));
  CHECK(contains(error("18446744073709551615: a"), "2^63"));
}

TEST_CASE("the order of keys is kept") {
  CHECK(json("z: 1\na: {c: 2, b: 3}\nm: [1, {x: z}]\n") ==
        R"({"z":1,"a":{"c":2,"b":3},"m":[1,{"x":"z"}]})");
}

TEST_CASE("block scalars, comments and JSON are YAML") {
  CHECK(json("a: |\n  one\n  two\n") == R"({"a":"one\ntwo\n"})");
  CHECK(json("a: >-\n  one\n  two\n") == R"({"a":"one two"})");
  CHECK(json("# c\na: 1 # d\n") == R"({"a":1})");
  CHECK(json(R"({"a": [1, "x", null, true]})") == R"({"a":[1,"x",null,true]})");
  CHECK(json("a: {}\nb: []\n") == R"({"a":{},"b":[]})");
}

TEST_CASE("anchors are expanded and merge keys merge where they stand") {
  CHECK(json("a: &x {b: 1}\nc: *x\n") == R"({"a":{"b":1},"c":{"b":1}})");
  CHECK(json("- &x 5\n- *x\n") == "[5,5]");
  CHECK(json("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n") ==
        R"({"a":{"b":1,"c":2},"d":{"b":1,"c":3}})");
  CHECK(json("a: &x {b: 1}\ne: &y {b: 2, f: 4}\nd: {<<: [*x, *y]}\n") ==
        R"({"a":{"b":1},"e":{"b":2,"f":4},"d":{"b":1,"f":4}})");
  CHECK(json("'<<': 1") == R"({"<<":1})");
  CHECK(json("- <<\n") == R"(["<<"])");
  CHECK(contains(error("a: 1\n<<: 5\n"), "line 2"));
  CHECK(contains(error("<<: [5]\n"), "<<"));
}

TEST_CASE("an alias inside its own anchor, or without one, is refused") {
  CHECK(contains(error("a: &x [*x]"), "inside its own anchor"));
  CHECK(contains(error("a: &x {<<: *x}"), "inside its own anchor"));
  CHECK(contains(error("a: *nowhere"), "line 1"));
}

TEST_CASE("a key that occurs twice is refused with its place") {
  CHECK(error("a: 1\nb: 2\na: 3\n") == "line 3: key \"a\" already set in map");
  CHECK(contains(error("a: {b: 1, b: 1}"), "already set in map"));
  CHECK(contains(error("1: a\n'1': b\n"), "already set in map"));
  CHECK(contains(error("x: &a {b: 1, b: 2}\ny: 1\n"), "already set in map"));
}

TEST_CASE("a key that occurs twice is kept where that is asked for") {
  kube::YamlLimits limits;
  limits.keep_repeated_keys = true;
  CHECK(yaml_to_json("a: 1\nb: {c: 2, c: 3}\na: 4\n", limits).value() ==
        R"({"a":1,"b":{"c":2,"c":3},"a":4})");
}

TEST_CASE("infinity, not-a-number and unknown tags are refused") {
  for (const auto* bad : {".inf", "-.INF", "+.Inf", ".nan", ".NaN"})
    CHECK(contains(error(std::string("a: ") + bad), "line 1, column 4"));
  CHECK(contains(error("a: !mine x"), "mine"));
  CHECK(contains(error("a: !mine [x]"), "mine"));
  CHECK(contains(error("a: !!int x"), "does not fit"));
  CHECK(contains(error("a: !!binary '%'"), "base64"));
}

TEST_CASE("exactly one document") {
  CHECK(json("") == "null");
  CHECK(json("# nothing\n") == "null");
  CHECK(json("---\na: 1\n...\n") == R"({"a":1})");
  CHECK(json("a: 1\n---\n") == R"({"a":1})");
  CHECK(json("a: 1\n---\n# nothing\n---\n") == R"({"a":1})");
  CHECK(contains(error("a: 1\n---\nb: 2\n"), "more than one document"));
  CHECK(contains(error("a: 1\n---\n---\nb: 2\n"), "more than one document"));
}

TEST_CASE("a mark outside of all lists is refused, and does not keep the parser for ever") {
  for (const auto* bad :
       {",", "]", "}", "a: 1\n]", ",*a]\n", "[a]]", "{a: b}}", "---\n,", "a: 1\n---\n]"}) {
    CAPTURE(std::string(bad));
    CHECK(contains(error(bad), "line "));
  }
}

TEST_CASE("broken YAML is refused with its place") {
  for (const auto* bad : {"a: [1", "a: 'x", "a: {b", "\t- a\n b", "a: b: c", "- a\nb: c\n", "@a",
                          "a: |x\n", "%YAML 9.9\n---\na\n"}) {
    CAPTURE(bad);
    CHECK(contains(error(bad), "line "));
  }
}

TEST_CASE("control characters and bytes that are not UTF-8 are refused") {
  CHECK(contains(error("a: \xff"), "UTF-8"));
  CHECK(contains(error(std::string_view("a: \0b", 5)), "line 1, column 4"));
  CHECK(contains(error("a: 1\nb: x\x04\nc: hidden\n"), "line 2, column 5"));
  CHECK(contains(error("a: \x7f"), "control"));
  CHECK(json("a: \"\\x01\\u20ac\"") == R"({"a":"\u0001€"})");
}

TEST_CASE("limits hold for depth, nodes, bytes and expansion") {
  CHECK(contains(error(std::string(10'000, '[') + std::string(10'000, ']'), Code::too_large),
                 "deeper"));
  CHECK(yaml_to_json(std::string(200, '[') + std::string(200, ']')));
  CHECK(contains(error(std::string(300, '[') + std::string(300, ']'), Code::too_large), "deeper"));
  std::string many = "[";
  for (int i = 0; i < 100'001; ++i)
    many += "1,";
  CHECK(contains(error(many + "]", Code::too_large), "100000 nodes"));
  CHECK(contains(error(std::string((3u << 20) + 1, ' '), Code::too_large), "bytes"));
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  std::string merges = "a0: &a0 {k: x}\n";
  for (int i = 1; i < 12; ++i) {
    laughs +=
        fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
    merges += fmt::format("a{0}: &a{0} {{<<: [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]}}\n",
                          i, i - 1);
  }
  CHECK(contains(error(laughs, Code::too_large), "expanding"));
  CHECK(contains(error(merges, Code::too_large), "expanding"));
  std::string large = "a: &a " + std::string(1u << 20, 'x') + "\nb: [";
  for (int i = 0; i < 20; ++i)
    large += "*a,";
  CHECK(contains(error(large + "]", Code::too_large), "bytes after expanding"));
}
