// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/queue.hpp"

#include <doctest/doctest.h>

using zoo::tenants::Queue;
using namespace std::chrono_literals;

TEST_CASE("a key is worked on by one at a time, and again if it was added meanwhile") {
  Queue queue;
  const std::stop_source stop;
  queue.add("a", 0s);
  queue.add("a", 0s);
  auto work = queue.take(stop.get_token());
  REQUIRE(work);
  CHECK(work->key == "a");
  queue.add("a", 0s);
  queue.add("b", 0s);
  CHECK(queue.take(stop.get_token())->key == "b");
  queue.done("b", {}, false);
  queue.done("a", {}, false);
  CHECK(queue.take(stop.get_token())->key == "a");
  queue.done("a", {}, false);
  CHECK(queue.size() == 0);
}

TEST_CASE("attempts are counted until the key comes to its end") {
  Queue queue;
  const std::stop_source stop;
  queue.add("a", 0s);
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    CHECK(queue.take(stop.get_token())->attempts == attempt);
    queue.done("a", 0s, true);
  }
  CHECK(queue.take(stop.get_token())->attempts == 3);
  queue.done("a", 0s, false);
  CHECK(queue.take(stop.get_token())->attempts == 0);
}

TEST_CASE("what is due earlier comes earlier, and waking overtakes a delay") {
  Queue queue;
  const std::stop_source stop;
  queue.add("late", 1h);
  queue.add("soon", 1ms);
  CHECK(queue.take(stop.get_token())->key == "soon");
  queue.add("late", 0s);
  CHECK(queue.take(stop.get_token())->key == "late");
}

TEST_CASE("a stop ends the waiting") {
  Queue queue;
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(queue.take(stop.get_token()));
}

TEST_CASE("what was touched is due soon, but rests after it was done; unknown keys are not made") {
  using Clock = Queue::Clock;
  Queue queue({5ms, 50ms, 0ms});
  const std::stop_source stop;
  queue.touch("a");
  CHECK(queue.size() == 0);
  queue.add("a", 1h);
  queue.touch("a");
  CHECK(queue.take(stop.get_token())->key == "a");

  SUBCASE("while it was worked on") {
    queue.touch("a");
    const auto done = Clock::now();
    queue.done("a", 1h, false);
    CHECK(queue.take(stop.get_token())->key == "a");
    CHECK(Clock::now() - done >= 50ms);
    queue.done("a", 1h, false);
  }
  SUBCASE("just after") {
    const auto done = Clock::now();
    queue.done("a", 1h, false);
    queue.touch("a");
    CHECK(queue.take(stop.get_token())->key == "a");
    CHECK(Clock::now() - done >= 50ms);
    queue.done("a", 1h, false);
  }
  SUBCASE("and it is not put off by that") {
    queue.touch("a");
    queue.done("a", 1ms, true);
    CHECK(queue.take(stop.get_token())->attempts == 1);
    queue.done("a", 1h, false);
  }
  // A touch counts for one look.
  queue.add("b", 60ms);
  CHECK(queue.take(stop.get_token())->key == "b");
}

TEST_CASE("many that are touched come one after another, and nobody else waits for them") {
  Queue queue({1ms, 0ms, 200ms});
  const std::stop_source stop;
  for (const auto* key : {"a", "b", "c"})
    queue.add(key, 1h);
  const auto begun = Queue::Clock::now();
  for (const auto* key : {"a", "b", "c", "a", "b"})
    queue.touch(key);
  CHECK(queue.take(stop.get_token())->key == "a");
  queue.add("made", 0s);
  CHECK(queue.take(stop.get_token())->key == "made");
  CHECK(queue.take(stop.get_token())->key == "b");
  CHECK(queue.take(stop.get_token())->key == "c");
  CHECK(Queue::Clock::now() - begun >= 401ms);
}
