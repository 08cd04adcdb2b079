// SPDX-License-Identifier: Apache-2.0
#include "common/config/config.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace zoo;
using namespace zoo::config;
using namespace std::chrono_literals;

TEST_CASE("durations") {
  const std::pair<const char*, std::chrono::milliseconds> good[] = {
      {"0", 0ms},       {"0s", 0ms},     {"250ms", 250ms},
      {"30s", 30s},     {"10m", 10min},  {"1h30m", 90min},
      {"8760h", 8760h}, {"365d", 8760h}, {"1d2h3m4s5ms", 93784005ms}};
  for (const auto& [text, value] : good)
    CHECK(parse_duration(text).value() == value);
  for (const auto* bad : {"", "5", "s", "1.5s", "-1s", "1 s", "30m1h", "1s1s", "1w", "1S",
                          "99999999999999999999s", "9223372036854775807d", " 1s", "1s "}) {
    CAPTURE(bad);
    CHECK(parse_duration(bad).error().code() == Code::usage);
  }
}

TEST_CASE("sizes") {
  CHECK(parse_size("0").value() == 0);
  CHECK(parse_size("512").value() == 512);
  CHECK(parse_size("64Ki").value() == 65536);
  CHECK(parse_size("3Mi").value() == 3u << 20);
  CHECK(parse_size("1Gi").value() == 1u << 30);
  CHECK(parse_size("10k").value() == 10'000);
  for (const auto* bad :
       {"", "Mi", "3mi", "3MiB", "3 Mi", "-1", "1.5Mi", "99999999999Gi", "0x10"}) {
    CAPTURE(bad);
    CHECK(parse_size(bad).error().code() == Code::usage);
  }
}

TEST_CASE("addresses") {
  CHECK(parse_address("127.0.0.1:7443")->text() == "127.0.0.1:7443");
  CHECK(parse_address("[::1]:0")->text() == "[::1]:0");
  CHECK(parse_address("[::1]:0")->host == "::1");
  CHECK(parse_address("zoo.example.com:443")->port == 443);
  for (const auto* bad : {"", "7443", ":7443", "host", "host:", "host:70000", "host:-1", "::1:80",
                          "[::1]", "http://host:80", "a b:80", "host:80x", "host:0x50"}) {
    CAPTURE(bad);
    CHECK(parse_address(bad).error().code() == Code::usage);
  }
}

TEST_CASE("the defaults of zood.yaml") {
  const Values values;
  CHECK(values.string("listen") == "127.0.0.1:7443");
  CHECK(values.string("advertise").empty());
  CHECK(values.path("dir") == "/var/lib/zood");
  CHECK(values.path("store.path").empty());
  CHECK(values.string("nodes.visibility") == "all");
  CHECK(values.duration("tenants.certificate_validity") == 8760h);
  CHECK(values.duration("drain_timeout") == 30s);
  CHECK(values.size("limits.body") == 3u << 20);
  CHECK(values.integer("workers") == 0);
  CHECK(values.list("shared.storage_classes").empty());
  CHECK(values.list("tenants.reserved_ids").front() == "system");
  for (const auto& id : values.list("tenants.reserved_ids"))
    CHECK(id.size() == 6);
  CHECK_FALSE(values.is_set("listen"));
}

TEST_CASE("asking for an unknown key or another type is a bug") {
  const Values values;
  CHECK_THROWS_AS((void)values.string("listn"), std::logic_error);
  CHECK_THROWS_AS((void)values.string("workers"), std::logic_error);
  CHECK_THROWS_AS((void)values.integer("limits.body"), std::logic_error);
  CHECK_THROWS_AS((void)values.is_set("nothing"), std::logic_error);
}

TEST_CASE("the command line sets values by the same rules") {
  Values values;
  REQUIRE(values.set("listen", "127.0.0.1:0"));
  CHECK(values.string("listen") == "127.0.0.1:0");
  CHECK(values.is_set("listen"));
  REQUIRE(values.set("shared.storage_classes", "fast, slow"));
  CHECK(values.list("shared.storage_classes") == std::vector<std::string>{"fast", "slow"});
  CHECK(values.set("listn", "x").error().message() ==
        "unknown key 'listn', did you mean 'listen'?");
  CHECK(values.set("workers", "many").error().message() == "workers: 'many' is not an integer");
  CHECK(values.set("workers", "2000").error().message().find("from 0 to 1024") !=
        std::string::npos);
  CHECK(values.set("log.level", "inof").error().message().find("did you mean 'info'?") !=
        std::string::npos);
}

TEST_CASE("what differs is told, for reloading") {
  Values before, after;
  CHECK(before.differing(after).empty());
  REQUIRE(after.set("listen", "127.0.0.1:1"));
  REQUIRE(after.set("log.level", "debug"));
  REQUIRE(after.set("workers", "0")); // as the default
  const auto keys = before.differing(after);
  REQUIRE(keys.size() == 2);
  CHECK(keys[0]->name == "listen");
  CHECK_FALSE(keys[0]->reloadable);
  CHECK(keys[1]->name == "log.level");
  CHECK(keys[1]->reloadable);
}

TEST_CASE("every key has a sentence and a name of small letters") {
  for (const auto& key : zood_keys()) {
    CAPTURE(key.name);
    CHECK(key.doc.ends_with('.'));
    CHECK(key.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.") == std::string_view::npos);
    CHECK((key.type == Type::choice) == !key.choices.empty());
  }
}
