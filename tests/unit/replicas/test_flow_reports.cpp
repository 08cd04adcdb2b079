// SPDX-License-Identifier: Apache-2.0
#include "daemon/replicas/flow_reports.hpp"
#include "tests/unit/replicas/several_zoods.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

using namespace zoo;
using namespace zoo::replicas;
using namespace std::chrono_literals;
using access::FlowOthers;
using test::NamedSession;

namespace {

using World = test::SharedStore;

/// A zood whose tenants have in progress what the test says.
class Zood {
public:
  Zood(World& world, const std::string& name, bool leads = false)
      : session_(name, world.living, leads) {
    reports_.emplace(FlowReports::Parts{*world.store, session_,
                                        [this](std::uint32_t, std::size_t most) {
                                          const std::lock_guard lock(mutex_);
                                          CHECK(most == FlowReports::k_most_tenants);
                                          return here_;
                                        },
                                        [this](FlowByTenant others, std::uint32_t zoods) {
                                          const std::lock_guard lock(mutex_);
                                          others_ = std::move(others);
                                          zoods_ = zoods;
                                          changed_.notify_all();
                                        },
                                        5ms});
  }
  void has(FlowByTenant here) {
    const std::lock_guard lock(mutex_);
    here_ = std::move(here);
  }
  /// Waits until it was told so; false after ten seconds.
  bool hears(const FlowByTenant& others, std::uint32_t zoods) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return others_ == others && zoods_ == zoods; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  FlowByTenant here_, others_;
  std::uint32_t zoods_ = 0;
  NamedSession session_;
  std::optional<FlowReports> reports_; ///< its thread uses all the rest
};

} // namespace

TEST_CASE("each zood hears what the others have together") {
  World world;
  Zood a(world, "a"), b(world, "b"), c(world, "c");
  a.has({{"foofoo", {3, 1, 20}}});
  b.has({{"foofoo", {4, 0, 0}}, {"barbar", {1, 1, 1}}});
  CHECK(a.hears({{"foofoo", {4, 0, 0}}, {"barbar", {1, 1, 1}}}, 3));
  CHECK(b.hears({{"foofoo", {3, 1, 20}}}, 3));
  CHECK(c.hears({{"foofoo", {7, 1, 20}}, {"barbar", {1, 1, 1}}}, 3));
  a.has({});
  CHECK(c.hears({{"foofoo", {4, 0, 0}}, {"barbar", {1, 1, 1}}}, 3));
}

TEST_CASE("a zood that goes takes its report along") {
  World world;
  Zood a(world, "a");
  {
    Zood b(world, "b");
    b.has({{"foofoo", {4, 0, 0}}});
    CHECK(a.hears({{"foofoo", {4, 0, 0}}}, 2));
  }
  CHECK(a.hears({}, 1));
  CHECK(world.store->list(k_flow_kind)->records.empty());
}

TEST_CASE("what a zood has left that is gone counts for nothing, and the leader removes it") {
  World world;
  REQUIRE(world.store->put(k_flow_kind, "dead", R"({"foofoo": [9, 9, 9]})"));
  {
    Zood a(world, "a");
    CHECK(a.hears({}, 1));
    CHECK(world.store->get(k_flow_kind, "dead"));
  }
  Zood leader(world, "b", true);
  CHECK(leader.hears({}, 1));
  CHECK_FALSE(world.store->get(k_flow_kind, "dead"));
}

TEST_CASE("what an earlier process of this name has left goes") {
  World world;
  REQUIRE(world.store->put(k_flow_kind, "b", R"({"foofoo": [9, 9, 9]})"));
  Zood b(world, "b");
  Zood a(world, "a");
  CHECK(a.hears({}, 2));
  CHECK(b.hears({}, 2));
  CHECK_FALSE(world.store->get(k_flow_kind, "b"));
}

TEST_CASE("a report that was removed meanwhile is written again") {
  World world;
  Zood a(world, "a"), b(world, "b");
  b.has({{"foofoo", {4, 0, 0}}});
  CHECK(a.hears({{"foofoo", {4, 0, 0}}}, 2));
  REQUIRE(world.store->remove(k_flow_kind, "b"));
  const auto there = [&] { return world.store->get(k_flow_kind, "b").has_value(); };
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!there() && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  CHECK(there());
  CHECK(a.hears({{"foofoo", {4, 0, 0}}}, 2));
}

TEST_CASE("alone a zood writes nothing, and neither when nothing has changed") {
  World world;
  Zood a(world, "a");
  a.has({{"foofoo", {3, 1, 20}}});
  CHECK(a.hears({}, 1));
  CHECK(*world.store->revision() == 0);
  Zood b(world, "b");
  CHECK(b.hears({{"foofoo", {3, 1, 20}}}, 2));
  const auto revision = *world.store->revision();
  b.has({{"barbar", {1, 0, 0}}});
  CHECK(a.hears({{"barbar", {1, 0, 0}}}, 2));
  CHECK(*world.store->revision() == revision + 1); // b's report alone
}

TEST_CASE("a report that is not as it should be counts for what can be read of it") {
  World world;
  NamedSession other("other", world.living);
  for (const auto* report : {"", "[1]", R"({"foofoo": 5})", R"({"foofoo": {"a": 1}})"}) {
    CAPTURE(report);
    REQUIRE(world.store->put(k_flow_kind, "other", report));
    Zood a(world, "a");
    CHECK(a.hears({}, 2));
  }
  REQUIRE(world.store->put(k_flow_kind, "other",
                           R"({"foofoo": [-1, "x", 99999999999], "barbar": [1]})"));
  Zood a(world, "a");
  CHECK(a.hears({{"foofoo", {0, 0, 4'294'967'295}}, {"barbar", {1, 0, 0}}}, 2));
}
