// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/compressed_answer.hpp"

#include <doctest/doctest.h>

#include <string>

using zoo::gateway::CompressedAnswer;
using zoo::gateway::worth_compressing;
using zoo::http::ResponseHead;

namespace {

constexpr auto k_threshold = CompressedAnswer::k_threshold;

ResponseHead head() { return {200, {{"content-type", "application/json"}}}; }

} // namespace

TEST_CASE("a short answer goes as it is") {
  std::size_t running = 0;
  CompressedAnswer answer(running, head());
  auto ready = answer.add(std::string(k_threshold, 'x'));
  CHECK_FALSE(ready.head);
  CHECK(ready.bytes.empty());
  CHECK(answer.holds_head());
  ready = answer.end();
  REQUIRE(ready.head);
  CHECK_FALSE(ready.head->headers.has("content-encoding"));
  CHECK(ready.bytes == std::string(k_threshold, 'x'));
  CHECK(running == 0);
}

TEST_CASE("a long answer is compressed from its first byte") {
  std::size_t running = 0;
  {
    auto given = head();
    given.headers.add("content-length", "999999");
    CompressedAnswer answer(running, std::move(given));
    CHECK_FALSE(answer.add(std::string(1000, 'x')).head);
    auto ready = answer.add(std::string(k_threshold, 'x'));
    REQUIRE(ready.head);
    CHECK(ready.head->headers.get("content-encoding") == "gzip");
    CHECK(ready.head->headers.get("vary") == "Accept-Encoding");
    CHECK_FALSE(ready.head->headers.has("content-length"));
    CHECK_FALSE(answer.holds_head());
    CHECK(running == 1);
    ready.bytes += answer.end().bytes;
    CHECK(ready.bytes.starts_with("\x1f\x8b"));
    CHECK(ready.bytes.size() < 2000);
  }
  CHECK(running == 0);
}

TEST_CASE("what is compressed goes out before the answer's end") {
  std::size_t running = 0, pods = 0, given = 0;
  CompressedAnswer answer(running, head());
  std::string sent;
  while (sent.size() < 1024 && given < 2'000'000) { // of 2 MB: a list of some 500 pods
    std::string pod;
    for (std::size_t line = 0; line < 20; ++line)
      pod += "\"field-" + std::to_string(line) + "\":\"" + std::string(100, 'x') +
             std::to_string(pods * 7919 + line) + "\",";
    ++pods;
    given += pod.size();
    sent += answer.add(pod).bytes;
  }
  CHECK(given < 1'000'000);
}

TEST_CASE("when too many are being compressed, one more goes as it is") {
  std::size_t running = CompressedAnswer::k_running;
  CompressedAnswer answer(running, head());
  const auto ready = answer.add(std::string(k_threshold + 1, 'x'));
  REQUIRE(ready.head);
  CHECK_FALSE(ready.head->headers.has("content-encoding"));
  CHECK(ready.bytes.size() == k_threshold + 1);
}

TEST_CASE("what has a coding already, or is known to be short, is not looked at") {
  auto given = head();
  CHECK(worth_compressing(given));
  given.headers.set("content-length", std::to_string(k_threshold));
  CHECK_FALSE(worth_compressing(given));
  given.headers.set("content-length", std::to_string(k_threshold + 1));
  CHECK(worth_compressing(given));
  given.headers.add("content-encoding", "gzip");
  CHECK_FALSE(worth_compressing(given));
  CHECK_FALSE(worth_compressing({404, {}}));
}
