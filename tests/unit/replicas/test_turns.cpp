// SPDX-License-Identifier: Apache-2.0
#include "daemon/replicas/turns.hpp"
#include "tests/unit/replicas/several_zoods.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

using namespace zoo;
using namespace zoo::replicas;
using test::NamedSession;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

/// Zoods with one store.
struct World : test::SharedStore {
  TurnTimes times = [] {
    TurnTimes out;
    out.mourning = 100ms;
    out.look = 20ms;
    return out;
  }();

  struct Zood {
    Zood(World& world, const std::string& name)
        : session(name, world.living), turns(*world.store, session, world.times) {
      REQUIRE(turns.start());
    }
    /// As a request does it: asks, and again when it is woken.
    access::Turns::Answer take(const std::string& tenant, Clock::time_point since = Clock::now()) {
      for (;;) {
        std::mutex mutex;
        std::condition_variable changed;
        bool woken = false;
        auto answer = turns.take(tenant, since, [&] {
          const std::lock_guard lock(mutex);
          woken = true;
          changed.notify_all();
        });
        if (answer.turn || answer.error) return answer;
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return woken; });
      }
    }
    NamedSession session;
    SharedTurns turns;
  };
};

} // namespace

TEST_CASE("a zood alone keeps the turn") {
  World world;
  World::Zood a(world, "a");
  auto first = a.take("t");
  REQUIRE(first.turn);
  const auto second = a.take("t");
  REQUIRE(second.turn);
  CHECK(second.generation == first.generation);
  first.turn.reset();
  CHECK(a.take("t").generation == first.generation);
  CHECK(world.store->list(k_turn_kind)->records.size() == 1);
}

TEST_CASE("the turn goes to whoever asks, when nobody has it out, and what was counted is void") {
  World world;
  World::Zood a(world, "a"), b(world, "b");
  auto at_a = a.take("t");
  REQUIRE(at_a.turn);
  std::atomic<bool> has = false;
  std::jthread other([&] {
    const auto at_b = b.take("t");
    has = at_b.turn != nullptr;
  });
  const auto wanted = [&] {
    const auto record = world.store->get(k_turn_kind, "t");
    return record && record->value.find("\"wanted\":[\"b/") != std::string::npos;
  };
  while (!wanted())
    std::this_thread::sleep_for(1ms);
  CHECK_FALSE(has);
  const auto before = at_a.generation;
  at_a.turn.reset();
  other.join();
  CHECK(has);
  CHECK(a.take("t").generation != before);
}

TEST_CASE("of many who write at several zoods at once those of one zood have the turn") {
  World world;
  World::Zood a(world, "a"), b(world, "b"), c(world, "c");
  std::mutex mutex;
  std::map<std::string, int> inside;
  std::atomic<int> crowds = 0, done = 0, failures = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 18; ++i) {
    auto& zood = i % 3 == 0 ? a : i % 3 == 1 ? b : c;
    threads.emplace_back([&] {
      for (int n = 0; n < 5; ++n) {
        auto answer = zood.take("t");
        if (!answer.turn) {
          ++failures;
          continue;
        }
        {
          const std::lock_guard lock(mutex);
          ++inside[zood.session.name()];
          const auto there = std::count_if(inside.begin(), inside.end(),
                                           [](const auto& each) { return each.second > 0; });
          if (there > 1) ++crowds;
        }
        std::this_thread::sleep_for(1ms);
        {
          const std::lock_guard lock(mutex);
          --inside[zood.session.name()];
        }
        answer.turn.reset();
        ++done;
      }
    });
  }
  threads.clear();
  CHECK(crowds == 0);
  CHECK(failures == 0);
  CHECK(done == 90);
}

TEST_CASE("tenants do not wait for each other") {
  World world;
  World::Zood a(world, "a"), b(world, "b");
  const auto one = a.take("one"), two = b.take("two");
  CHECK(one.turn);
  CHECK(two.turn);
}

TEST_CASE("a turn whose write has no known end stays for a while") {
  World world;
  world.times.doubt = 300ms;
  World::Zood a(world, "a"), b(world, "b");
  auto answer = a.take("t");
  const auto begun = Clock::now();
  answer.turn->doubt();
  answer.turn.reset();
  CHECK(b.take("t").turn);
  CHECK(Clock::now() - begun >= 300ms);
}

TEST_CASE("the turn of a zood that is gone is taken when what it had sent has come to its end") {
  World world;
  World::Zood b(world, "b");
  REQUIRE(world.store->put(k_turn_kind, "t", R"({"holder":"a/1","wanted":[]})", 0));
  REQUIRE(world.store->put(k_turn_kind, "u", R"({"holder":"b/1","wanted":["c/1"]})", 0));
  const auto begun = Clock::now();
  CHECK(b.take("t").turn);
  CHECK(Clock::now() - begun >= world.times.mourning);
  CHECK(b.take("u").turn); // of an earlier process of its own name
}

TEST_CASE("an earlier process of its name passes on what it had") {
  World world;
  NamedSession c("c", world.living);
  REQUIRE(world.store->put(k_turn_kind, "t", R"({"holder":"b/1","wanted":["c/1"]})", 0));
  REQUIRE(world.store->put(k_turn_kind, "u", R"({"holder":"b/1","wanted":[]})", 0));
  World::Zood b(world, "b");
  const auto passed = [&] {
    const auto t = world.store->get(k_turn_kind, "t");
    return t && t->value.find("\"holder\":\"c/1\"") != std::string::npos &&
           !world.store->get(k_turn_kind, "u");
  };
  while (!passed())
    std::this_thread::sleep_for(1ms);
}

TEST_CASE("whoever waits too long, or is one too many, is told so") {
  World world;
  world.times.wait = 100ms;
  World::Zood a(world, "a"), b(world, "b");
  const auto held = a.take("t");
  const auto late = b.take("t");
  REQUIRE(late.error);
  CHECK(late.error->code() == Code::too_many_requests);
  std::size_t refused = 0;
  for (std::size_t i = 0; i <= SharedTurns::k_most_of_one; ++i)
    refused += b.turns.take("t", Clock::now(), [] {}).error ? 1 : 0;
  CHECK(refused == 1);
}

TEST_CASE("at its end a zood gives away what it has") {
  World world;
  World::Zood b(world, "b");
  {
    World::Zood a(world, "a");
    CHECK(a.take("t").turn);
  }
  CHECK(world.store->list(k_turn_kind)->records.empty());
  CHECK(b.take("t").turn);
}
