// SPDX-License-Identifier: Apache-2.0
#include "daemon/reconcile/queue.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using zoo::reconcile::Queue;
using namespace std::chrono_literals;

namespace {

/// A queue whose time passes when the test says so.
struct TimedQueue {
  explicit TimedQueue(const Queue::Pauses& pauses = {}) : queue(pauses, [this] { return now; }) {}

  /// The key that is due, which is done at once; "" if none is.
  std::string due() {
    const auto work = queue.take_due();
    if (!work) return "";
    queue.done(work->key, 1h, false);
    return work->key;
  }

  Queue::Clock::time_point now{24h}; // no key was done at any time near
  Queue queue;
};

} // namespace

TEST_CASE("a key is worked on by one at a time, and again if it was added meanwhile") {
  Queue queue;
  queue.add("a", 0s);
  queue.add("a", 0s);
  const auto work = queue.take_due();
  REQUIRE(work);
  CHECK(work->key == "a");
  queue.add("a", 0s);
  queue.add("b", 0s);
  CHECK(queue.take_due()->key == "b");
  queue.done("b", {}, false);
  CHECK_FALSE(queue.take_due());
  queue.done("a", {}, false);
  CHECK(queue.take_due()->key == "a");
  queue.done("a", {}, false);
  CHECK(queue.size() == 0);
}

TEST_CASE("attempts are counted until the key comes to its end") {
  Queue queue;
  queue.add("a", 0s);
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    CHECK(queue.take_due()->attempts == attempt);
    queue.done("a", 0s, true);
  }
  CHECK(queue.take_due()->attempts == 3);
  queue.done("a", 0s, false);
  CHECK(queue.take_due()->attempts == 0);
}

TEST_CASE("what is due earlier comes earlier, and waking overtakes a delay") {
  TimedQueue timed;
  timed.queue.add("late", 1h);
  timed.queue.add("soon", 1s);
  CHECK(timed.due().empty());
  timed.now += 1s;
  CHECK(timed.due() == "soon");
  timed.queue.add("late", 0s);
  CHECK(timed.due() == "late");
}

TEST_CASE("a stop ends the waiting, and so does a key that is due") {
  Queue queue;
  std::stop_source stop;
  SUBCASE("before it") {
    stop.request_stop();
    CHECK_FALSE(queue.take(stop.get_token()));
  }
  SUBCASE("while nothing is due") {
    queue.add("late", 1h);
    std::jthread stops([&] { stop.request_stop(); });
    CHECK_FALSE(queue.take(stop.get_token()));
  }
  SUBCASE("by somebody who adds") {
    std::jthread adds([&] { queue.add("a", 0s); });
    CHECK(queue.take(stop.get_token())->key == "a");
  }
  SUBCASE("by the clock") {
    queue.add("a", 1ms);
    CHECK(queue.take(stop.get_token())->key == "a");
  }
}

TEST_CASE("what was touched is due soon, but rests after it was done; unknown keys are not made") {
  TimedQueue timed({5s, 50s, 0s});
  auto& queue = timed.queue;
  queue.touch("a");
  CHECK(queue.size() == 0);
  queue.add("a", 1h);
  queue.touch("a");
  timed.now += 5s - 1ns;
  CHECK_FALSE(queue.take_due());
  timed.now += 1ns;
  CHECK(queue.take_due()->key == "a");

  SUBCASE("while it was worked on") {
    queue.touch("a");
    timed.now += 7s;
    queue.done("a", 1h, false);
    timed.now += 50s - 1ns;
    CHECK_FALSE(queue.take_due());
    timed.now += 1ns;
    CHECK(queue.take_due()->key == "a");
    queue.done("a", 1h, false);
  }
  SUBCASE("just after") {
    queue.done("a", 1h, false);
    queue.touch("a");
    timed.now += 50s - 1ns;
    CHECK_FALSE(queue.take_due());
    timed.now += 1ns;
    CHECK(queue.take_due()->key == "a");
    queue.done("a", 1h, false);
  }
  SUBCASE("and it is not put off by that") {
    queue.touch("a");
    queue.done("a", 1s, true);
    timed.now += 1s;
    CHECK(queue.take_due()->attempts == 1);
    queue.done("a", 1h, false);
  }
  // A touch counts for one look.
  timed.now += 1h - 1ns;
  CHECK_FALSE(queue.take_due());
}

TEST_CASE("many that are touched come one after another, and nobody else waits for them") {
  TimedQueue timed({1s, 0s, 200s});
  for (const auto* key : {"a", "b", "c"})
    timed.queue.add(key, 1h);
  for (const auto* key : {"a", "b", "c", "a", "b"})
    timed.queue.touch(key);
  timed.now += 1s;
  CHECK(timed.due() == "a");
  timed.queue.add("made", 0s);
  CHECK(timed.due() == "made");
  timed.now += 200s - 1ns;
  CHECK(timed.due().empty());
  timed.now += 1ns;
  CHECK(timed.due() == "b");
  CHECK(timed.due().empty());
  timed.now += 200s;
  CHECK(timed.due() == "c");
}

TEST_CASE("slow keys leave a worker to those that are not slow") {
  Queue::Clock::time_point now{24h};
  Queue queue({.slow = 1s, .workers = 2}, [&now] { return now; });
  const auto take = [&queue] {
    const auto work = queue.take_due();
    return work ? work->key : "";
  };
  for (const char* key : {"a", "b", "c"})
    queue.add(key, 0s);
  // Nobody knows yet that they are slow.
  CHECK(take() == "a");
  CHECK(take() == "b");
  CHECK(take() == "c");
  now += 2s;
  for (const char* key : {"a", "b", "c"})
    queue.done(key, 1s, true);
  now += 1s;
  CHECK(take() == "a");
  CHECK(take() == "b");
  CHECK(take() == ""); // c is due, and waits
  queue.add("c", 0s);
  CHECK(take() == "");
  queue.add("fresh", 0s);
  CHECK(take() == "fresh");
  SUBCASE("until one of them is done") {
    queue.done("a", 1h, false);
    CHECK(take() == "c");
    CHECK(take() == "");
  }
  SUBCASE("one that is not slow any more does not wait") {
    queue.done("a", 1h, false); // within no time
    queue.done("b", 1h, false);
    CHECK(take() == "c");
    queue.done("c", 1h, false);
    for (const char* key : {"a", "b", "c"})
      queue.add(key, 0s);
    CHECK(take() == "a");
    CHECK(take() == "b");
    CHECK(take() == "c");
  }
  SUBCASE("one that has held its worker for long counts before it is done") {
    queue.done("a", 1h, false);
    CHECK(take() == "c");
    now += 2s; // b, c and fresh are held
    queue.add("a", 0s);
    CHECK(take() == "a"); // it was fast the last time
  }
}
