// SPDX-License-Identifier: Apache-2.0
#include "daemon/audit/log.hpp"
#include "daemon/audit/tally.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

using namespace zoo;
using namespace std::chrono_literals;

namespace {

audit::Entry request(std::string_view verb, int code, std::chrono::microseconds took) {
  audit::Entry entry;
  entry.door = "tenants";
  entry.tenant = "foofoo";
  entry.user = "jane";
  entry.verb = verb;
  entry.name = "secret-name";
  entry.code = code;
  entry.took = took;
  entry.bytes_in = 2;
  entry.bytes_out = 5;
  entry.decision = code == 403 ? audit::Decision::forbid : audit::Decision::allow;
  return entry;
}

bool says(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

} // namespace

TEST_CASE("why watches end, and how much was translated, is counted by fixed words") {
  audit::Tally tally;
  auto watch = request("watch", 200, 1s);
  watch.ending = audit::Ending::leaving;
  watch.told_as = audit::Encoding::protobuf;
  tally.add(watch);
  watch.ending = audit::Ending::broken;
  tally.add(watch);
  auto create = request("create", 201, 1ms);
  create.read_as = audit::Encoding::yaml;
  create.told_as = audit::Encoding::json;
  tally.add(create);
  tally.add(request("get", 200, 1ms)); // a log
  MetricText out;
  tally.write(out);
  const auto& text = out.text();
  CAPTURE(text);
  CHECK(says(text, R"(zood_watch_ends_total{reason="leaving"} 1)"));
  CHECK(says(text, R"(zood_watch_ends_total{reason="broken"} 1)"));
  CHECK(says(text, R"(zood_watch_ends_total{reason="done"} 0)"));
  CHECK(says(text, R"(zood_translated_bytes_total{direction="outward",encoding="protobuf"} 10)"));
  CHECK(says(text, R"(zood_translated_bytes_total{direction="outward",encoding="json"} 5)"));
  CHECK(says(text, R"(zood_translated_bytes_total{direction="inward",encoding="yaml"} 2)"));
  CHECK(says(text, R"(zood_translated_bytes_total{direction="inward",encoding="json"} 0)"));
}

TEST_CASE("requests are counted by what is bounded: nobody's name is a label") {
  audit::Tally tally;
  tally.add(request("get", 200, 400us));
  tally.add(request("get", 200, 6ms));
  tally.add(request("get", 403, 2min));
  tally.add(request("BREW", 999, -1us));
  auto admin = request("list", 200, 1ms);
  admin.door = "admin";
  tally.add(admin);
  MetricText out;
  tally.write(out);
  const auto& text = out.text();
  CAPTURE(text);
  CHECK(says(text, R"(zood_requests_total{door="tenants",verb="get",code="200"} 2)"));
  CHECK(says(text, R"(zood_requests_total{door="tenants",verb="get",code="403"} 1)"));
  CHECK(says(text, R"(zood_requests_total{door="tenants",verb="other",code="0"} 1)"));
  CHECK(says(text, R"(zood_requests_total{door="admin",verb="list",code="200"} 1)"));
  CHECK(says(text, R"(zood_decisions_total{door="tenants",decision="forbid"} 1)"));
  CHECK(says(text, R"(zood_request_bytes_total{door="tenants"} 8)"));
  CHECK(says(text, R"(zood_response_bytes_total{door="tenants"} 20)"));
  const std::string bucket =
      R"(zood_request_duration_seconds_bucket{door="tenants",verb="get",le=")";
  CHECK(says(text, bucket + R"(0.0005"} 1)"));
  CHECK(says(text, bucket + R"(0.005"} 1)"));
  CHECK(says(text, bucket + R"(0.01"} 2)"));
  CHECK(says(text, bucket + R"(30"} 2)"));
  CHECK(says(text, bucket + R"(+Inf"} 3)"));
  CHECK(says(text, R"(zood_request_duration_seconds_count{door="tenants",verb="get"} 3)"));
  for (const auto* word : {"foofoo", "jane", "secret-name", "BREW"})
    CHECK(text.find(word) == std::string::npos);
}

TEST_CASE("a request is counted at the door that it came by") {
  for (const std::string door : {"tenants", "admin", "accounts", "aggregated"}) {
    CAPTURE(door);
    audit::Tally tally;
    auto entry = request("get", 200, 1ms);
    entry.door = door;
    tally.add(entry);
    MetricText out;
    tally.write(out);
    const auto& text = out.text();
    CHECK(says(text,
               fmt::format(R"(zood_requests_total{{door="{}",verb="get",code="200"}} 1)", door)));
    for (const auto other : audit::Tally::k_doors)
      CHECK(says(text, fmt::format(R"(zood_response_bytes_total{{door="{}"}} {})", other,
                                   other == door ? 5 : 0)));
  }
}

TEST_CASE("a log counts what it does not write, from any thread") {
  auto log = audit::Log::open({});
  REQUIRE(log);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1'000; ++n)
        (*log)->add(api::AuditLevel::none, request("get", 200, 1ms));
    });
  }
  for (auto& thread : threads)
    thread.join();
  MetricText out;
  (*log)->tally().write(out);
  CHECK(says(out.text(), R"(zood_requests_total{door="tenants",verb="get",code="200"} 4000)"));
  CHECK((*log)->counters().written == 0);
}

TEST_CASE("stages are told of one request in so many, and of none that nobody looked at") {
  audit::Tally tally;
  audit::Entry entry;
  entry.door = "tenants";
  entry.verb = "get";
  tally.add(entry); // as a watch
  const auto written = [&] {
    MetricText text;
    tally.write(text);
    return text.take();
  };
  CHECK(written().find("zood_stage_seconds_count") == std::string::npos);
  entry.stages = {std::chrono::microseconds(100), std::chrono::microseconds(200),
                  std::chrono::microseconds(300), std::chrono::microseconds(2'000'000),
                  std::chrono::microseconds(0)};
  for (unsigned i = 0; i < 10 * audit::Tally::k_sampled; ++i)
    tally.add(entry);
  const auto text = written();
  for (const auto stage : audit::k_stages)
    CHECK(text.find("zood_stage_seconds_count{stage=\"" + std::string(stage) + "\"} 10\n") !=
          std::string::npos);
  CHECK(text.find("zood_stage_seconds_sum{stage=\"upstream_first_byte\"} 20\n") !=
        std::string::npos);
}
