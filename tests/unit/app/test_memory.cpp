// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

TEST_CASE("memory that was freed below what is held goes back to the system") {
  constexpr std::size_t k_block = 1024, k_blocks = 40'000;
  zoo::app::FreedMemory freed;
  freed.give_back();
  std::vector<std::unique_ptr<std::vector<char>>> blocks;
  for (std::size_t i = 0; i < k_blocks; ++i)
    blocks.push_back(std::make_unique<std::vector<char>>(k_block, 'x'));
  const auto full = zoo::app::resident_memory()->own;
  freed.give_back();                              // nothing of it can go yet
  blocks.erase(blocks.begin(), blocks.end() - 1); // the last one stands above them
  freed.give_back();
  const auto now = zoo::app::resident_memory()->own;
  REQUIRE(blocks.size() == 1);
  CHECK(now < full - k_block * k_blocks / 2);
}
