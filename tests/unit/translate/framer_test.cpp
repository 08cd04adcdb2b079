// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/framer.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace zoo::translate {
namespace {

struct Heard : FrameHandler {
  void on_frame_head(std::string_view text) override { parts.push_back("H" + std::string(text)); }
  void on_frame(std::string_view text) override { parts.push_back("I" + std::string(text)); }
  void on_frame_tail(std::string_view text) override { parts.push_back("T" + std::string(text)); }
  std::vector<std::string> parts;
};

Result<std::vector<std::string>> cut(Shape shape, std::string_view text, std::size_t chunk,
                                     std::size_t limit = 1 << 20,
                                     std::string_view array = "items") {
  Heard heard;
  Framer framer(shape, limit, heard, array);
  for (std::size_t at = 0; at < text.size(); at += chunk)
    ZOO_TRY_VOID(framer.feed(text.substr(at, chunk)));
  ZOO_TRY_VOID(framer.finish());
  return heard.parts;
}

using Parts = std::vector<std::string>;

TEST_CASE("a list is cut into head, items and tail, at every chunk size") {
  struct Row {
    std::string text;
    Parts parts;
  };
  const std::vector<Row> rows = {
      {R"({"kind":"PodList","metadata":{"items":[1]},"items":[{"a":"]}"},{"b":"\"\\"} , 5]})",
       {R"(H{"kind":"PodList","metadata":{"items":[1]},"items":[)", R"(I{"a":"]}"})",
        R"(I{"b":"\"\\"})", "I5", "T]}"}},
      {R"({"apiVersion":"x/v1","items":[{}],"kind":"FooList","metadata":{"continue":"c"}})",
       {R"(H{"apiVersion":"x/v1","items":[)", "I{}",
        R"(T],"kind":"FooList","metadata":{"continue":"c"}})"}},
      {R"({"items":[]})", {R"(H{"items":[)", "T]}"}},
      {R"({"items":null,"kind":"L"})", {R"(T{"items":null,"kind":"L"})"}},
      {R"( {"kind":"L"} )", {R"(T{"kind":"L"})"}},
      {"{}", {"T{}"}},
  };
  for (const auto& row : rows) {
    for (std::size_t chunk = 1; chunk <= row.text.size(); ++chunk) {
      CAPTURE(row.text);
      CAPTURE(chunk);
      const auto parts = cut(Shape::list, row.text, chunk);
      REQUIRE(parts);
      CHECK(*parts == row.parts);
    }
  }
}

/// Finds the end of items itself, where it can; of objects with `leaves` in them it does not.
struct Taking : Heard {
  std::size_t on_open_frame(std::string_view rest) override {
    NestScanner scanner;
    const auto size = 1 + scanner.scan(rest.substr(1));
    const auto item = rest.substr(0, size);
    if (!scanner.done() || item.find(leaves) != item.npos) return 0;
    ++taken;
    parts.push_back("I" + std::string(item));
    if (parts.size() == most) framer->ignore_rest();
    return size;
  }
  std::string_view leaves = "\"leave\"";
  std::size_t taken = 0, most = 0;
  Framer* framer = nullptr;
};

TEST_CASE("who finds the end of an item on the way hears each once, and in order") {
  const std::string list =
      R"({"kind":"L","items":[{"a":"]}"},{"leave":[1]}, 5,"x",[{}],{"b":{"c":"}\"}"}} , {}],"z":{}})";
  const Parts wanted = {R"(H{"kind":"L","items":[)",
                        R"(I{"a":"]}"})",
                        R"(I{"leave":[1]})",
                        "I5",
                        R"(I"x")",
                        "I[{}]",
                        R"(I{"b":{"c":"}\"}"}})",
                        "I{}",
                        R"(T],"z":{}})"};
  for (std::size_t chunk = 1; chunk <= list.size(); ++chunk) {
    CAPTURE(chunk);
    Taking taking;
    Framer framer(Shape::list, 100, taking);
    for (std::size_t at = 0; at < list.size(); at += chunk)
      REQUIRE(framer.feed(std::string_view(list).substr(at, chunk)));
    REQUIRE(framer.finish());
    CHECK(taking.parts == wanted);
    if (chunk == list.size()) CHECK(taking.taken == 2); // the last: too little is left to try
  }
}

TEST_CASE("an item that somebody takes on the way is bounded too, and may be the last one") {
  const std::string list = R"({"items":[{"a":1},{"b":"0123456789"},{"c":3}]})";
  Taking taking;
  Framer framer(Shape::list, 16, taking);
  const auto fed = framer.feed(list);
  REQUIRE_FALSE(fed);
  CHECK(fed.error().code() == Code::too_large);
  CHECK(taking.parts == Parts{R"(H{"items":[)", R"(I{"a":1})"});

  Taking enough;
  enough.most = 2;
  Framer cut_short(Shape::list, 100, enough);
  enough.framer = &cut_short;
  REQUIRE(cut_short.feed(list));
  REQUIRE(cut_short.finish());
  CHECK(enough.parts == Parts{R"(H{"items":[)", R"(I{"a":1})"});
}

TEST_CASE("watch events follow each other with or without newlines") {
  const std::string text = "{\"type\":\"ADDED\"}{\"a\":\"}\"}\n\n{\"b\":[1]}\n";
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
    const auto parts = cut(Shape::watch, text, chunk);
    REQUIRE(parts);
    CHECK(*parts == Parts{"I{\"type\":\"ADDED\"}", "I{\"a\":\"}\"}", "I{\"b\":[1]}"});
  }
}

TEST_CASE("a stream that breaks off is an error, wherever it does") {
  const std::string list = R"({"kind":"L","items":[{"a":1},{"b":2}],"metadata":{}})";
  for (std::size_t size = 0; size < list.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(cut(Shape::list, list.substr(0, size), 7));
    CHECK_FALSE(cut(Shape::single, list.substr(0, size), 7));
  }
  CHECK_FALSE(cut(Shape::watch, "{\"a\":1}{\"b\"", 3));
  CHECK(cut(Shape::watch, "", 1));
}

TEST_CASE("what is no such JSON is refused") {
  for (const char* text : {"[]", "404 page not found", "{]", "{\"items\":[}", "{1}", "{} {}",
                           "{\"items\":[1],\"items\":[2]}"}) {
    CAPTURE(text);
    CHECK_FALSE(cut(Shape::list, text, 2));
  }
  CHECK_FALSE(cut(Shape::single, "{} {}", 2));
}

TEST_CASE("memory is bounded by the limit") {
  const auto big = std::string(100, 'x');
  CHECK_FALSE(cut(Shape::list, "{\"items\":[\"" + big + "\"]}", 8, 64));
  CHECK_FALSE(cut(Shape::list, "{\"items\":[\"" + big + "\"]}", 1000, 64));
  CHECK_FALSE(cut(Shape::list, "{\"a\":\"" + big + "\"}", 8, 64));
  CHECK_FALSE(cut(Shape::list, "{\"" + big + "\":1}", 8, 64));
  CHECK_FALSE(cut(Shape::list, "{\"a\"" + std::string(1000, ' '), 8, 64));
  CHECK_FALSE(cut(Shape::single, "{\"a\":\"" + big + "\"}", 8, 64));
  const auto items = "{\"items\":[" + [] {
    std::string out;
    for (int i = 0; i < 1000; ++i)
      out += (i == 0 ? "" : ",") + std::string("{\"a\":1}");
    return out;
  }() + "]}";
  CHECK(cut(Shape::list, items, 5, 64));
}

} // namespace
} // namespace zoo::translate
