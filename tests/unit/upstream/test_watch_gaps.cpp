// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/continue.hpp"
#include "watch_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace zoo;
using namespace zoo::test;

TEST_CASE("what upstream does not remember is read and compared") {
  WatchWorld world;
  WatchClient client(world, 0, pods("foofoo-", 10));
  WatchClient neighbour(world, 1, pods("barbar-", 10));
  auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return neighbour.begun(); }));
  world.say(stream, event("ADDED", "foofoo-a/x", 11));
  world.end(stream);
  stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, gone_event());
  // One tenant after the other, each at both moments.
  const auto before = [&](const WatchWorld::AskedPtr& asked) {
    return revision_of_page(asked) == 11;
  };
  for (int tenant = 0; tenant < 2; ++tenant) {
    auto one = world.next_list(), two = world.next_list();
    if (!before(one)) std::swap(one, two);
    CHECK(before(one));
    CHECK(revision_of_page(two) == (tenant == 0 ? -1 : 40));
    const auto start = translate::parse_upstream_token(world.param(two, "continue"))->start;
    if (start.starts_with("barbar-")) {
      world.list(one, 11, {pod("barbar-a/q", 5)});
      world.list(two, 40, {pod("barbar-a/q", 5)});
      continue;
    }
    world.list(one, 11, {pod("foofoo-a/gone", 7), pod("foofoo-a/same", 8), pod("foofoo-a/x", 11)});
    world.list(two, 40, {pod("foofoo-a/new", 30), pod("foofoo-a/same", 8), pod("foofoo-a/x", 25)});
  }
  stream = world.next_watch();
  CHECK(world.param(stream, "resourceVersion") == "40");
  world.answer(stream, 200);
  world.say(stream, event("MODIFIED", "foofoo-a/new", 41));
  // What is gone carries the version from before the gap, so that a client that stops here loses
  // nothing when it goes on from there.
  CHECK(client.heard() == Heard{"ADDED foofoo-a/x 11", "DELETED foofoo-a/gone 11",
                                "MODIFIED foofoo-a/x 25", "ADDED foofoo-a/new 30",
                                "MODIFIED foofoo-a/new 41"});
  CHECK(neighbour.heard().empty());
  CHECK_FALSE(client.end());
}

TEST_CASE("what a watch fails at again and again is passed by as a gap") {
  WatchWorld world;
  WatchClient client(world, 0, pods("foofoo-", 10));
  const std::string failure =
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500}}\n";
  std::uint64_t version = 10;
  for (int round = 0; round < 2; ++round) {
    for (int failures = 0; failures < 7; ++failures) {
      const auto stream = world.next_watch();
      CHECK(world.param(stream, "resourceVersion") == std::to_string(version));
      world.answer(stream, 200);
      if (failures == 6) world.say(stream, bookmark_event(++version));
      world.say(stream, failure);
    }
  }
  for (int failures = 0; failures < 7; ++failures) {
    const auto stream = world.next_watch();
    world.answer(stream, 200);
    world.say(stream, failure);
  }
  auto one = world.next_list(), two = world.next_list();
  if (revision_of_page(one) == -1) std::swap(one, two);
  CHECK(revision_of_page(one) == 12);
  world.list(one, 12, {});
  world.list(two, 40, {pod("foofoo-a/new", 30)});
  const auto stream = world.next_watch();
  CHECK(world.param(stream, "resourceVersion") == "40");
  CHECK(client.heard() == Heard{"ADDED foofoo-a/new 30"});
  CHECK_FALSE(client.end());
}

TEST_CASE("who began behind what a gap is measured from goes on from there by itself") {
  WatchWorld world;
  WatchClient early(world, 0, pods("foofoo-", 10));
  auto stream = world.next_watch();
  WatchClient late(world, 1, pods("foofoo-", 40));
  world.answer(stream, 200);
  for (auto* client : {&early, &late})
    CHECK(world.eventually([&] { return client->begun(); }));
  world.say(stream, gone_event());
  // It has seen the second "x" already, and "y", which is gone from both moments.
  CHECK(world.eventually([&] { return late.end().has_value(); }));
  CHECK(late.heard().empty());
  CHECK_FALSE(late.end()->error);
  CHECK(late.end()->http_status == 0);
  auto one = world.next_list(), two = world.next_list();
  if (revision_of_page(one) == -1) std::swap(one, two);
  CHECK(revision_of_page(one) == 10);
  world.list(one, 10, {pod("foofoo-a/x", 5)});
  world.list(two, 60, {pod("foofoo-a/x", 30)});
  WatchClient again(world, 1, pods("foofoo-", 40));
  std::vector<std::string> versions;
  for (int i = 0; i < 2; ++i) {
    const auto next = world.next_watch();
    versions.push_back(world.param(next, "resourceVersion"));
    world.answer(next, 200);
  }
  std::sort(versions.begin(), versions.end());
  CHECK(versions == std::vector<std::string>{"40", "60"});
  CHECK(early.heard() == Heard{"MODIFIED foofoo-a/x 30"});
  CHECK_FALSE(early.end());
}

TEST_CASE("over a gap of some watches those of others are not read, and remember what they do") {
  WatchWorld world;
  WatchClient neighbour(world, 0, pods("barbar-", 50));
  const auto main = world.next_watch();
  world.answer(main, 200);
  CHECK(world.eventually([&] { return neighbour.begun(); }));
  world.say(main, event("ADDED", "barbar-a/x", 51) + event("ADDED", "barbar-a/y", 56));
  WatchClient client(world, 1, pods("foofoo-", 10));
  const auto old = world.next_watch();
  CHECK(world.param(old, "resourceVersion") == "10");
  world.answer(old, 200);
  CHECK(world.eventually([&] { return client.begun(); }));
  world.say(old, gone_event());
  for (int i = 0; i < 2; ++i) {
    const auto list = world.next_list();
    const auto start = translate::parse_upstream_token(world.param(list, "continue"))->start;
    CHECK(start.starts_with("foofoo-"));
    world.list(list, revision_of_page(list) == -1 ? 60 : 10, {});
  }
  // Both are one now.
  CHECK(world.eventually([&] { return world.upstream().watches().stats().streams == 1; }));
  WatchClient joined(world, 0, pods("barbar-", 52));
  CHECK(world.eventually([&] { return joined.heard() == Heard{"ADDED barbar-a/y 56"}; }));
  CHECK(world.open_watches() == 1);
  CHECK_FALSE(client.end());
}

TEST_CASE("only what is compacted ends watches, with 410") {
  WatchWorld world;
  WatchClient client(world, 0, pods("foofoo-", 10));
  auto stream = world.next_watch();
  world.answer(stream, 200);
  world.end(stream);
  stream = world.next_watch();
  world.answer(stream, 410); // some say it so
  world.end(stream);
  auto one = world.next_list(), two = world.next_list();
  if (revision_of_page(one) == -1) std::swap(one, two);
  world.answer(one, 410);
  world.end(one);
  CHECK(world.eventually([&] { return client.end().has_value(); }));
  CHECK(client.heard() == Heard{"ERROR"});
  CHECK(world.open_watches() == 0);
  WatchClient next(world, 0, pods("foofoo-", 50));
  CHECK(world.param(world.next_watch(), "resourceVersion") == "50");
}
