// SPDX-License-Identifier: Apache-2.0
#include "common/base/make_room.hpp"

#include <doctest/doctest.h>

#include <string>
#include <unordered_map>

using namespace zoo;

TEST_CASE("a full cache loses one for each that comes, and none before it is full") {
  std::unordered_map<std::string, int> cache;
  for (int n = 0; n < 1'000; ++n) {
    const auto key = std::to_string(n);
    const auto before = cache.size();
    make_room(cache, key, 100);
    CHECK(cache.size() == (before < 100 ? before : 99));
    cache.emplace(key, n);
  }
  CHECK(cache.size() == 100);
}
