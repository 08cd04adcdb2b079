// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy_source.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/upstream.hpp"
#include "tests/unit/authz/scripted_caller.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <optional>

using namespace zoo;

namespace {

constexpr std::string_view k_role =
    R"({"metadata":{"name":"r","namespace":"foofoo-team","resourceVersion":"1"},)"
    R"("rules":[{"verbs":["zoo:get"],"apiGroups":[""],"resources":["pods"]}]})";
constexpr std::string_view k_binding =
    R"({"metadata":{"name":"b","namespace":"foofoo-team","resourceVersion":"2"},)"
    R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},)"
    R"("subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"zoo:inert:foofoo:jane"}]})";

/// Steps are taken one after the other, each when the source has published.
struct Bench {
  using Heard = Result<authz::PolicyPtr>;
  using Step = std::function<void(const Heard&)>;

  explicit Bench(authz::PolicyLimits limits = {}) : limits_(limits) {
    upstream.set_caller(loop, caller);
  }

  void run(std::deque<Step> given) {
    steps = std::move(given);
    loop.post([this] {
      source.emplace(upstream, caller, loop, mapping, limits_, [this](const Heard& heard) {
        REQUIRE_FALSE(steps.empty());
        const auto step = std::move(steps.front());
        steps.pop_front();
        step(heard);
        if (steps.empty()) loop.stop();
      });
      source->start();
      if (first) first();
    });
    loop.run();
    CHECK(steps.empty());
    source.reset();
  }

  void read_all() {
    caller.list("/roles?", k_role);
    caller.list("/clusterroles?", "");
    caller.list("/rolebindings?", k_binding);
  }

  static bool may(const Heard& heard) {
    REQUIRE(heard);
    authz::Attributes attributes;
    attributes.verb = "get";
    attributes.resource = "pods";
    attributes.name_space = "team";
    return (*heard)->decide({"jane", "", {}, {}}, attributes).allowed;
  }

  net::Loop loop;
  upstream::Upstream upstream{std::make_shared<upstream::UpstreamEndpoint>(), {&loop}, {}};
  test::ScriptedCaller caller;
  translate::Mapping mapping{"foofoo", std::make_shared<const translate::SharedNames>()};
  authz::PolicyLimits limits_;
  std::function<void()> first;
  std::deque<Step> steps;
  std::optional<authz::PolicySource> source;
};

} // namespace

TEST_CASE("a policy is there when all kinds are read, and follows their watches") {
  Bench bench;
  bench.first = [&] { bench.read_all(); };
  bench.run({[&](const auto& heard) {
               CHECK(Bench::may(heard));
               bench.caller.event("/rolebindings?", "DELETED", k_binding);
             },
             [&](const auto& heard) {
               CHECK_FALSE(Bench::may(heard));
               bench.caller.event("/rolebindings?", "ADDED", k_binding);
             },
             [&](const auto& heard) { CHECK(Bench::may(heard)); }});
}

TEST_CASE("what cannot be read is not known, until it can") {
  Bench bench;
  bench.first = [&] {
    bench.caller.list("/clusterroles?", "", 500);
    bench.caller.started = [&](const std::string& target) { // it asks again by itself
      if (target.find("/clusterroles?limit") == std::string::npos) return;
      bench.loop.post([&] { bench.read_all(); });
    };
  };
  bench.run({[&](const auto& heard) {
               REQUIRE_FALSE(heard);
               CHECK(heard.error().code() == Code::unavailable);
               CHECK(heard.error().message().find("ClusterRoles cannot be read") !=
                     std::string::npos);
             },
             [&](const auto& heard) { CHECK(Bench::may(heard)); }});
}

TEST_CASE("a lost watch is believed for a while, then nothing is") {
  authz::PolicyLimits limits;
  limits.stale = std::chrono::milliseconds(20);
  Bench bench(limits);
  bench.first = [&] { bench.read_all(); };
  bench.run({[&](const auto& heard) {
               CHECK(Bench::may(heard));
               bench.caller.asked("/roles?", true).on_error(Error(Code::unavailable, "gone"));
             },
             [&](const auto& heard) {
               REQUIRE_FALSE(heard);
               CHECK(heard.error().code() == Code::unavailable);
             }});
}

TEST_CASE("what comes later is not kept beyond the limit either, and is read again once it fits") {
  authz::PolicyLimits limits;
  limits.bytes = 1000;
  Bench bench(limits);
  const auto large =
      R"({"metadata":{"name":"large","namespace":"foofoo-team","resourceVersion":"1"},)"
      R"("rules":[{"verbs":[")" +
      std::string(1000, 'x') + R"("]}]})";
  bool again = false;
  bench.first = [&] {
    bench.read_all();
    bench.caller.started = [&](const std::string& target) {
      if (target.find("/roles?limit") == std::string::npos) return;
      again = true;
      bench.caller.version = "9999"; // behind all events
      bench.loop.post([&] { bench.caller.list("/roles?", k_role); });
    };
  };
  bench.run({[&](const auto& heard) {
               CHECK(Bench::may(heard));
               bench.caller.event("/roles?", "ADDED", large);
             },
             [&](const auto& heard) {
               REQUIRE_FALSE(heard);
               CHECK(heard.error().message().find("at most 1000") != std::string::npos);
               CHECK_FALSE(again);
               bench.caller.event("/roles?", "DELETED", large);
             },
             [&](const auto& heard) { CHECK(Bench::may(heard)); }});
  CHECK(again);
}

TEST_CASE("more than the limit is refused, not cut short") {
  authz::PolicyLimits limits;
  limits.bytes = 100;
  Bench bench(limits);
  bench.first = [&] { bench.read_all(); };
  bench.run({[&](const auto& heard) {
    REQUIRE_FALSE(heard);
    CHECK(heard.error().message().find("at most 100") != std::string::npos);
  }});
}
