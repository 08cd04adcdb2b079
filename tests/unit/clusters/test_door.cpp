// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/door.hpp"
#include "daemon/net/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <thread>

using namespace zoo;
using namespace zoo::clusters;
using State = DoorEntry::State;

namespace {

struct DoorWorld {
  net::Workers loops{1, "test"};
  net::Loop& loop = *loops.loops().front();
  PublishedDoors table{std::make_shared<const DoorTable>()};
  std::atomic<int> wakes = 0;
  std::atomic<int> passed = 0, refused = 0;
  Door door{{table, "vc.test", 1'000, [this](const std::string&) { ++wakes; }, loops.loops()}};
  std::vector<std::shared_ptr<void>> held; ///< on the loop

  ~DoorWorld() {
    on_loop([this] { held.clear(); });
    loops.stop();
  }
  void set(State state, const std::string& uid = "uid-1") {
    auto next = std::make_shared<DoorTable>();
    next->clusters["abc123"] = {"abc123", "default/t1", uid, "127.64.0.1", 7'500, state};
    table.store(std::move(next));
    door.changed();
  }
  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    loop.post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  /// What was posted before it has been done.
  void settle() {
    on_loop([] {});
    on_loop([] {});
  }
  void come(const std::string& name, int count = 1) {
    on_loop([&] {
      for (int i = 0; i < count; ++i)
        held.push_back(door.admit(loop, name, [this](const net::Porter::Decision& decision) {
          ++(decision.passes ? passed : refused);
        }));
    });
    settle();
  }
};

} // namespace

TEST_CASE_FIXTURE(DoorWorld, "names of the domain are claimed, and no others") {
  CHECK(door.claims("abc123.vc.test"));
  CHECK(door.claims("nobody.vc.test"));
  CHECK_FALSE(door.claims("vc.test"));
  CHECK_FALSE(door.claims("abc123.vc.test.example.com"));
  CHECK_FALSE(door.claims("abc123xvc.test"));
  CHECK_FALSE(door.claims(""));
}

TEST_CASE_FIXTURE(DoorWorld, "ten thousand at a sleeping cluster's door: a thousand wait") {
  set(State::asleep);
  come("abc123.vc.test", 10'000);
  CHECK(refused == 9'000);
  CHECK(passed == 0);
  CHECK(wakes > 0);
  CHECK(wakes <= 1'000); // all of one key in the controller's queue
  const auto counts = door.counts();
  CHECK(counts.at("abc123").open == 1'000);
  CHECK(counts.at("abc123").refused == 9'000);
  set(State::starting);
  settle();
  CHECK(passed == 0);
  set(State::open);
  settle();
  CHECK(passed == 1'000);
}

TEST_CASE_FIXTURE(DoorWorld, "nobody and what is closed are refused, and what was let in is cut") {
  come("zzz999.vc.test");
  CHECK(refused == 1);
  on_loop([this] { held.clear(); }); // who is refused goes
  set(State::open);
  come("abc123.vc.test");
  CHECK(passed == 1);
  SUBCASE("when it is closed") { set(State::closed); }
  SUBCASE("when it is gone") {
    table.store(std::make_shared<const DoorTable>());
    door.changed();
  }
  SUBCASE("when another one has its ID") { set(State::open, "uid-2"); }
  settle();
  CHECK(refused == 2);
  CHECK(passed == 1);
}

TEST_CASE_FIXTURE(DoorWorld, "a cluster is idle since its last connection went") {
  set(State::open);
  CHECK(door.idle("abc123"));
  come("abc123.vc.test");
  CHECK_FALSE(door.idle("abc123"));
  on_loop([this] { held.clear(); });
  REQUIRE(door.idle("abc123"));
  CHECK(*door.idle("abc123") < std::chrono::seconds(20));
  table.store(std::make_shared<const DoorTable>());
  door.changed();
  CHECK(door.counts().empty()); // it is forgotten with the cluster
}
