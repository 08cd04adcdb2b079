// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

using namespace zoo::resources;
using Place = Workers::Place;

TEST_CASE("one user has four slow jobs, done or waiting, and others have theirs") {
  std::promise<void> go, again; // above the workers, who use them to the end
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<std::size_t> done = 0;
  const auto wait = [&] {
    gate.wait();
    ++done;
  };
  Workers workers("test", 3);
  for (std::size_t i = 0; i < Workers::k_slow_of_one; ++i)
    CHECK(workers.submit_slow("u:john", wait) == Place::given);
  CHECK(workers.submit_slow("u:john", wait) == Place::none_of_his);
  CHECK(workers.submit_slow("u:jane", wait) == Place::given);
  CHECK(workers.submit(Workers::Kind::slow, wait)); // which is nobody's
  go.set_value();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // His place is free when the job is over, a little after its last word.
  const auto finish = [&] { again.set_value(); };
  auto place = Place::none_of_his;
  while (place == Place::none_of_his && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    place = workers.submit_slow("u:john", finish);
  }
  REQUIRE(place == Place::given);
  CHECK(again.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  CHECK(done >= 1);
}

TEST_CASE("where all places are taken, a user who has none is refused, too") {
  std::promise<void> go, began;
  const std::shared_future<void> gate = go.get_future().share();
  Workers workers("test", 2, 1);
  CHECK(workers.submit_slow("u:john", [&] {
    began.set_value();
    gate.wait();
  }) == Place::given);
  began.get_future().wait();
  CHECK(workers.submit_slow("u:jane", [] {}) == Place::given);
  CHECK(workers.submit_slow("u:jill", [] {}) == Place::none);
  go.set_value();
}
