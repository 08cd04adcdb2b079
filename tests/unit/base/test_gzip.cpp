// SPDX-License-Identifier: Apache-2.0
#include "common/base/gzip.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

namespace {

/// What any gzip reader makes of it: one member, nothing behind.
std::string inflated(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK); // gzip alone
  std::string out(1 << 22, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

} // namespace

TEST_CASE("gzip gives back what went in") {
  std::string large;
  for (int i = 0; i < 200'000; ++i)
    large += std::to_string(i * 2654435761U);
  for (const auto& text : {std::string(), std::string("a"), std::string(100'000, 'x'), large}) {
    const auto packed = zoo::gzip::whole(text);
    CHECK(inflated(packed) == text);
  }
  CHECK(zoo::gzip::whole(std::string(100'000, 'x')).size() < 1000);
}

TEST_CASE("pieces that were compressed apart make one stream") {
  const std::string a(70'000, 'a'), b = "between", c(70'000, 'a');
  zoo::gzip::Joiner joiner;
  for (const auto& part : {a, std::string(), b, c})
    joiner.add(zoo::gzip::compress(part));
  CHECK(inflated(joiner.take()) == a + b + c);
}

TEST_CASE("a text is compressed as it comes") {
  std::string large;
  for (int i = 0; i < 100'000; ++i)
    large += std::to_string(i * 2654435761U);
  for (const std::size_t step : {std::size_t{1000}, std::size_t{70'000}, large.size()}) {
    zoo::gzip::Stream stream;
    std::string out;
    for (std::size_t at = 0; at < large.size(); at += step)
      stream.add(std::string_view(large).substr(at, step), out);
    stream.add("", out);
    CHECK(out.size() > 10'000); // not all of it is kept for the end
    stream.end(out);
    CHECK(inflated(out) == large);
  }
  zoo::gzip::Stream empty;
  std::string out = "before";
  empty.end(out);
  CHECK(inflated(out.substr(6)).empty());
}

TEST_CASE("what others compressed is opened as it comes") {
  std::string large;
  for (int i = 0; i < 100'000; ++i)
    large += std::to_string(i * 2654435761U);
  for (const auto& text : {std::string(), std::string("a"), std::string(300'000, 'x'), large}) {
    const auto packed = zoo::gzip::whole(text); // by zlib
    for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, packed.size()}) {
      zoo::gzip::Opener opener;
      std::string out;
      for (std::size_t at = 0; at < packed.size(); at += step) {
        CHECK_FALSE(opener.complete());
        auto part = std::string_view(packed).substr(at, step);
        for (;;) {
          const auto made = opener.next(part);
          REQUIRE(made);
          if (made->empty()) break;
          CHECK(made->size() <= 128 * 1024);
          out += *made;
        }
        CHECK(part.empty());
      }
      CHECK(opener.complete());
      CHECK(out == text);
    }
  }
}

TEST_CASE("what stands behind a text is refused, whether it comes with its end or later") {
  const auto packed = zoo::gzip::whole("text") + "more";
  for (const std::size_t step : {std::size_t{1}, std::size_t{6}, packed.size()}) {
    zoo::gzip::Opener opener;
    bool refused = false;
    for (std::size_t at = 0; at < packed.size() && !refused; at += step) {
      auto part = std::string_view(packed).substr(at, step);
      for (bool goes_on = true; goes_on;) {
        const auto made = opener.next(part);
        refused = !made;
        goes_on = made && !made->empty();
      }
      CHECK((refused || part.empty()));
    }
    CHECK(refused);
  }
}

TEST_CASE("gzip is used for whoever names it") {
  CHECK(zoo::gzip::accepted("gzip"));
  CHECK(zoo::gzip::accepted("deflate, GZIP;q=0.5"));
  CHECK(zoo::gzip::accepted("br;q=1, gzip; q=0.001"));
  CHECK_FALSE(zoo::gzip::accepted(""));
  CHECK_FALSE(zoo::gzip::accepted("identity"));
  CHECK_FALSE(zoo::gzip::accepted("gzip;q=0"));
  CHECK_FALSE(zoo::gzip::accepted("gzip; q=0.000"));
  CHECK_FALSE(zoo::gzip::accepted("xgzip"));
}
