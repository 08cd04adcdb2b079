// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"

#include <doctest/doctest.h>

using namespace zoo;

TEST_CASE("a JSON string escapes what RFC 8259 demands") {
  CHECK(json_quote("") == R"("")");
  CHECK(json_quote("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(json_quote("\n\r\t\b\f\x01\x1f\x7f") == "\"\\n\\r\\t\\b\\f\\u0001\\u001f\x7f\"");
  CHECK(json_quote(std::string_view("a\0b", 3)) == R"("a\u0000b")");
  CHECK(json_quote("<&>") == R"("<&>")");
}

TEST_CASE("what needs an escape gets it at each place of JSON strings of each length") {
  for (std::size_t length = 1; length < 40; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      for (const auto& [what, becomes] :
           {std::pair("\"", "\\\""), std::pair("\\", "\\\\"), std::pair("\x01", "\\u0001"),
            std::pair("\x7f", "\x7f"), std::pair("\xff", "\xef\xbf\xbd")}) {
        text[at] = *what;
        auto wanted = std::string(length, 'x');
        wanted.replace(at, 1, becomes);
        CHECK(json_quote(text) == '"' + wanted + '"');
      }
    }
  }
}

TEST_CASE("UTF-8 passes through a JSON string") {
  CHECK(json_quote("ä€𝄞") == "\"ä€𝄞\"");
  CHECK(json_quote("\xe2\x80\xa8") == "\"\xe2\x80\xa8\"");
}

TEST_CASE("what is not UTF-8 becomes the replacement character, byte by byte") {
  CHECK(json_quote("a\xff"
                   "b") == "\"a\xef\xbf\xbd"
                           "b\"");
  CHECK(json_quote("\xc3") == "\"\xef\xbf\xbd\"");
  CHECK(json_quote("\xe2\x82") == "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST_CASE("is_utf8 refuses overlong forms, surrogates and what lies above U+10FFFF") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("ä€𝄞"));
  CHECK(is_utf8("\xf4\x8f\xbf\xbf"));
  for (const std::string_view bad :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xe2\x28\xa1", "\xf0\x9f\x92"}) {
    CAPTURE(json_quote(bad));
    CHECK_FALSE(is_utf8(bad));
  }
}
