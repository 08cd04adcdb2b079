// SPDX-License-Identifier: Apache-2.0
#include "cli/output/fd_stream.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/kube/yaml.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

using namespace zoo::cli;
using namespace zoo::cli::test;
using nlohmann::json;

namespace {

const std::string k_list = std::string("GET ") + k_tenants;

/// IDs that look like numbers, names that need care, every phase.
Zooctl populated() {
  Zooctl zooctl;
  const std::string secret =
      R"("annotations":{"kubezoo.io/tenant.kubeconfig.base64":"c2VjcmV0","note":"yes"},"name")";
  auto first = tenant("123456", "Ready", R"("certificateExpiry":"2027-01-31T21:30:00Z")",
                      R"({"displayName":"Größe 日本","account":"acme"})");
  first.replace(first.find("\"name\""), 6, secret);
  const auto second =
      tenant("1e1000", "Pending",
             R"("waitingFor":"namespace 1e1000-default","conditions":[{"type":"Ready","status":)"
             R"("False","reason":"Waiting","message":"namespaces","lastTransitionTime":)"
             R"("2026-01-31T23:59:00Z"}])",
             R"({"displayName":"evil\u001b[31m\u202ename"})");
  const auto third = tenant("foofoo", "Deleting", R"("certificateExpiry":"2025-01-31T21:30:00Z")");
  zooctl.server.on(k_list, {{200, list({first, second, third, R"({"metadata":7})"})}});
  zooctl.server.on(k_list + "/123456", {{200, first}});
  zooctl.server.on(k_list + "/1e1000", {{200, second}});
  return zooctl;
}

} // namespace

TEST_CASE("lists in every format") {
  auto zooctl = populated();
  for (const std::string format : {"table", "wide", "json", "yaml", "name"}) {
    const auto outcome = zooctl({"tenant", "list", "-o", format});
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    check_golden("list-" + format + ".txt", outcome.out);
  }
  check_golden("list-no-headers.txt", zooctl({"tenant", "list", "--no-headers"}).out);
  CHECK(zooctl({"tenant", "list"}).out == zooctl({"tenant", "list", "-o", "table"}).out);
}

TEST_CASE("one tenant in every format, and described") {
  auto zooctl = populated();
  for (const std::string format : {"table", "wide", "json", "yaml", "name"})
    check_golden("get-" + format + ".txt", zooctl({"tenant", "get", "123456", "-o", format}).out);
  check_golden("get-two.txt", zooctl({"tenant", "get", "123456", "1e1000", "-o", "yaml"}).out);
  check_golden("describe.txt", zooctl({"tenant", "describe", "123456", "1e1000"}).out);
}

TEST_CASE("terms and usage are described a line each") {
  auto zooctl = populated();
  auto one = json::parse(zooctl({"tenant", "get", "123456", "-o", "json"}).out);
  one["spec"]["quota"] = {{"objects", 100}, {"namespaces", nullptr}};
  one["status"]["usage"] = {{"flow", {{"longRunning", {{"limit", 9}, {"used", 1}}}, {"queued", 0}}},
                            {"hard", {{"pods", {{"limit", "9"}, {"used", "2"}}}}},
                            {"quota", {{"namespaces", {{"limit", 7}}}}}};
  zooctl.server.on(k_list + "/foofoo", {{200, one.dump()}});
  const auto text = zooctl({"tenant", "describe", "foofoo"}).out;
  for (const std::string line :
       {"Quota:                namespaces=unlimited\n                      objects=100\n",
        "Usage:                flow.longRunning=1/9\n                      flow.queued=0\n"
        "                      hard.pods=2/9\n"
        "                      quota.namespaces=?/7\n"}) {
    CAPTURE(text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("IDs that look like numbers are read back as text") {
  auto zooctl = populated();
  for (const std::string id : {"123456", "1e1000"}) {
    const auto text = zooctl({"tenant", "get", id, "-o", "yaml"}).out;
    const auto back = zoo::kube::yaml_to_json(text);
    REQUIRE(back.has_value());
    CHECK(json::parse(*back)["metadata"]["name"] == id);
    CHECK(json::parse(zooctl({"tenant", "get", id, "-o", "json"}).out)["metadata"]["name"] == id);
  }
}

TEST_CASE("no format shows a tenant's kubeconfig") {
  auto zooctl = populated();
  for (const std::string format : {"table", "wide", "json", "yaml", "name"}) {
    CHECK(zooctl({"tenant", "get", "123456", "-o", format}).out.find("c2VjcmV0") ==
          std::string::npos);
  }
  CHECK(zooctl({"tenant", "describe", "123456"}).out.find("c2VjcmV0") == std::string::npos);
}

TEST_CASE("colours are for terminals without NO_COLOR; the columns stay") {
  auto zooctl = populated();
  const auto plain = zooctl({"tenant", "list"}).out;
  CHECK(plain.find('\x1b') == std::string::npos);
  zooctl.terminal = {true, true};
  auto coloured = zooctl({"tenant", "list"}).out;
  CHECK(coloured.find("\x1b[32mReady\x1b[0m") != std::string::npos);
  for (std::size_t at; (at = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  CHECK(coloured == plain);
  zooctl.environment = {"NO_COLOR=1"};
  CHECK(zooctl({"tenant", "list"}).out == plain);
}

TEST_CASE("an empty list prints nothing, and on a terminal what to do next") {
  Zooctl zooctl;
  zooctl.server.on(k_list, {{200, list({})}});
  CHECK(zooctl({"tenant", "list"}).out.empty());
  CHECK(zooctl({"tenant", "list"}).err.empty());
  zooctl.terminal.err = true;
  CHECK(zooctl({"tenant", "list"}).err.find("zooctl tenant create") != std::string::npos);
  CHECK(json::parse(zooctl({"tenant", "list", "-o", "json"}).out)["items"].empty());
}

TEST_CASE("spans are shortened as kubectl does") {
  CHECK(human_span(-5) == "0s");
  CHECK(human_span(119) == "119s");
  CHECK(human_span(120) == "2m");
  CHECK(human_span(200) == "3m20s");
  CHECK(human_span(179 * 60) == "179m");
  CHECK(human_span(3 * 3600 + 600) == "3h10m");
  CHECK(human_span(47 * 3600) == "47h");
  CHECK(human_span(49 * 3600) == "2d1h");
  CHECK(human_span(30 * 86400) == "30d");
  CHECK(human_span(800 * 86400) == "2y70d");
  CHECK(human_span(10LL * 365 * 86400) == "10y");
}

TEST_CASE("text of strangers is made printable, and measured as a terminal shows it") {
  CHECK(printable("a\x1b[2J\n\x7f") == "a\uFFFD[2J\uFFFD\uFFFD");
  CHECK(printable("\xff\xc0\x80\xed\xa0\x80").find('\xff') == std::string::npos);
  CHECK(printable("\u202Eabc") == "\uFFFDabc");
  CHECK(printable("日本é") == "日本é");
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("") == 0);
}

TEST_CASE("JSON has no control characters for a terminal, and means the same") {
  const json value = {{"name", "a\u009b31m\u007fb\u0080\u00e9\n"}};
  const auto text = json_text(value, -1);
  CHECK(text == "{\"name\":\"a\\u009b31m\\u007fb\\u0080\u00e9\\n\"}");
  CHECK(json::parse(text) == value);
}

TEST_CASE("a stream remembers why it could not write") {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[0]);
  FdStream broken(ends[1]);
  broken << std::string(100000, 'x') << std::flush;
  CHECK(broken.failure() == EPIPE);
  ::close(ends[1]);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  FdStream no_space(full);
  no_space << "x";
  CHECK(no_space.failure() == 0);
  no_space.flush();
  CHECK(no_space.failure() == ENOSPC);
  ::close(full);
}
