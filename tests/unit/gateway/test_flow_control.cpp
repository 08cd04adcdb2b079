// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_control.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using zoo::gateway::FlowControl;

TEST_CASE("a tenant has its places, and gets them back") {
  FlowControl control;
  {
    auto first = control.acquire("foofoo", 2);
    auto second = control.acquire("foofoo", 2);
    CHECK(first);
    CHECK(second);
    CHECK_FALSE(control.acquire("foofoo", 2));
    CHECK(control.acquire("barbar", 2)); // its neighbour notices nothing
    auto moved = std::move(*first);
    CHECK_FALSE(control.acquire("foofoo", 2));
  }
  CHECK(control.acquire("foofoo", 1));
  CHECK_FALSE(control.acquire("foofoo", 0));
}

TEST_CASE("places are counted exactly from several threads") {
  FlowControl control;
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) {
        const auto token = control.acquire("foofoo", 4);
        if (!token) ++refused; // four threads need four places at most
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(refused == 0);
  std::vector<FlowControl::Token> tokens;
  for (int i = 0; i < 4; ++i) {
    auto token = control.acquire("foofoo", 4);
    REQUIRE(token);
    tokens.push_back(std::move(*token));
  }
  CHECK_FALSE(control.acquire("foofoo", 4));
}
