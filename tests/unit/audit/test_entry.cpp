// SPDX-License-Identifier: Apache-2.0
#include "common/api/audit_lines.hpp"
#include "daemon/audit/entry.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace zoo;
using audit::Decision;
using nlohmann::json;

namespace {

audit::Entry entry() {
  audit::Entry out;
  out.time = std::chrono::system_clock::from_time_t(1'700'000'000) + std::chrono::microseconds(42);
  out.took = std::chrono::microseconds(1500);
  out.door = "tenants";
  out.tenant = "foofoo";
  out.user = "jane";
  out.verb = "get";
  out.resource = "secrets";
  out.code = 200;
  out.decision = Decision::allow;
  return out;
}

std::string line_of(const audit::Entry& entry, std::string_view replica = {}) {
  std::string out;
  audit::append_line(out, entry, replica);
  return out;
}

} // namespace

TEST_CASE("a line is JSON that begins with its time, and leaves out what is empty") {
  auto asked = entry();
  const std::vector<std::string> groups = {"dev", "ops"};
  asked.groups = groups;
  const auto line = line_of(asked);
  CHECK(line.starts_with(R"({"time":"2023-11-14T22:13:20.000042Z","door":"tenants")"));
  const auto value = json::parse(line);
  CHECK(value["tenant"] == "foofoo");
  CHECK(value["groups"] == groups);
  CHECK(value["latencyMicros"] == 1500);
  CHECK(value["decision"] == "allow");
  CHECK_FALSE(value.contains("name"));
  CHECK_FALSE(value.contains("reason"));
}

TEST_CASE("of several zoods with one store a line says which one wrote it") {
  const auto line = line_of(entry(), "east");
  CHECK(line.starts_with(R"({"time":"2023-11-14T22:13:20.000042Z","replica":"east","door":)"));
  CHECK_FALSE(json::parse(line_of(entry())).contains("replica"));
  CHECK(
      json::parse(line_of(entry(), std::string(1000, 'x')))["replica"].get<std::string>().size() ==
      256);
}

TEST_CASE("queries are no part of a line, and whatever a stranger sends stays one bounded line") {
  auto asked = entry();
  asked.resource = "";
  asked.path = "/api/v1/x?command=mysql&command=-psecret";
  CHECK(line_of(asked).find("secret") == std::string::npos);
  CHECK(json::parse(line_of(asked))["path"] == "/api/v1/x");

  const std::string wild = "a\n\"},{\"tenant\":\"barbar\" \xff\xfe" + std::string(100'000, 'x');
  asked.user_agent = asked.user = asked.name = asked.path = asked.reason = asked.credential = wild;
  asked.verb = asked.name_space = asked.group = asked.resource = asked.subresource = wild;
  const std::vector<std::string> groups(1000, wild);
  asked.groups = groups;
  const auto line = line_of(asked);
  CHECK(line.size() < audit::k_most_line);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line.find(R"("tenant":"barbar")") == std::string::npos);
  CHECK(json::parse(line)["tenant"] == "foofoo");
}

TEST_CASE("a long value is not cut inside a character") {
  auto asked = entry();
  const std::string name = std::string(255, 'x') + "\xc3\xb6" + "y";
  asked.user = name;
  CHECK(json::parse(line_of(asked))["user"] == std::string(255, 'x'));
}

TEST_CASE("levels: what each wants") {
  using api::AuditLevel;
  auto read = entry(), write = entry(), refused = entry(), unknown = entry(), exec = entry(),
       upstream = entry();
  write.verb = "patch";
  refused.decision = Decision::forbid;
  unknown.decision = Decision::unauthenticated;
  exec.subresource = "exec";
  upstream.code = 403;
  const auto wanted = [](AuditLevel level, const std::vector<audit::Entry>& all) {
    std::string out;
    for (const auto& each : all)
      out += audit::wants(level, each) ? '1' : '0';
    return out;
  };
  const std::vector<audit::Entry> all = {read, write, refused, unknown, exec, upstream};
  CHECK(wanted(AuditLevel::none, all) == "000000");
  CHECK(wanted(AuditLevel::denied, all) == "001101");
  CHECK(wanted(AuditLevel::writes, all) == "011111");
  CHECK(wanted(AuditLevel::all, all) == "111111");
}

TEST_CASE("denied: the level and the filter have the same lines") {
  const std::string quoted = R"(","code":403,"decision":"forbid","x":")";
  for (const auto decision :
       {Decision::none, Decision::allow, Decision::forbid, Decision::unauthenticated}) {
    for (const int code : {200, 401, 403, 404, 499}) {
      auto asked = entry();
      asked.decision = decision;
      asked.code = code;
      asked.user = quoted;
      api::AuditQuery query;
      query.denied = true;
      CAPTURE(line_of(asked));
      CHECK(api::AuditFilter(query)(line_of(asked)) == audit::denied(asked));
      query.denied = false;
      CHECK(api::AuditFilter(query)(line_of(asked)));
    }
  }
}

TEST_CASE("a line names its trace, where there is one") {
  auto asked = entry();
  CHECK_FALSE(json::parse(line_of(asked)).contains("traceId"));
  asked.trace_id = "0af7651916cd43dd8448eb211c80319c";
  CHECK(json::parse(line_of(asked))["traceId"] == "0af7651916cd43dd8448eb211c80319c");
}
