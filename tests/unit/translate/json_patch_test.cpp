// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_patch.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace zoo::translate {
namespace {

using Json = nlohmann::json;

std::string patched(std::string_view document, std::string_view patch) {
  auto value = JsonValue::parse(document);
  const auto tree = JsonTree::parse(patch);
  REQUIRE(value);
  REQUIRE(tree);
  const auto done = apply_json_patch(*value, tree->root());
  return done ? value->written() : "error: " + done.error().message();
}

TEST_CASE("a JSON patch does what RFC 6902 says") {
  struct Row {
    std::string_view document, patch, result;
  };
  constexpr Row rows[] = {
      {R"({"a":1})", R"([])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":[1.0e2]}])", R"({"a":1,"b":[1.0e2]})"},
      {R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a/b":{"~":1}})", R"([{"op":"replace","path":"/a~1b/~0","value":2}])",
       R"({"a/b":{"~":2}})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
       R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
      {R"({"a":{"b":1,"c":"\u0041"}})", R"([{"op":"test","path":"/a","value":{"c":"A","b":1}}])",
       R"({"a":{"b":1,"c":"\u0041"}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])", R"({"a":1})"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.patch);
    CHECK(patched(row.document, row.patch) == row.result);
  }
}

TEST_CASE("objects with very many members are compared and merged in a moment") {
  // Looking through all members for each member would take minutes.
  constexpr int k_members = 200'000;
  const auto wide = [](int first, int step, std::string_view value) {
    auto out = JsonValue::object();
    for (int i = 0; i < k_members; ++i)
      out.members.push_back({std::to_string(first + step * i), JsonValue::string(value)});
    return out;
  };
  const auto from = wide(0, 1, "a");
  CHECK(same_json(from, wide(k_members - 1, -1, "a")));
  CHECK_FALSE(same_json(from, wide(k_members, -1, "a")));

  auto document = from;
  document.set("own", JsonValue::string("b"));
  merge_changes(document, from, wide(k_members + 9, -1, "c")); // ten new names, ten old ones gone
  CHECK(document.members.size() == k_members + 1);
  CHECK(document.find("9") == nullptr);
  REQUIRE(document.find("10") != nullptr);
  CHECK(document.find("10")->unquoted() == "c");
  CHECK(document.find("own")->unquoted() == "b");
  REQUIRE(document.find("200009") != nullptr);
  CHECK(document.find("200009")->unquoted() == "c");

  merge_changes(document, wide(10, 1, "c"), JsonValue::object());
  CHECK(document.written() == R"({"own":"b"})");
  const auto changes = json_patch_between(from, wide(k_members, -1, "a"));
  CHECK(changes == R"([{"op":"remove","path":"/0"},{"op":"add","path":"/200000","value":"a"}])");
}

TEST_CASE("a JSON patch of what is not there is refused") {
  for (const std::string_view patch : {
           R"([{"op":"replace","path":"/b","value":1}])",
           R"([{"op":"remove","path":"/b"}])",
           R"([{"op":"add","path":"/b/c","value":1}])",
           R"([{"op":"add","path":"/l/3","value":1}])",
           R"([{"op":"add","path":"/l/01","value":1}])",
           R"([{"op":"add","path":"/l/x","value":1}])",
           R"([{"op":"add","path":"/a/x","value":1}])",
           R"([{"op":"remove","path":"/l/-"}])",
           R"([{"op":"copy","from":"/b","path":"/c"}])",
           R"([{"op":"move","from":"/b","path":"/c"}])",
           R"([{"op":"copy","path":"/c"}])",
           R"([{"op":"replace","path":"","value":1}])",
           R"([{"op":"remove","path":"a"}])",
           R"([{"op":"remove","path":"/a~2"}])",
           R"([{"op":"test","path":"/a","value":2}])",
           R"([{"op":"frobnicate","path":"/a"}])",
           R"([{"op":"remove","op":"remove","path":"/a"}])",
           R"([{"op":"remove"}])",
           R"([1])",
           R"({"op":"remove","path":"/a"})",
       }) {
    CAPTURE(patch);
    CHECK(patched(R"({"a":1,"l":[1]})", patch).starts_with("error: "));
  }
}

TEST_CASE("a JSON patch has bounds") {
  std::string doubles = R"([{"op":"add","path":"/a","value":"0123456789abcdef"})";
  for (int i = 0; i < 40; ++i)
    doubles += R"(,{"op":"copy","from":"","path":"/a"})"; // the whole object cannot be copied
  CHECK(patched("{}", doubles + "]").starts_with("error: "));
  std::string grows = R"([{"op":"add","path":"/l","value":[1]})";
  for (int i = 0; i < 40; ++i)
    grows += R"(,{"op":"copy","from":"/l","path":"/l/-"})";
  CHECK(patched("{}", grows + "]").find("copies") != std::string::npos);
  std::string many = "[";
  for (std::size_t i = 0; i <= k_max_operations; ++i)
    many += (i == 0 ? "" : ",") + std::string(R"({"op":"test","path":"/a","value":null})");
  CHECK(patched("{}", many + "]").find("maximum operations") != std::string::npos);
  std::string wide = "{";
  for (int i = 0; i < 4000; ++i)
    wide += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":0";
  for (const auto* op : {"test", "add"}) {
    std::string slow = "[";
    for (int i = 0; i < 9000; ++i)
      slow += (i == 0 ? R"({"op":")" : R"(,{"op":")") + std::string(op) +
              R"(","path":"/m3999","value":0})";
    CHECK(patched(wide + "}", slow + "]").find("takes too long") != std::string::npos);
  }
}

std::string merged(std::string_view document, std::string_view from, std::string_view to) {
  auto value = JsonValue::parse(document);
  const auto was = JsonValue::parse(from), is = JsonValue::parse(to);
  REQUIRE(value);
  REQUIRE(was);
  REQUIRE(is);
  merge_changes(*value, *was, *is);
  return value->written();
}

TEST_CASE("changes are made on an object that holds more") {
  CHECK(merged(R"({"a":1,"own":2})", R"({"a":1})", R"({"a":3})") == R"({"a":3,"own":2})");
  CHECK(merged(R"({"m":{"a":"1","own":"2"}})", R"({"m":{"a":"1"}})", R"({})") ==
        R"({"m":{"own":"2"}})");
  CHECK(merged(R"({"m":{"a":"1"}})", R"({"m":{"a":"1"}})", R"({})") == R"({})");
  CHECK(merged(R"({"m":{"own":"2"}})", R"({})", R"({"m":{"a":"1"}})") ==
        R"({"m":{"own":"2","a":"1"}})");
  CHECK(merged(R"({"l":[{"name":"x","own":1}]})", R"({"l":[{"name":"x"}]})",
               R"({"l":[{"name":"x","i":2}]})") == R"({"l":[{"name":"x","own":1,"i":2}]})");
  CHECK(merged(R"({"l":[{"name":"x","own":1}]})", R"({"l":[{"name":"x"}]})",
               R"({"l":[{"name":"y"}]})") == R"({"l":[{"name":"y"}]})");
  CHECK(merged(R"({"l":[1,2]})", R"({"l":[1,2]})", R"({"l":[1]})") == R"({"l":[1]})");
  CHECK(merged(R"({"a":[]})", R"({"a":[]})", R"({"a":{}})") == R"({"a":{}})");
  CHECK(merged(R"({"a":1})", R"({"a":1})", R"({"a":1})") == R"({"a":1})");
}

TEST_CASE("a patch between two objects makes the one of the other") {
  const std::string from = R"({"kind":"Pod","metadata":{"name":"a","labels":{"x":"1"},)"
                           R"("annotations":{"k":"v"}},"spec":{"a":1},"status":{}})";
  const std::string to = R"({"kind":"Pod","metadata":{"name":"a","labels":{"x":"2"},)"
                         R"("finalizers":["f"]},"spec":{"a":1,"b":[{}]}})";
  const auto was = JsonValue::parse(from), is = JsonValue::parse(to);
  REQUIRE(was);
  REQUIRE(is);
  const auto patch = Json::parse(json_patch_between(*was, *is));
  CHECK(Json::parse(from).patch(patch) == Json::parse(to));
  CHECK(patch.size() == 5);
  CHECK(json_patch_between(*was, *was) == "[]");
}

TEST_CASE("what is nested too deeply is not read") {
  const std::string deep = std::string(3000, '[') + std::string(3000, ']');
  CHECK_FALSE(JsonValue::parse(deep));
  CHECK_FALSE(JsonValue::parse(R"({"a":1,"a":2})"));
}

} // namespace
} // namespace zoo::translate
