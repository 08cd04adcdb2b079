// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/answer.hpp"
#include "daemon/http/byte_queue.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/http/syntax.hpp"

#include <doctest/doctest.h>

using namespace zoo::http;

TEST_CASE("header names compare without case, and set() leaves one") {
  Headers headers{{"Accept", "a"}, {"accept", "b"}, {"X", "1"}};
  CHECK(headers.get("ACCEPT") == "a");
  CHECK(headers.all("accept").size() == 2);
  headers.set("accept", "c");
  CHECK(headers.all("accept").size() == 1);
  CHECK(headers.get("accept") == "c");
  headers.set("new", "n");
  headers.remove("x");
  CHECK(headers.size() == 2);
  CHECK_FALSE(headers.has("X"));
  CHECK(headers.bytes() == 6 + 1 + 3 + 1);
}

TEST_CASE("what is given may be of the fields themselves, while they grow and move") {
  Headers headers{{"name", std::string(300, 'v')}};
  for (int i = 0; i < 200; ++i)
    headers.add((*headers.begin()).name, (*headers.begin()).value); // through each growth
  CHECK(headers.size() == 201);
  for (const auto& field : headers) {
    CHECK(field.name == "name");
    CHECK(field.value == std::string(300, 'v'));
  }
  headers.add("other", "x");
  headers.set((*headers.begin()).name, headers.get("other"));
  CHECK(headers.size() == 2);
  CHECK(headers.get("name") == "x");
  CHECK((*headers.begin()).name == "name"); // where it was
  headers.remove((*std::next(headers.begin())).name);
  CHECK(headers.size() == 1);
  auto copy = headers;
  headers.set("name", "y");
  CHECK(copy.get("name") == "x");
  const auto moved = std::move(copy);
  CHECK(moved.get("name") == "x");
}

TEST_CASE("fields that may not be sent are no lines") {
  CHECK(FieldLines::make({{"A", "b"}, {"c", ""}})->text() == "A: b\r\nc: \r\n");
  CHECK(FieldLines::make({})->text().empty());
  for (const Header& bad : {Header{"a b", "x"}, {"", "x"}, {"a", "x\r\ny: z"}, {"a\n", "x"}})
    CHECK(FieldLines::make({bad}).error().code() == zoo::Code::bad_request);
}

TEST_CASE("each byte is judged at each place of a path") {
  for (std::size_t size = 1; size <= 24; ++size) {
    for (std::size_t at = 1; at < size; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[0] = '/';
        text[at] = static_cast<char>(byte);
        const bool fits = byte > 0x20 && byte < 0x7f && byte != '#';
        if (is_origin_form(text) != fits) FAIL("byte ", byte, " at ", at, " of ", size);
      }
    }
  }
}

TEST_CASE("what may stand where") {
  CHECK(is_token("PATCH"));
  CHECK_FALSE(is_token(""));
  CHECK_FALSE(is_token("GE T"));
  CHECK_FALSE(is_token("a:b"));
  CHECK(is_origin_form("/a?b=%20"));
  for (const auto* target : {"", "a", "http://x/", "/a b", "/a#b", "/\x01", "/\x80"})
    CHECK_FALSE(is_origin_form(target));
  CHECK(is_authority("[::1]:443"));
  for (const auto* authority : {"", "a b", "a/b", "user@host", "a?b", "a\tb"})
    CHECK_FALSE(is_authority(authority));
  CHECK(is_field_value("a\tb \x80"));
  CHECK_FALSE(is_field_value("a\rb"));
  CHECK_FALSE(is_field_value(std::string_view("a\0b", 3)));
}

TEST_CASE("a codec's own answer is a Status that any message leaves valid") {
  const auto text = status_document(431, "too \"big\"\n\xff");
  CHECK(text == "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                "\"message\":\"too \\\"big\\\"\\u000a\\u00ff\","
                "\"reason\":\"RequestEntityTooLarge\",\"code\":431}");
}

TEST_CASE("a byte queue gives its bytes back in order") {
  ByteQueue queue;
  std::string expected, got;
  for (int i = 0; i < 5'000; ++i) {
    const auto piece = std::to_string(i) + ",";
    queue.push(std::string_view(piece));
    expected += piece;
    if (i % 3 == 0) queue.take(got, 7);
  }
  while (queue.take(got, 1'000) > 0) {
  }
  CHECK(got == expected);
  CHECK(queue.empty());
}

TEST_CASE("each byte is judged at each place of a field's value") {
  for (std::size_t size = 0; size <= 24; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        const bool fits = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
        if (is_field_value(text) != fits) FAIL("byte ", byte, " at ", at, " of ", size);
        text.back() = '\t'; // which makes its block suspect
        if (at + 1 < size && is_field_value(text) != fits) FAIL("byte ", byte, " beside a tab");
      }
    }
  }
}
