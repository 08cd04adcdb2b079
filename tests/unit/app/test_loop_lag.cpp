// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/loop_lag.hpp"
#include "daemon/net/workers.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <thread>

using namespace zoo;
using namespace std::chrono_literals;

TEST_CASE("a loop that does not turn is told of while it stands, and a while longer") {
  net::Workers workers(2, "worker"), other(1, "watch");
  app::LoopLag lag(workers.loops(), *other.loops().front());
  CHECK(lag.longest() < 5s);
  std::promise<void> release;
  auto released = release.get_future();
  workers.loops().back()->post([&] { released.wait(); });
  const auto wait_for = [&](auto condition) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(5ms);
    return condition();
  };
  CHECK(wait_for([&] { return lag.longest() > 100ms; }));
  release.set_value();
  CHECK(lag.longest() > 100ms); // of the last ten seconds
  lag.stop();
  lag.stop();
  CHECK(lag.longest() > 100ms);
}
