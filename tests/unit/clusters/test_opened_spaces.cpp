// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/opened_spaces.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using zoo::clusters::sync::OpenedSpaces;

TEST_CASE("one namespace that cannot be made takes no room") {
  OpenedSpaces spaces;
  CHECK_FALSE(spaces.begin("a")); // it is not known what is there
  std::set<std::string> there;
  for (std::size_t n = 1; n < OpenedSpaces::k_most; ++n)
    there.insert(fmt::format("s{}", n));
  spaces.count(there);
  REQUIRE(spaces.begin("a"));
  CHECK_FALSE(spaces.begin("b"));
  spaces.end("a", false);
  REQUIRE(spaces.begin("b"));
  spaces.count(there); // which was read before
  CHECK_FALSE(spaces.begin("a"));
  spaces.end("b", true);
  CHECK(spaces.is_open("b"));
  CHECK_FALSE(spaces.begin("a"));
  REQUIRE(spaces.begin("s1"));
  spaces.end("s1", false); // is there all the same
  CHECK_FALSE(spaces.begin("a"));
  spaces.remove("b");
  CHECK(spaces.begin("a"));
}
