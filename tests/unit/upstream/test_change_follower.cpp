// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/change_follower.hpp"
#include "tests/unit/upstream/watch_world.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::test;

namespace {

struct Followed {
  Followed() {
    world.on(0, [this] {
      auto& loop = world.loop(0);
      follower.emplace(
          world.upstream(), loop, world.upstream().caller(loop), "/api/v1/pods", "metadata.name=x",
          upstream::ChangeFollower::Hears{
              [this](translate::EventType type, std::string_view object) {
                const auto key = translate::object_key(object);
                heard.push_back((type == translate::EventType::deleted ? "-" : "~") + key->text());
              },
              [this] { ++missed; }});
    });
    follower->start();
  }
  ~Followed() {
    world.on(0, [this] { follower.reset(); });
  }
  WatchWorld::AskedPtr begin(std::uint64_t version) {
    const auto list = world.next_list();
    CHECK(WatchWorld::param(list, "limit") == "2"); // one, and whether there are more
    world.list(list, version, {});
    return world.next_watch();
  }
  void say(const WatchWorld::AskedPtr& watch, const std::string& text) {
    world.say(watch, text);
    world.settle();
  }

  WatchWorld world;
  std::optional<upstream::ChangeFollower> follower;
  std::vector<std::string> heard; ///< on the loop
  int missed = 0;
};

} // namespace

TEST_CASE("changes are told, but not what is made, and the watch goes on from where it was") {
  Followed followed;
  CHECK_FALSE(followed.follower->follows());
  auto watch = followed.begin(7);
  CHECK(WatchWorld::param(watch, "resourceVersion") == "7");
  CHECK(WatchWorld::param(watch, "fieldSelector") == "metadata.name=x");
  CHECK(WatchWorld::param(watch, "allowWatchBookmarks") == "true");
  followed.world.answer(watch, 200);
  followed.say(watch, event("ADDED", "foofoo-a/x", 8) + event("MODIFIED", "foofoo-a/x", 9) +
                          event("DELETED", "foofoo-b/x", 10));
  CHECK(followed.heard == std::vector<std::string>{"~foofoo-a/x", "-foofoo-b/x"});
  CHECK(followed.follower->follows());

  followed.world.end(watch);
  watch = followed.world.next_watch();
  CHECK(WatchWorld::param(watch, "resourceVersion") == "10");
  CHECK(followed.follower->follows()); // nothing is lost
  followed.world.answer(watch, 200);
  followed.say(watch, bookmark_event(20));
  followed.world.fail(watch);
  watch = followed.world.next_watch();
  CHECK_FALSE(followed.follower->follows());
  CHECK(WatchWorld::param(watch, "resourceVersion") == "20");
  followed.world.answer(watch, 200);
  followed.world.settle();
  CHECK(followed.follower->follows());
  CHECK(followed.missed == 0);
}

TEST_CASE("where upstream has forgotten the place, what was missed is said") {
  Followed followed;
  auto watch = followed.begin(7);
  SUBCASE("by an event") {
    followed.world.answer(watch, 200);
    followed.say(watch, gone_event());
    followed.world.end(watch);
  }
  SUBCASE("by its answer") {
    followed.world.answer(watch, 410);
    followed.world.end(watch);
  }
  const auto list = followed.world.next_list();
  CHECK_FALSE(followed.follower->follows());
  CHECK(followed.missed == 0); // it comes with the place from which it is heard again
  followed.world.list(list, 30, {});
  watch = followed.world.next_watch();
  CHECK(followed.missed == 1);
  CHECK(WatchWorld::param(watch, "resourceVersion") == "30");
}

TEST_CASE("a refused watch is tried again, and nobody relies on it meanwhile") {
  Followed followed;
  auto watch = followed.begin(7);
  followed.world.answer(watch, 403);
  followed.world.end(watch);
  watch = followed.world.next_watch();
  CHECK_FALSE(followed.follower->follows());
  CHECK(WatchWorld::param(watch, "resourceVersion") == "7");
  followed.world.answer(watch, 200);
  followed.world.settle();
  CHECK(followed.follower->follows());
}
