// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/own_spaces.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace zoo::gateway;

namespace {
constexpr std::uint64_t k_team = 1, k_team_and_more = 2;
}

TEST_CASE("a namespace contains its own keys alone") {
  OwnSpaces own;
  own.spaces = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"team-a-x/", "team-a/", "team-b/"});
  CHECK(own.contain("team-a/pod"));
  CHECK(own.contain("team-a-x/pod"));
  CHECK_FALSE(own.contain("team-a-y/pod"));
  CHECK_FALSE(own.contain("team/pod"));
  CHECK_FALSE(own.contain("team-a"));
  CHECK_FALSE(own.contain("/pod"));
}

TEST_CASE("a watch goes on from a list of the same namespaces, and from no other") {
  SeenSpaces seen;
  CHECK_FALSE(seen.same_since("jane", k_team, 100)); // nothing is known of her lists
  seen.listed("jane", k_team, 100, false);
  CHECK(seen.same_since("jane", k_team, 100));
  CHECK(seen.same_since("jane", k_team, 150));
  CHECK_FALSE(seen.same_since("jane", k_team, 99));
  CHECK_FALSE(seen.same_since("jane", k_team_and_more, 150));
  CHECK_FALSE(seen.same_since("bob", k_team, 150));
  // She is given another one: what was listed before lacks what stands there.
  seen.listed("jane", k_team_and_more, 200, false);
  CHECK(seen.same_since("jane", k_team_and_more, 200));
  CHECK_FALSE(seen.same_since("jane", k_team_and_more, 199));
  CHECK_FALSE(seen.same_since("jane", k_team, 200));
}

TEST_CASE("no watch goes on from a list during which the namespaces changed") {
  SeenSpaces seen;
  seen.listed("jane", k_team, 100, true);
  CHECK_FALSE(seen.same_since("jane", k_team, 100));
  CHECK(seen.same_since("jane", k_team, 101));
  seen.listed("bob", k_team, 300, false);
  seen.listed("bob", k_team_and_more, 290, false); // a slower list, of before or behind
  CHECK_FALSE(seen.same_since("bob", k_team_and_more, 300));
  CHECK(seen.same_since("bob", k_team_and_more, 301));
  seen.listed("bob", k_team_and_more, 310, true);
  CHECK_FALSE(seen.same_since("bob", k_team_and_more, 310));
}

TEST_CASE("who may see everything now goes on from no list that was filtered") {
  SeenSpaces seen;
  CHECK(seen.whole_since("jane", 100)); // hers never were
  seen.listed("jane", k_team, 100, false);
  CHECK_FALSE(seen.whole_since("jane", 120));
  CHECK_FALSE(seen.whole_since("jane", 120)); // another client of hers
  CHECK(seen.whole_since("jane", 121));
  seen.listed("jane", k_team, 130, false);
  CHECK(seen.same_since("jane", k_team, 130));
  CHECK_FALSE(seen.same_since("jane", k_team, 120));
}

TEST_CASE("what a watch has told counts as much as what a list has said") {
  SeenSpaces seen;
  seen.told("jane", k_team, 400); // nothing is known of her: nothing is remembered
  CHECK_FALSE(seen.same_since("jane", k_team, 400));
  seen.listed("jane", k_team, 100, false);
  seen.told("jane", k_team, 150);
  CHECK(seen.same_since("jane", k_team, 150));
  // Another list, by what she sees now, of a moment before the last event.
  seen.listed("jane", k_team_and_more, 140, false);
  CHECK_FALSE(seen.same_since("jane", k_team_and_more, 150));
  CHECK(seen.same_since("jane", k_team_and_more, 151));
  // And an event that was on its way to a watch of before.
  seen.told("jane", k_team, 160);
  CHECK_FALSE(seen.same_since("jane", k_team_and_more, 160));
  CHECK(seen.same_since("jane", k_team_and_more, 161));
}
