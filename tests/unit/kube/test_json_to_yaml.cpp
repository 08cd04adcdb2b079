// SPDX-License-Identifier: Apache-2.0
#include "common/kube/yaml.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using Json = nlohmann::ordered_json;

TEST_CASE("an object looks as kubectl prints it") {
  const auto value = Json::parse(R"({"kind":"Pod","metadata":{"name":"a","labels":{}},
    "spec":{"containers":[{"name":"c","args":["x","z"],"env":[]}],"nested":[[1,2],[{"a":1}]]}})");
  CHECK(kube::json_to_yaml(value) == "kind: Pod\n"
                                     "metadata:\n"
                                     "  name: a\n"
                                     "  labels: {}\n"
                                     "spec:\n"
                                     "  containers:\n"
                                     "  - name: c\n"
                                     "    args:\n"
                                     "    - x\n"
                                     "    - z\n"
                                     "    env: []\n"
                                     "  nested:\n"
                                     "  - - 1\n"
                                     "    - 2\n"
                                     "  - - a: 1\n");
}

TEST_CASE("strings that read as something else are quoted") {
  for (const auto* text : {"",
                           "123456",
                           "1e1000",
                           "yes",
                           "No",
                           "on",
                           "y",
                           "null",
                           "~",
                           "0x1f",
                           "0o17",
                           "010",
                           "1_000",
                           "1.5",
                           ".5",
                           "-1",
                           "+1",
                           ".inf",
                           ".NaN",
                           "1:30",
                           "<<",
                           "=",
                           "2026-01-31",
                           "2026-01-31T00:00:00Z",
                           "a: b",
                           "a #b",
                           "#a",
                           "- a",
                           "a:",
                           " a",
                           "a ",
                           "[a]",
                           "{a}",
                           "*a",
                           "&a",
                           "!a",
                           "|",
                           ">",
                           "'a",
                           "\"a",
                           "%a",
                           "@a",
                           "`a",
                           "?",
                           ":",
                           "-",
                           "true",
                           "1e3",
                           "0xffffffffffffffffffff",
                           "tab\t",
                           "cr\r",
                           "\x01",
                           "\xc2\x85",
                           "\xe2\x80\xa8",
                           "\xef\xbb\xbf"}) {
    CAPTURE(text);
    const auto shown = kube::yaml_scalar(text);
    CHECK(shown.front() == '"');
    CHECK(kube::yaml_to_json("a: " + shown).value() == Json({{"a", text}}).dump());
  }
}

TEST_CASE("ordinary strings are plain") {
  for (const auto* text :
       {"foofoo", "nginx:1.25", "10.0.0.1", "a b", "kube-system", "v1", "1.2.3", "apps/v1",
        "https://127.0.0.1:7443", "grün", "a#b", "1a2b3c", "e5", "_x"}) {
    CAPTURE(text);
    CHECK(kube::yaml_scalar(text) == text);
    CHECK(kube::yaml_to_json(std::string("a: ") + text).value() == Json({{"a", text}}).dump());
  }
}

TEST_CASE("several lines become a block where that is exact") {
  CHECK(kube::json_to_yaml(Json{{"a", "one\n\n  two\n"}}) == "a: |\n  one\n\n    two\n");
  CHECK(kube::json_to_yaml(Json{{"a", {"x\ny"}}}) == "a:\n- |-\n  x\n  y\n");
  for (const auto* text :
       {"one\ntwo", "one\ntwo\n", "one\ntwo\n\n", "one\n\n\ntwo\n\n\n", "\none", " one\ntwo",
        "one \ntwo", "one\n ", "\n", "\n\n", "a\tb\nc", "a\r\nb", "# x\n- y: z\n", "---\na\n...\n",
        "a\n\xe2\x80\xa8"
        "b"}) {
    CAPTURE(text);
    for (const auto& value : {Json{{"a", text}, {"b", 1}}, Json{{"l", {text, {{"k", text}}}}}}) {
      CHECK(kube::yaml_to_json(kube::json_to_yaml(value)).value() ==
            Json::parse(value.dump()).dump());
    }
  }
}

TEST_CASE("whatever is written reads back as it was") {
  const auto value = Json::parse(R"({"123456":"1e1000","yes":true,"n":null,"f":1.5,"i":-3,
    "big":18446744073709551615,"e":{},"l":[],"deep":[[[{"a":[{"b":{"c":[]}}]}]]],"":"",
    "kubezoo.io/x":"{\"json\": [1]}","lines":["a\nb\n",{"k":"x\ny"}]})");
  CHECK(kube::yaml_to_json(kube::json_to_yaml(value)).value() == value.dump());
  CHECK(kube::json_to_yaml(Json("x")) == "x\n");
  CHECK(kube::json_to_yaml(Json::object()) == "{}\n");
  CHECK(kube::json_to_yaml(nlohmann::json::parse("[1]")) == "- 1\n");
}
