// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/watch.hpp"
#include "tests/unit/admin/world.hpp"

#include <doctest/doctest.h>

using nlohmann::json;
using namespace zoo;
using namespace zoo::admin;
using namespace zoo::admin::test;

namespace {

const std::string k_watch = k_tenants + "?watch=true";

std::string shown(const json& line) {
  const auto& metadata = line["object"]["metadata"];
  return line["type"].get<std::string>() + " " + metadata.value("name", "") + "@" +
         metadata.value("resourceVersion", "");
}

} // namespace

TEST_CASE("a watch from a resourceVersion tells what came after it, in order") {
  World world;
  world.add("aaaaaa");
  world.add("bbbbbb");
  auto watch = world.ask("GET", k_watch + "&resourceVersion=101");
  world.expect_lines(*watch, 1);
  world.tenants.touch("aaaaaa", [](auto& tenant) { tenant.account = "x"; });
  world.tenants.purge("bbbbbb");
  world.expect_lines(*watch, 3);
  const auto lines = watch->lines();
  CHECK(shown(lines[0]) == "ADDED bbbbbb@102");
  CHECK(shown(lines[1]) == "MODIFIED aaaaaa@103");
  CHECK(shown(lines[2]) == "DELETED bbbbbb@104");
  CHECK_FALSE(watch->stream.ended);
}

TEST_CASE("a watch from nowhere begins with what is there") {
  World world;
  world.add("aaaaaa");
  world.add("bbbbbb");
  for (const char* from : {"", "&resourceVersion=0"}) {
    auto watch = world.ask("GET", k_watch + from);
    world.expect_lines(*watch, 2);
    CHECK(shown(watch->lines()[1]) == "ADDED bbbbbb@102");
  }
}

TEST_CASE("sendInitialEvents ends with the annotated bookmark") {
  World world;
  world.add("aaaaaa");
  const auto target = k_watch + "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                                "&allowWatchBookmarks=true";
  auto watch = world.ask("GET", target);
  world.expect_lines(*watch, 2);
  CHECK(shown(watch->lines()[0]) == "ADDED aaaaaa@101");
  const auto mark = watch->lines()[1];
  CHECK(mark["type"] == "BOOKMARK");
  CHECK(mark["object"]["kind"] == "Tenant");
  CHECK(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true");
  CHECK(mark["object"]["metadata"]["resourceVersion"] == "101");
  world.tenants.touch("aaaaaa", [](auto& tenant) { tenant.account = "x"; });
  world.expect_lines(*watch, 3);
  REQUIRE(world.loop.fire(std::chrono::seconds(55)));
  world.expect_lines(*watch, 4);
  CHECK(shown(watch->lines()[3]) == "BOOKMARK @102");
  REQUIRE(world.loop.fire(std::chrono::seconds(55)));
  world.expect_lines(*watch, 5);

  CHECK(world.ask("GET", k_watch + "&sendInitialEvents=true")->status() == 422);
  CHECK(world.ask("GET", k_watch + "&resourceVersionMatch=NotOlderThan")->status() == 422);
  CHECK(world.ask("GET", target + "&resourceVersion=999")->status() == 504);
}

TEST_CASE("a selector's watch turns 'no longer matches' into DELETED") {
  World world;
  world.add("aaaaaa", "", {{"team", "a"}});
  world.add("bbbbbb", "", {{"team", "b"}});
  auto from_start = world.ask("GET", k_watch + "&labelSelector=team%3Da");
  auto from_now = world.ask("GET", k_watch + "&labelSelector=team%3Da&resourceVersion=102");
  world.expect_lines(*from_start, 1);
  const auto label = [&](const char* id, const char* team) {
    world.tenants.touch(id, [team](auto& tenant) { tenant.labels["team"] = team; });
  };
  label("bbbbbb", "a");
  label("aaaaaa", "b");
  label("aaaaaa", "c");
  world.tenants.purge("aaaaaa");
  world.tenants.purge("bbbbbb");
  world.expect_lines(*from_start, 4);
  world.expect_lines(*from_now, 3);
  const std::vector<std::string> wanted = {"ADDED bbbbbb@103", "DELETED aaaaaa@104",
                                           "DELETED bbbbbb@107"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(shown(from_start->lines()[i + 1]) == wanted[i]);
    CHECK(shown(from_now->lines()[i]) == wanted[i]);
  }
}

TEST_CASE("a watch on one name hears of that name alone") {
  World world;
  world.add("aaaaaa");
  world.add("bbbbbb");
  auto watch =
      world.ask("GET", k_watch + "&fieldSelector=metadata.name%3Daaaaaa&resourceVersion=100");
  world.tenants.purge("bbbbbb");
  world.tenants.purge("aaaaaa");
  world.expect_lines(*watch, 2);
  CHECK(shown(watch->lines()[0]) == "ADDED aaaaaa@101");
  CHECK(shown(watch->lines()[1]) == "DELETED aaaaaa@104");
}

TEST_CASE("too old is a 410 as an ERROR event") {
  World world;
  world.add("aaaaaa");
  world.tenants.set_oldest(101);
  auto watch = world.ask("GET", k_watch + "&resourceVersion=5");
  CHECK(watch->status() == 200);
  REQUIRE(watch->lines().size() == 1);
  CHECK(watch->lines()[0]["type"] == "ERROR");
  CHECK(watch->lines()[0]["object"]["code"] == 410);
  CHECK(watch->lines()[0]["object"]["reason"] == "Expired");
  CHECK(watch->stream.ended);
}

TEST_CASE("watched tables name their columns once") {
  World world;
  world.add("aaaaaa");
  world.add("bbbbbb");
  auto watch = world.ask("GET", k_watch + "&allowWatchBookmarks=true", "", {k_table});
  world.expect_lines(*watch, 2);
  CHECK(watch->lines()[0]["object"]["kind"] == "Table");
  CHECK(watch->lines()[0]["object"]["columnDefinitions"].size() == 7);
  CHECK(watch->lines()[1]["object"]["columnDefinitions"].empty());
  REQUIRE(world.loop.fire(std::chrono::seconds(55)));
  world.expect_lines(*watch, 3);
  const auto row = watch->lines()[2]["object"]["rows"][0];
  CHECK(row["cells"].empty());
  CHECK(row["object"]["metadata"]["resourceVersion"] == "102");
}

TEST_CASE("a watch ends whole at its timeout, and its subscription with it") {
  World world;
  world.add("aaaaaa");
  auto watch = world.ask("GET", k_watch + "&timeoutSeconds=9&allowWatchBookmarks=true");
  CHECK(world.tenants.watchers() == 1);
  REQUIRE(world.loop.fire(std::chrono::seconds(9)));
  CHECK(watch->stream.ended);
  CHECK_FALSE(world.loop.fire(std::chrono::seconds(55)));
  world.workers->stop();
  CHECK(world.tenants.watchers() == 0);
  world.tenants.touch("aaaaaa", [](auto&) {});
}

TEST_CASE("a reader who stops is waited for, then cut off") {
  World world;
  world.add("aaaaaa");
  auto watch = world.ask("GET", k_watch + "&resourceVersion=101");
  watch->stream.open = false;
  for (int i = 0; i < 10; ++i)
    world.tenants.touch("aaaaaa", [](auto&) {});
  world.loop.run_ready();
  CHECK(watch->stream.body.empty());
  watch->stream.open = true;
  watch->handler->on_drained();
  CHECK(watch->lines().size() == 10);
  watch->stream.open = false;
  for (std::size_t i = 0; i <= resources::WatchFeed::k_queue_limit; ++i)
    world.tenants.touch("aaaaaa", [](auto&) {});
  world.loop.run_ready();
  CHECK(watch->stream.ended);
  CHECK(watch->lines().size() == 10);
}

TEST_CASE("a client that leaves takes its watch along") {
  World world;
  world.add("aaaaaa");
  auto watch = world.ask("GET", k_watch);
  world.tenants.touch("aaaaaa", [](auto&) {});
  watch->handler->on_reset();
  watch->handler.reset();
  world.loop.run_ready();
  world.workers->stop();
  CHECK(world.tenants.watchers() == 0);
}
