// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>

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
