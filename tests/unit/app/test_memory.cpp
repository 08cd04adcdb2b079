// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/memory.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <vector>

namespace {

std::size_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, pages = 0;
  statm >> size >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

TEST_CASE("memory that was freed below what is held goes back to the system") {
  constexpr std::size_t k_block = 1024, k_blocks = 40'000;
  zoo::app::FreedMemory freed;
  freed.give_back();
  std::vector<std::unique_ptr<std::vector<char>>> blocks;
  for (std::size_t i = 0; i < k_blocks; ++i)
    blocks.push_back(std::make_unique<std::vector<char>>(k_block, 'x'));
  const auto full = resident();
  freed.give_back();                              // nothing of it can go yet
  blocks.erase(blocks.begin(), blocks.end() - 1); // the last one stands above them
  freed.give_back();
  const auto now = resident();
  REQUIRE(blocks.size() == 1);
  CHECK(now < full - k_block * k_blocks / 2);
}
