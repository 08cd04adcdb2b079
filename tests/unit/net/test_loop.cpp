// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/address.hpp"
#include "daemon/net/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace zoo::net;
using namespace std::chrono_literals;

TEST_CASE("a loop runs what is posted from any thread, and survives what a task throws") {
  Workers workers(2, "test");
  for (auto* loop : workers.loops()) {
    std::promise<bool> ran;
    CHECK_FALSE(loop->on_thread());
    loop->post([] { throw std::runtime_error("a task of a test"); });
    loop->post([&, loop] { ran.set_value(loop->on_thread() && loop->running()); });
    CHECK(ran.get_future().get());
  }
  workers.stop();
  CHECK_FALSE(workers.loops()[0]->running());
}

TEST_CASE("a timer fires once, the latest start counts, and destruction cancels") {
  Loop loop;
  int first = 0, second = 0, third = 0;
  Timer timer(loop), last(loop);
  auto gone = std::make_unique<Timer>(loop);
  timer.start(1ms, [&] { ++first; });
  timer.start(5ms, [&] { ++second; });
  gone->start(1ms, [&] { ++third; });
  gone.reset();
  last.start(30ms, [&] { loop.stop(); });
  loop.run();
  CHECK(first == 0);
  CHECK(second == 1);
  CHECK(third == 0);
}

TEST_CASE("what was deferred runs in order, behind what cannot wait") {
  Loop loop;
  std::vector<std::string> ran;
  for (const auto* name : {"first", "second"})
    loop.defer([&, name] {
      std::this_thread::sleep_for(2ms); // the rest of a turn is shorter
      ran.emplace_back(name);
      loop.post([&] { ran.emplace_back("posted"); });
      return true;
    });
  loop.defer([&] {
    loop.stop();
    return true;
  });
  loop.post([&] { ran.emplace_back("posted"); });
  loop.run();
  CHECK(ran == std::vector<std::string>{"posted", "first", "posted", "second", "posted"});
}

TEST_CASE("what had nothing left to do costs no turn") {
  Loop loop;
  int turns = 0;
  std::function<void()> count = [&] {
    ++turns;
    loop.post(count);
  };
  for (int n = 0; n < 1000; ++n)
    loop.defer([] { return false; });
  loop.defer([&] {
    loop.stop();
    return true;
  });
  loop.post(count);
  loop.run();
  CHECK(turns < 100);
}

TEST_CASE("what was deferred and has not run goes with the loop") {
  const auto held = std::make_shared<int>(1);
  {
    Loop loop;
    loop.defer([held] { return true; });
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("a timer may start itself again from its task, and a task may destroy it") {
  Loop loop;
  int ticks = 0;
  Timer tick(loop);
  auto doomed = std::make_unique<Timer>(loop);
  std::function<void()> again = [&] {
    if (++ticks < 5) return tick.start(1ms, again);
    doomed->start(1ms, [&] {
      doomed.reset();
      loop.stop();
    });
  };
  tick.start(1ms, again);
  loop.run();
  CHECK(ticks == 5);
  CHECK_FALSE(doomed);
}

TEST_CASE("timers run by their time, and those of one time in the order of their starts") {
  Loop loop;
  std::string order;
  Timer a(loop), b(loop), c(loop), last(loop);
  b.start(20ms, [&] { order += 'b'; });
  a.start(1ms, [&] { order += 'a'; });
  c.start(20ms, [&] { order += 'c'; });
  last.start(40ms, [&] { loop.stop(); });
  loop.run();
  CHECK(order == "abc");
}

TEST_CASE(
    "a timer whose task holds the last reference to it may be cancelled, started and dropped") {
  struct Owner {
    explicit Owner(Loop& loop) : timer(loop) {}
    Timer timer;
  };
  Loop loop;
  std::weak_ptr<Owner> left;
  for (const auto& end : std::vector<std::function<void(Owner&)>>{
           [](Owner& owner) { owner.timer.cancel(); },
           [](Owner& owner) { owner.timer.start(1ms, [] {}); },
       }) {
    auto owner = std::make_shared<Owner>(loop);
    left = owner;
    owner->timer.start(1h, [owner] {});
    end(*owner.get());
    CHECK(left.use_count() == 1);
    owner->timer.start(1h, [owner] {});
    auto* raw = owner.get();
    owner.reset();
    end(*raw);
    CHECK(left.expired());
  }
}

TEST_CASE("tasks run in the order of one thread's posts, and what they post runs after them") {
  Loop loop;
  std::string order;
  loop.post([&] {
    loop.post([&] {
      order += 'c';
      loop.stop();
    });
    order += 'a';
  });
  loop.post([&] { order += 'b'; });
  loop.run();
  CHECK(order == "abc");
}

TEST_CASE("tasks that post tasks for ever let timers and other threads have their turn") {
  Workers workers(1, "test");
  auto* loop = workers.loops()[0];
  std::atomic<bool> enough{false};
  std::function<void()> again = [&] {
    if (!enough) loop->post(again);
  };
  std::promise<void> timer_ran, other_ran;
  std::optional<Timer> timer;
  loop->post([&] {
    again();
    timer.emplace(*loop);
    timer->start(1ms, [&] { timer_ran.set_value(); });
  });
  timer_ran.get_future().get();
  loop->post([&] { other_ran.set_value(); });
  other_ran.get_future().get();
  enough = true;
  std::promise<void> over;
  loop->post([&] {
    timer.reset();
    over.set_value();
  });
  over.get_future().get();
}

TEST_CASE("what was posted and never ran goes with the loop, and what it posts as well") {
  struct Posts {
    Loop* loop;
    std::shared_ptr<int> held;
    ~Posts() {
      if (loop != nullptr) loop->post([held = held] {});
    }
  };
  const auto held = std::make_shared<int>(0);
  {
    Loop loop;
    loop.post([posts = std::make_shared<Posts>(Posts{&loop, held})] {});
    CHECK(held.use_count() > 1);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("names are looked up beside the loop") {
  Loop loop;
  std::vector<Address> found;
  loop.resolve("localhost", 443, [&](std::vector<Address> addresses) {
    CHECK(loop.on_thread());
    found = std::move(addresses);
    loop.stop();
  });
  loop.run();
  REQUIRE_FALSE(found.empty());
  for (const auto& address : found)
    CHECK((address.text() == "127.0.0.1:443" || address.text() == "[::1]:443"));
}
