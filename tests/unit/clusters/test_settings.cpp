// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/settings.hpp"

#include <doctest/doctest.h>

using namespace zoo::clusters;

TEST_CASE("the last lines of a text are as many as are asked for") {
  CHECK(last_lines("a\nb\nc\n", 2) == "b\nc\n");
  CHECK(last_lines("a\nb\nc", 2) == "b\nc");
  CHECK(last_lines("a\nb\n", 2) == "a\nb\n");
  CHECK(last_lines("a\nb\n", 9) == "a\nb\n");
  CHECK(last_lines("\nb\n", 1) == "b\n");
  CHECK(last_lines("\n\n", 1) == "\n");
  CHECK(last_lines("a\n", 0).empty());
  CHECK(last_lines("", 3).empty());
}
