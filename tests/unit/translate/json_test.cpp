// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace zoo::translate {
namespace {

TEST_CASE("the validator takes what RFC 8259 takes") {
  for (const char* text : {"{}", "[]", "null", "true", "false", "0", "-0", "-1.5e+10", "1E2",
                           "\"\"", " [1 , 2 ] ", R"({"a":{"b":[{},[],"\u00e9\"\\\/\b\f\n\r\t"]}})",
                           "\"\xC3\xA9\"", R"("\ud800")", R"({"a":1,"a":2})"}) {
    CAPTURE(text);
    CHECK(check_json(text));
  }
}

TEST_CASE("the validator says where and what") {
  struct Row {
    std::string text;
    const char* says;
  };
  for (const auto& row : {
           Row{"", "ends at byte 0 where a value should begin"},
           Row{"{", "ends at byte 1 where the key"},
           Row{"{\"a\"}", "character '}' at byte 4 behind the key"},
           Row{"{\"a\":}", "character '}' at byte 5 where a value"},
           Row{"{\"a\":1,}", "character '}' at byte 7 where the key"},
           Row{"[1,]", "character ']' at byte 3 where a value"},
           Row{"[1 2]", "character '2' at byte 3 behind an element"},
           Row{"[}", "character '}' at byte 1"},
           Row{"{]", "character ']' at byte 1"},
           Row{"01", "character '1' at byte 1 behind the value's end"},
           Row{"-", "needs a digit"},
           Row{"1.", "decimal point"},
           Row{"1e", "exponent"},
           Row{"nul", "within null"},
           Row{"nulL", "character 'L' at byte 3"},
           Row{"\"a", "within a string"},
           Row{"\"\\x\"", "behind a backslash"},
           Row{"\"\\u12g4\"", "four hex digits"},
           Row{std::string("\"\0\"", 3), "byte 0x00"},
           Row{"\"\n\"", "must be escaped"},
           Row{"\"\xFF\"", "not UTF-8"},
           Row{"\"\xED\xA0\x80\"", "not UTF-8"},
           Row{"\xEF\xBB\xBF{}", "byte 0xef"},
           Row{"{} x", "behind the value's end"},
           Row{"'a'", "where a value should begin"},
           Row{"{a:1}", "where the key"},
       }) {
    CAPTURE(row.text);
    const auto checked = check_json(row.text);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code() == Code::bad_request);
    CAPTURE(checked.error().message());
    CHECK(checked.error().message().find(row.says) != std::string::npos);
  }
}

TEST_CASE("depth and size are limited, without recursion") {
  CHECK(check_json(std::string(10'000, '[') + std::string(10'000, ']')));
  const auto deep = check_json(std::string(10'001, '[') + std::string(10'001, ']'));
  REQUIRE_FALSE(deep);
  CHECK(deep.error().message().find("deeper than 10000") != std::string::npos);
  CHECK_FALSE(check_json(std::string(5'000'000, '[')));
  CHECK(check_json("[1]", {1, 3}));
  CHECK(check_json("[1,2]", {1, 3}).error().code() == Code::too_large);
}

TEST_CASE("skip_value finds the end wherever a block ends") {
  const std::string tricky = R"({"a":"}\"]\\","b":[{"c":"\\\\\\\""},"{[",{}],"d":"\\"})";
  for (std::size_t pad = 0; pad < 200; ++pad) {
    const auto text = "[\"" + std::string(pad, 'x') + "\"," + tricky + "]tail";
    const auto* end = skip_value(text.data(), text.data() + text.size());
    REQUIRE(end != nullptr);
    CHECK(std::string_view(end) == "tail");
    for (std::size_t cut = 0; cut + 5 < text.size(); ++cut)
      CHECK(skip_value(text.data(), text.data() + cut) == nullptr);
  }
}

// A backslash outside a string is no JSON at all; the two may differ there.
TEST_CASE("skip_value agrees with a walk byte by byte on random brackets and quotes") {
  std::mt19937 random(7);
  const std::string_view letters = "{}[]\"a\\\\\\b";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "{";
    const auto size = random() % 300;
    bool quoted = false, escaped = false;
    for (unsigned i = 0; i < size; ++i) {
      const char c = letters[random() % (quoted ? letters.size() : 6)];
      if (!escaped && c == '"') quoted = !quoted;
      escaped = !escaped && c == '\\';
      text += c;
    }
    std::size_t depth = 0, end = 0;
    bool string = false;
    for (std::size_t i = 0; i < text.size() && end == 0; ++i) {
      const char c = text[i];
      if (string) {
        if (c == '\\')
          ++i;
        else if (c == '"')
          string = false;
      } else if (c == '"')
        string = true;
      else if (c == '{' || c == '[')
        ++depth;
      else if ((c == '}' || c == ']') && --depth == 0)
        end = i + 1;
    }
    const auto* found = skip_value(text.data(), text.data() + text.size());
    CAPTURE(text);
    CHECK((found == nullptr ? 0U : static_cast<std::size_t>(found - text.data())) == end);
  }
}

TEST_CASE("unescape agrees with another reader") {
  for (const char* text :
       {R"(a\nb)", R"(\u00e9\u20ac\ud83d\ude00)", R"(\"\\\/\b\f\r\t)", "plain"}) {
    CHECK(unescape_json(text) ==
          nlohmann::json::parse('"' + std::string(text) + '"').get<std::string>());
  }
  CHECK(unescape_json(R"(\ud800x)") == "\xEF\xBF\xBDx");
  CHECK(unescape_json(R"(\u12)") == "\xEF\xBF\xBD"
                                    "12");
  CHECK(unescape_json("\\") == "\xEF\xBF\xBD");
}

} // namespace
} // namespace zoo::translate
