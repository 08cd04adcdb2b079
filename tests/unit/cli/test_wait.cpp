// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace zoo;
using namespace zoo::cli::test;

namespace {

const std::string k_list = std::string("GET ") + k_tenants;
const std::string k_post = std::string("POST ") + k_tenants;
const std::string k_watch = std::string("WATCH ") + k_tenants;

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

Zooctl creating() {
  Zooctl zooctl;
  zooctl.server.on(k_post, {{201, tenant("foofoo", "Pending")}});
  zooctl.server.on(k_list, {{200, list({tenant("foofoo", "Pending")})}});
  return zooctl;
}

std::size_t count(const Zooctl& zooctl, std::string_view part) {
  std::size_t n = 0;
  for (const auto& request : zooctl.server.requests)
    n += request.url.find(part) != std::string::npos ? 1 : 0;
  return n;
}

} // namespace

TEST_CASE("a wait that is over says what zood waits for, and that it goes on") {
  auto zooctl = creating();
  zooctl.server.on(
      k_watch,
      {{200,
        event("MODIFIED", tenant("foofoo", "Pending", R"("waitingFor":"the certificate")")),
        {},
        60s}});
  const auto outcome = zooctl({"tenant", "create", "foofoo", "--timeout", "30s"});
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "tenant/foofoo created\n");
  CHECK(outcome.err == "zooctl: tenant 'foofoo' is not Ready after 30s: waiting for the "
                       "certificate. zood goes on with it; see `zooctl tenant describe foofoo`\n");
  const auto& watch = zooctl.server.asked("GET", "watch=true");
  CHECK(watch.idle_timeout == 30s);
  CHECK(watch.url.find("timeoutSeconds=31") != std::string::npos);
  CHECK(watch.url.find("fieldSelector=metadata.name%3Dfoofoo") != std::string::npos);
}

TEST_CASE("a silent stream ends with the wait's time, not with an error of its own") {
  auto zooctl = creating();
  zooctl.server.on(k_watch, {{0, "", Error(Code::timeout, "silence"), 30s}});
  const auto outcome = zooctl({"tenant", "create", "foofoo", "--timeout", "30s"});
  CHECK(outcome.status == 7);
  CHECK(outcome.err.find("is not Ready after 30s") != std::string::npos);
}

TEST_CASE("streams that end, bookmarks, other objects and 410 are taken up again by a list") {
  auto zooctl = creating();
  zooctl.server.on(k_watch, {{200,
                              event("BOOKMARK", tenant("foofoo", "Ready")) +
                                  event("ADDED", tenant("barbar")) + "\n",
                              {},
                              5s},
                             {200, event("ERROR", status(410, "Expired", "too old")), {}, 5s},
                             {410, status(410, "Expired", "too old"), {}, 5s},
                             {200, event("MODIFIED", tenant("foofoo"))}});
  const auto outcome = zooctl({"tenant", "create", "foofoo"});
  CHECK(outcome.status == 0);
  CHECK(count(zooctl, "watch=true") == 4);
  CHECK(zooctl.slept == 0ms);
}

TEST_CASE("a server that ends its streams at once is not asked in a busy loop") {
  auto zooctl = creating();
  zooctl.server.on(k_watch, {{200, ""}});
  const auto outcome = zooctl({"tenant", "create", "foofoo", "--timeout", "10s"});
  CHECK(outcome.status == 7);
  CHECK(count(zooctl, "watch=true") <= 20);
}

TEST_CASE("zood restarting does not end a wait") {
  auto zooctl = creating();
  zooctl.server.on(k_list, {{200, list({tenant("foofoo", "Pending")})},
                            {0, "", Error(Code::timeout, "away")},
                            {200, list({tenant("foofoo")})}});
  zooctl.server.on(k_watch, {{0, "", Error(Code::timeout, "closed")}});
  CHECK(zooctl({"tenant", "create", "foofoo"}).status == 0);
}

TEST_CASE("a refusal, a failure and a deletion end the wait at once") {
  auto zooctl = creating();
  zooctl.server.on(k_watch, {{403, status(403, "Forbidden", "not you")}});
  CHECK(zooctl({"tenant", "create", "foofoo"}).status == 77);
  zooctl.server.on(
      k_watch,
      {{200, event("MODIFIED", tenant("foofoo", "Failed", R"("waitingFor":"a free prefix")"))}});
  auto outcome = zooctl({"tenant", "create", "foofoo"});
  CHECK(outcome.status == 70);
  CHECK(outcome.err.find("failed: a free prefix") != std::string::npos);
  zooctl.server.on(k_watch, {{200, event("DELETED", tenant("foofoo"))}});
  CHECK(zooctl({"tenant", "create", "foofoo"}).status == 6);
  zooctl.server.on(k_watch, {{200, "garbage\n"}});
  CHECK(zooctl({"tenant", "create", "foofoo"}).status == 70);
}

TEST_CASE("a tenant made again under the same ID is not the one that was deleted") {
  Zooctl zooctl;
  zooctl.server.on(k_list + "/foofoo", {{200, tenant("foofoo")}});
  zooctl.server.on("DELETE " + std::string(k_tenants) + "/foofoo", {{200, tenant("foofoo")}});
  auto again = tenant("foofoo", "Pending");
  again.replace(again.find("uid-foofoo"), 10, "uid-second");
  zooctl.server.on(k_list, {{200, list({again})}});
  const auto outcome = zooctl({"tenant", "delete", "foofoo"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "tenant/foofoo deleted\n");
}

TEST_CASE("progress is for terminals, and is wiped away") {
  auto zooctl = creating();
  zooctl.server.on(
      k_watch, {{200, event("MODIFIED", tenant("foofoo", "Pending", R"("waitingFor":"fences")")) +
                          event("MODIFIED", tenant("foofoo"))}});
  CHECK(zooctl({"tenant", "create", "foofoo"}).err.find('\r') == std::string::npos);
  zooctl.terminal.err = true;
  auto outcome = zooctl({"tenant", "create", "foofoo"});
  CHECK(outcome.err.find("waiting for fences") != std::string::npos);
  CHECK(outcome.err.find("\r\x1b[Ktenant foofoo is Ready\n") != std::string::npos);
  CHECK(outcome.err.find("zooctl kubeconfig export foofoo") != std::string::npos);
  outcome = zooctl({"tenant", "create", "foofoo", "--quiet"});
  CHECK(outcome.err.empty());
}
