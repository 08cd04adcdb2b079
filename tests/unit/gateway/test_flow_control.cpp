// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_control.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace zoo::gateway;
using Verdict = FlowControl::Verdict;

namespace {

FlowControl::Entered enter(FlowControl& control, std::string_view tenant, std::uint32_t share,
                           std::function<void(bool)> told = nullptr) {
  zoo::api::Flow flow;
  flow.requests = share;
  // FlowControl keeps it: there are too few for any to be forgotten.
  return control.enter(*control.share(tenant), flow, "user", Work::read, false,
                       [&] { return told; });
}

} // namespace

TEST_CASE("a tenant has its places, and gets them back") {
  FlowControl control;
  {
    auto first = enter(control, "foofoo", 2);
    auto second = enter(control, "foofoo", 2);
    CHECK(first.place);
    CHECK(second.place);
    CHECK(enter(control, "foofoo", 2).verdict == Verdict::full);
    CHECK(enter(control, "barbar", 2).place); // its neighbour notices nothing
    auto moved = std::move(*first.place);
    CHECK_FALSE(enter(control, "foofoo", 2).place);
  }
  CHECK(enter(control, "foofoo", 1).place);
  CHECK_FALSE(enter(control, "foofoo", 0).place);
}

TEST_CASE("who waits is told once, and not after it went") {
  FlowControl control;
  control.set_limits({1, 10});
  int told = 0, others = 0;
  auto first = enter(control, "foofoo", 10);
  auto second = enter(control, "foofoo", 10, [&](bool admitted) { told += admitted ? 1 : 100; });
  CHECK(second.verdict == Verdict::queued);
  {
    auto tired = enter(control, "foofoo", 10, [&](bool) { ++others; });
    CHECK(tired.verdict == Verdict::queued);
  }
  CHECK(told == 0);
  first.place.reset();
  CHECK(told == 1);
  second.place.reset();
  CHECK(told == 1);
  CHECK(others == 0);
  CHECK(control.load("foofoo").in_flight == 0);
}

TEST_CASE("who is answered while it waits leaves at once, and what it would be told is gone") {
  FlowControl control;
  control.set_limits({1, 10});
  const auto held = std::make_shared<int>(0);
  auto first = enter(control, "foofoo", 10);
  auto second = enter(control, "foofoo", 10, [held](bool) { ++*held; });
  CHECK(second.verdict == Verdict::queued);
  CHECK(held.use_count() > 1);
  second.place->answered(0);
  CHECK(held.use_count() == 1);
  CHECK(control.load("foofoo").queued == 0);
  second.place.reset();
  first.place.reset();
  CHECK(*held == 0);
  CHECK(control.load("foofoo").in_flight == 0);
}

TEST_CASE("places are counted exactly from several threads") {
  FlowControl control;
  control.set_limits({3, 100});
  std::vector<std::thread> threads;
  std::atomic<int> inside = 0, most = 0, told = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 5'000; ++n) {
        auto admitted = std::make_shared<std::atomic<bool>>(false);
        auto entered = enter(control, "foofoo", 100, [&told, admitted](bool) {
          ++told;
          *admitted = true;
          admitted->notify_one();
        });
        REQUIRE(entered.place);
        if (entered.verdict == Verdict::queued) admitted->wait(false);
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        --inside;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(most <= 3);
  CHECK(control.load("foofoo").in_flight == 0);
  CHECK(control.load("foofoo").refused == 0);
}

TEST_CASE("of a tenant's limits a zood lets in what others leave, and its even part at least") {
  FlowControl control;
  control.set_others({{"foofoo", {5, 0, 0}}}, 3); // before its share is made
  std::vector<FlowControl::Entered> held;
  const auto let_in = [&](std::uint32_t limit) {
    held.clear();
    for (;;) {
      auto entered = enter(control, "foofoo", limit);
      if (!entered.place) return held.size();
      held.push_back(std::move(entered));
    }
  };
  CHECK(let_in(10) == 5);
  CHECK(let_in(6) == 2); // 6 / 3
  CHECK(let_in(7) == 3); // 7 / 3, rounded up
  control.set_others({{"foofoo", {100, 0, 0}}}, 2);
  CHECK(let_in(10) == 5);
  control.set_others({}, 2);
  CHECK(let_in(10) == 10);
  CHECK(let_in(0) == 0);
  control.set_others({{"foofoo", {100, 0, 0}}}, 1); // alone
  CHECK(let_in(10) == 10);
}

TEST_CASE("writes and long-running requests are shared likewise") {
  FlowControl control;
  control.set_others({{"foofoo", {0, 3, 7}}}, 2);
  zoo::api::Flow flow;
  flow.mutations = 4;
  flow.long_running = 8;
  std::vector<FlowControl::Entered> held;
  const auto let_in = [&](Work work) {
    held.clear();
    for (;;) {
      auto entered = control.enter(*control.share("foofoo"), flow, "user", work, false,
                                   [] { return nullptr; });
      if (!entered.place) return held.size();
      held.push_back(std::move(entered));
    }
  };
  CHECK(let_in(Work::mutation) == 2);
  CHECK(let_in(Work::long_running) == 4);
}

TEST_CASE("what is worth telling is more than an eighth of an even part") {
  FlowControl control;
  std::vector<FlowControl::Entered> held;
  for (int i = 0; i < 5; ++i)
    held.push_back(enter(control, "foofoo", 80));
  held.push_back(enter(control, "barbar", 80));
  CHECK(control.worth_telling(1, 10).empty()); // ten would do
  const auto told = control.worth_telling(3, 10);
  REQUIRE(told.size() == 1);
  CHECK(told.at("foofoo") == zoo::access::FlowOthers{5, 0, 0});
  CHECK(control.worth_telling(3, 0).empty());
}
