// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace zoo;

TEST_CASE("what many meet alike is said once, and then how often it was not") {
  log::Seldom seldom;
  CHECK(seldom.due() == 0U);
  std::size_t left_out = 0;
  std::optional<std::size_t> told;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!(told = seldom.due()) && std::chrono::steady_clock::now() < deadline) {
    ++left_out;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(left_out > 0);
  CHECK(told == left_out);
}
