// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/reservations.hpp"
#include "tests/unit/accounts/world.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using nlohmann::json;
using std::chrono::seconds;

namespace {

/// Ends a zood before its n-th request, or behind it; nothing of it goes on after that.
struct Death {
  int before = -1, behind = -1;
  int count = 0;
  bool dead = false;
  FakeCluster::Hook hook_before() {
    return [this](const std::string&) {
      if (dead || count == before) {
        dead = true;
        throw Crash();
      }
    };
  }
  FakeCluster::Hook hook_behind() {
    return [this](const std::string&) {
      if (count++ == behind) {
        dead = true;
        throw Crash();
      }
    };
  }
};

std::vector<std::string> spaces_of(const FakeCluster& cluster, const std::string& account) {
  const auto known = cluster.state()->spaces_of_account.find(account);
  if (!known) return {};
  return {known->names.begin(), known->names.end()};
}

/// Either there is no trace of the space, or it is all that it should be.
bool whole_or_nothing(const FakeCluster& cluster, const std::string& name) {
  const auto account = cluster.at(FakeCluster::account("team"));
  if (account.value("/status/pending"_json_pointer, json()).is_array()) return false;
  if (!cluster.has(FakeCluster::space(name))) return true;
  return !cluster.state()->spaces.find(name)->initializing &&
         cluster.has(FakeCluster::binding(name));
}

} // namespace

TEST_CASE("a creation that ends anywhere is ended by the next zood, forward or back") {
  for (const bool behind : {false, true}) {
    bool died = true;
    for (int request = 0; died; ++request) {
      CAPTURE(request);
      CAPTURE(behind);
      World world;
      put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
      Death death{behind ? -1 : request, behind ? request : -1};
      died = false;
      try {
        Zood zood(world.cluster, death.hook_before(), death.hook_behind());
        must(zood.spaces->create(who("john"), a_space("s", "team"), options()));
      } catch (const Crash&) {
        died = true;
      }
      // Nobody has access before the last but one step.
      const bool has_access = world.cluster.has(FakeCluster::binding("s"));
      const bool made = world.cluster.has(FakeCluster::space("s"));
      CHECK((made || !has_access));
      Zood next(world.cluster);
      next.now += 5;
      next.settle();
      next.pass(seconds(15)); // until then the other one might still be at work
      next.settle();
      if (made) {
        CHECK(whole_or_nothing(world.cluster, "s"));
        CHECK(world.cluster.has(FakeCluster::binding("s")));
      } else if (died) {
        // A reservation that somebody may still need is kept for as long as he may need it.
        for (int minute = 0; minute < 12; ++minute) {
          next.pass(seconds(75));
          next.settle();
        }
        CHECK(whole_or_nothing(world.cluster, "s"));
        must(next.spaces->create(who("john"), a_space("t", "team"), options()));
      }
      CHECK(spaces_of(world.cluster, "team").size() == 1);
      if (!died) CHECK(request > 6);
    }
  }
}

TEST_CASE("a zood that goes on with a creation may end anywhere, too") {
  for (int first = 4; first < 8; ++first) {
    bool died = true;
    for (int request = 0; died; ++request) {
      CAPTURE(first);
      CAPTURE(request);
      World world;
      put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
      Death death{first, -1};
      try {
        Zood zood(world.cluster, death.hook_before(), death.hook_behind());
        must(zood.spaces->create(who("john"), a_space("s", "team"), options()));
      } catch (const Crash&) {
      }
      Death second{-1, request};
      died = false;
      try {
        Zood zood(world.cluster, second.hook_before(), second.hook_behind());
        zood.now += 20;
        zood.settle();
      } catch (const Crash&) {
        died = true;
      }
      Zood last(world.cluster);
      last.now += 40;
      last.settle();
      for (int minute = 0; minute < 12; ++minute) {
        last.pass(seconds(75));
        last.settle();
      }
      CHECK(whole_or_nothing(world.cluster, "s"));
    }
  }
}

TEST_CASE("past the deadline a half made space is taken back, and the account says so") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Death death{-1, 4};
  try {
    Zood zood(world.cluster, death.hook_before(), death.hook_behind());
    (void)zood.spaces->create(who("john"), a_space("s", "team"), options());
  } catch (const Crash&) {
  }
  REQUIRE(world.cluster.has(FakeCluster::space("s")));
  Zood next(world.cluster);
  next.now += 601;
  next.settle();
  CHECK_FALSE(world.cluster.has(FakeCluster::space("s")));
  const auto status = world.cluster.at(FakeCluster::account("team"))["status"];
  REQUIRE(status["failedSpaces"].size() == 1);
  CHECK(status["failedSpaces"][0]["name"] == "s");
  CHECK(status["failedSpaces"][0]["requester"] == "john");
  CHECK(status["failedSpaces"][0]["message"] == "space \"s\" was not ready within 10 minutes");
  CHECK_FALSE(status.contains("pending"));
}

TEST_CASE("what is taken back is what was judged: a space that is ready meanwhile stays") {
  for (const bool ready : {true, false}) {
    CAPTURE(ready);
    World world;
    put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
    Death death{-1, 4};
    try {
      Zood zood(world.cluster, death.hook_before(), death.hook_behind());
      (void)zood.spaces->create(who("john"), a_space("s", "team"), options());
    } catch (const Crash&) {
    }
    REQUIRE(world.cluster.has(FakeCluster::space("s")));
    int deletions = 0;
    Zood late(world.cluster, [&](const std::string& request) {
      if (request != "DELETE " + FakeCluster::space("s") || deletions++ > 0) return;
      if (ready) { // one whose clock has not passed the deadline
        Zood other(world.cluster);
        other.now += 20;
        other.settle();
      } else {
        must(world.cluster.connect()->merge_patch(FakeCluster::space("s"),
                                                  {{"metadata", {{"labels", {{"a", "b"}}}}}}));
      }
    });
    late.now += 601;
    late.settle();
    CHECK(deletions == (ready ? 1 : 2));
    CHECK(world.cluster.has(FakeCluster::space("s")) == ready);
    CHECK(world.cluster.has(FakeCluster::binding("s")) == ready);
    CHECK(whole_or_nothing(world.cluster, "s"));
    CHECK(world.cluster.at(FakeCluster::account("team"))["status"].contains("failedSpaces") ==
          !ready);
  }
}

TEST_CASE("a mark of somebody else is no half made space of ours") {
  World world;
  put_account(world.cluster, "team", {"john"});
  world.cluster.put(FakeCluster::space("kiosks"),
                    {{"metadata",
                      {{"labels", {{"kiosk.sh/account", "team"}}},
                       {"annotations", {{"kiosk.sh/initializing", "true"}}}}}});
  Zood zood(world.cluster);
  zood.settle();
  zood.pass(seconds(3'000));
  CHECK(world.cluster.has(FakeCluster::space("kiosks")));
  CHECK_FALSE(world.cluster.has(FakeCluster::binding("kiosks")));
}

TEST_CASE("who comes too late, for his reservation has ended, makes nothing") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  // It sleeps between its reservation and its namespace, until another zood has ended the
  // reservation and made another space.
  Zood other(world.cluster);
  Zood sleeper(world.cluster);
  sleeper.parts.on_step = [&](std::string_view step) {
    if (step != "namespace") return;
    other.now += 700;
    other.settle();
    for (int i = 0; i < 3; ++i)
      other.pass(seconds(75));
    must(other.spaces->create(who("john"), a_space("t", "team"), options()));
  };
  const auto late = sleeper.spaces->create(who("john"), a_space("s", "team"), options());
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().message().find("space limit of 1 reached for account team") == 0);
  CHECK(spaces_of(world.cluster, "team") == std::vector<std::string>{"t"});
}

namespace {

/// Lets the requests of two zoods through in an order that is said beforehand.
class Turns {
public:
  explicit Turns(unsigned order) : order_(order) {}
  FakeCluster::Hook hook(int who) {
    return [this, who](const std::string&) {
      std::unique_lock lock(mutex_);
      waiting_[who] = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return may(who); });
      waiting_[who] = false;
      next_ = false;
      changed_.notify_all();
    };
  }
  void over(int who) {
    const std::lock_guard lock(mutex_);
    over_[who] = true;
    changed_.notify_all();
  }

private:
  /// Whose turn it is is known when each of them waits or has ended.
  bool may(int who) {
    if (!(waiting_[0] || over_[0]) || !(waiting_[1] || over_[1])) return false;
    if (!next_) {
      chosen_ = static_cast<int>((order_ >> std::min(step_++, 31U)) & 1U);
      next_ = true;
    }
    return over_[1 - who] || chosen_ == who;
  }

  const unsigned order_;
  unsigned step_ = 0;
  bool next_ = false;
  int chosen_ = 0;
  bool waiting_[2] = {}, over_[2] = {};
  std::mutex mutex_;
  std::condition_variable changed_;
};

} // namespace

TEST_CASE("N1 two zoods that make spaces at the same time, in any order, keep the limit") {
  // Twelve turns decide who is before whom; the rest of each run is the second one's.
  for (unsigned order = 0; order < 4'096; ++order) {
    CAPTURE(order);
    World world;
    put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
    Turns turns(order);
    int made = 0;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int one = 0; one < 2; ++one) {
      threads.emplace_back([&, one] {
        {
          Zood zood(world.cluster, turns.hook(one));
          const auto done =
              zood.spaces->create(who("john"), a_space(fmt::format("s{}", one), "team"), options());
          const std::lock_guard lock(mutex);
          if (done) ++made;
          if (!done && done.error().code() != Code::forbidden) made += 100;
        }
        turns.over(one);
      });
    }
    for (auto& thread : threads)
      thread.join();
    REQUIRE(made == 1);
    REQUIRE(spaces_of(world.cluster, "team").size() == 1);
  }
}

TEST_CASE("N1 forty creations at once fill the account, and no more") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 5}});
  Zood one(world.cluster), two(world.cluster);
  std::atomic<int> made = 0, full = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 40; ++i) {
    threads.emplace_back([&, i] {
      auto& zood = i % 2 == 0 ? one : two;
      const auto done =
          zood.spaces->create(who("john"), a_space(fmt::format("s{}", i), "team"), options());
      if (done) ++made;
      if (!done && done.error().code() == Code::forbidden) ++full;
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(made == 5);
  CHECK(full == 35);
  CHECK(spaces_of(world.cluster, "team").size() == 5);
}
