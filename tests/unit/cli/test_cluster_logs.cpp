// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace std::chrono_literals;
using namespace zoo;
using namespace zoo::cli::test;

namespace {

const std::string k_clusters =
    "GET /apis/kosmos.io/v1alpha1/namespaces/default/virtualclusters"; // and what is below it
const std::string k_cluster = k_clusters + "/t1";
const std::string k_log = k_cluster + "/log";

std::string part(const std::string& text, unsigned position) {
  return R"({"text":")" + text + R"(","position":)" + std::to_string(position) + "}";
}

/// How often that position was asked for.
std::ptrdiff_t asked_from(const Zooctl& zooctl, unsigned position) {
  const auto wanted = "position=" + std::to_string(position);
  return std::count_if(
      zooctl.server.requests.begin(), zooctl.server.requests.end(),
      [&wanted](const auto& each) { return each.url.find(wanted) != std::string::npos; });
}

Outcome follow(Zooctl& zooctl) {
  return zooctl({"cluster", "logs", "-f", "t1", "etcd", "--tail", "1"});
}

} // namespace

TEST_CASE("a log that is followed goes on where it was when zood is back") {
  Zooctl zooctl;
  zooctl.server.on(k_log, {{200, part("one\\n", 4)},
                           {0, "", Error(Code::timeout, "silence")},
                           {503, status(503, "ServiceUnavailable", "starting")},
                           {200, part("two\\n", 8)},
                           {404, status(404, "NotFound", "gone")}});
  zooctl.server.on(k_cluster, {{503, status(503, "ServiceUnavailable", "away")},
                               {503, status(503, "ServiceUnavailable", "away")},
                               {404, status(404, "NotFound", "gone")}});
  zooctl.server.on(k_clusters, {{200, list({})}});
  const auto outcome = follow(zooctl);
  CHECK(outcome.out == "one\ntwo\n");
  CHECK(asked_from(zooctl, 4) == 3);
  CHECK(asked_from(zooctl, 8) == 1);
  // It is said once that it waits, and once that it does not any more.
  const auto waits = outcome.err.find("the log goes on when zood answers again: ");
  REQUIRE(waits != std::string::npos);
  CHECK(outcome.err.find("the log goes on when", waits + 1) == std::string::npos);
  CHECK(outcome.err.find("zood answers again: the log goes on where it was", waits) !=
        std::string::npos);
  CHECK(zooctl.slept >= 2s); // zood is not asked all the time meanwhile
  CHECK(outcome.status == 4);
  CHECK(outcome.err.find("there is no virtual cluster 't1'") != std::string::npos);
}

TEST_CASE("a log that zood refuses is not waited for") {
  Zooctl zooctl;
  zooctl.server.on(k_log, {{200, part("one\\n", 4)}, {403, status(403, "Forbidden", "not you")}});
  zooctl.server.on(k_cluster, {{200, R"({"metadata":{"name":"t1"}})"}});
  const auto outcome = follow(zooctl);
  CHECK(outcome.out == "one\n");
  CHECK(outcome.status == 77);
  CHECK(outcome.err.find("answers again") == std::string::npos);
}

TEST_CASE("zood that is away at first is told at once") {
  Zooctl zooctl;
  zooctl.server.on(k_log, {{503, status(503, "ServiceUnavailable", "away")}});
  zooctl.server.on(k_cluster, {{503, status(503, "ServiceUnavailable", "away")}});
  CHECK(follow(zooctl).status == 69);
  CHECK(zooctl.slept == 0s);
}
