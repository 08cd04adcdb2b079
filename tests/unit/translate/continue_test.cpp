// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/continue.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>

#include <ostream>

using namespace zoo;
using namespace zoo::translate;
using test::tenant;
using namespace std::string_literals;

TEST_CASE("the range token is what the API server reads") {
  // {"v":"meta.k8s.io/v1","rv":-1,"start":"abc123-\u0000"}
  CHECK(range_start_token("abc123-") ==
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYWJjMTIzLVx1MDAwMCJ9");
  const auto back = parse_upstream_token(range_start_token("abc123-", 17));
  REQUIRE(back);
  CHECK(*back == UpstreamPosition{17, "abc123-\0"s});
}

TEST_CASE("a token of a live server is read") {
  const auto position = parse_upstream_token(
      "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mjk3LCJzdGFydCI6Ii9kZWZhdWx0XHUwMDAwIn0");
  REQUIRE(position);
  CHECK(*position == UpstreamPosition{297, "default\0"s});
  CHECK(tenant_key(tenant(), "abc123-a/web\0"s) == "a/web");
  CHECK(tenant_key(tenant(), "/abc123-a\0"s) == "a");
  CHECK_FALSE(tenant_key(tenant(), "zzz999-a/web\0"s));
  CHECK_FALSE(tenant_key(tenant(), "abc1234/web\0"s));
  for (const auto& bad : {""s, "xx"s, "!!!!"s, "eyJ9"s, "e30"s, std::string(20000, 'A'),
                          upstream_token({0, "a"}), upstream_token({1, ""})})
    CHECK_FALSE(parse_upstream_token(bad));
}

TEST_CASE("a record of any bytes is read back, and nothing else is") {
  const ContinueRecord record{"abc123", "uid-1", "\x00\xff:"s, "", -1, "abc123-a/\0"s};
  const auto bytes = format_record(record);
  CHECK(*parse_record(bytes) == record);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    CHECK_FALSE(parse_record(bytes.substr(0, i)));
  CHECK_FALSE(parse_record(bytes + "x"));
  CHECK_FALSE(parse_record("2" + bytes.substr(1)));
  CHECK_FALSE(parse_record("199999999999999999999:"));
  CHECK_FALSE(parse_record("106:abc123"));
  for (const auto* revision : {"2:01", "2:-0", "2:+1"})
    CHECK_FALSE(parse_record("16:abc1230:0:0:" + std::string(revision) + "0:"));
  CHECK(parse_record("16:abc1230:0:0:1:10:"));
}
