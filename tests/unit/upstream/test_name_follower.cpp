// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/name_follower.hpp"
#include "tests/unit/upstream/watch_world.hpp"

#include <doctest/doctest.h>

#include <optional>

using namespace zoo;
using namespace zoo::test;

TEST_CASE("names are followed, and read anew where a watch ends or says nothing for too long") {
  WatchWorld world;
  std::optional<upstream::NameFollower> follower;
  bool forgets = false;
  SUBCASE("what was known stays known") {}
  SUBCASE("what was known is forgotten") { forgets = true; }
  world.on(0, [&] {
    auto& loop = world.loop(0);
    follower.emplace(world.upstream(), loop, world.upstream().caller(loop), "/api/v1/namespaces",
                     "", nullptr, forgets, std::chrono::milliseconds(1000));
  });
  const auto names = [&] { return follower->names() ? follower->names()->size() : 1'000; };
  follower->start();
  world.list(world.next_list(), 10, {pod("a", 5)});
  const auto watch = world.next_watch();
  CHECK(world.param(watch, "resourceVersion") == "10");
  CHECK(world.param(watch, "allowWatchBookmarks") == "true");
  world.answer(watch, 200);
  world.say(watch, event("ADDED", "b", 11));
  CHECK(names() == 2);
  const auto list = world.next_list(); // which this one's silence has brought
  CHECK(names() == (forgets ? 1'000 : 2));
  world.list(list, 20, {pod("c", 5)});
  const auto next = world.next_watch();
  CHECK(names() == 1);
  world.end(next);
  world.next_list();
  world.on(0, [&] { follower.reset(); });
}
