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
  explicit Followed(std::chrono::milliseconds silence = std::chrono::minutes(1)) {
    world.on(0, [&] {
      auto& loop = world.loop(0);
      const auto changed = [this](translate::EventType type, const translate::ObjectKey& key,
                                  std::string_view) {
        const char sign = type == translate::EventType::added     ? '+'
                          : type == translate::EventType::deleted ? '-'
                                                                  : '~';
        heard.push_back(sign + key.text());
      };
      follower.emplace(world.upstream(), loop, world.upstream().caller(loop), "/api/v1/pods",
                       "metadata.name=x",
                       upstream::ChangeFollower::Hears{
                           .changed = changed,
                           .began = [this] { ++began; },
                           .hearing = [this](bool hears) { hearing += hears ? '+' : '-'; }},
                       silence);
    });
    follower->start();
  }
  ~Followed() {
    world.on(0, [this] { follower.reset(); });
  }
  WatchWorld::AskedPtr listed(std::uint64_t version) {
    const auto list = world.next_list();
    CHECK(WatchWorld::param(list, "limit") == "2"); // one, and whether there are more
    world.list(list, version, {});
    auto watch = world.next_watch();
    CHECK(WatchWorld::param(watch, "resourceVersion") == std::to_string(version));
    return watch;
  }
  WatchWorld::AskedPtr watched_from(std::string_view version) {
    auto watch = world.next_watch();
    CHECK(WatchWorld::param(watch, "resourceVersion") == version);
    return watch;
  }
  void accept(const WatchWorld::AskedPtr& watch) {
    world.answer(watch, 200);
    world.settle();
    CHECK(follower->follows());
  }
  void refuse(const WatchWorld::AskedPtr& watch, int status) {
    world.answer(watch, status);
    world.end(watch);
    world.settle();
    CHECK_FALSE(follower->follows());
  }
  void say(const WatchWorld::AskedPtr& watch, const std::string& text) {
    world.say(watch, text);
    world.settle();
  }

  WatchWorld world;
  std::optional<upstream::ChangeFollower> follower;
  std::vector<std::string> heard; ///< on the loop
  int began = 0;
  std::string hearing; ///< + and - in turn
};

} // namespace

TEST_CASE("changes are told, and the watch goes on from where it was") {
  Followed followed;
  CHECK_FALSE(followed.follower->follows());
  auto watch = followed.listed(7);
  CHECK(WatchWorld::param(watch, "fieldSelector") == "metadata.name=x");
  CHECK(WatchWorld::param(watch, "allowWatchBookmarks") == "true");
  CHECK(followed.began == 0);
  followed.accept(watch);
  CHECK(followed.began == 1);
  followed.say(watch, event("ADDED", "foofoo-a/x", 8) + event("MODIFIED", "foofoo-a/x", 9) +
                          event("DELETED", "foofoo-b/x", 10));
  CHECK(followed.heard == std::vector<std::string>{"+foofoo-a/x", "~foofoo-a/x", "-foofoo-b/x"});

  followed.world.end(watch);
  watch = followed.watched_from("10");
  CHECK(followed.follower->follows()); // nothing is lost
  followed.accept(watch);
  followed.say(watch, bookmark_event(20));
  followed.world.fail(watch);
  watch = followed.watched_from("20");
  CHECK_FALSE(followed.follower->follows());
  followed.accept(watch);
  for (const int status : {408, 429, 500, 503, 504}) { // upstream is busy: the place is as good
    CAPTURE(status);
    followed.world.end(watch);
    watch = followed.watched_from("20");
    followed.refuse(watch, status);
    watch = followed.watched_from("20");
    followed.accept(watch);
  }
  CHECK(followed.began == 1);
  CHECK(followed.heard.size() == 3);
}

TEST_CASE("where the place is lost, it is said when changes are heard again") {
  Followed followed;
  auto watch = followed.listed(7);
  followed.accept(watch);
  SUBCASE("by an event") {
    followed.say(watch, gone_event());
    CHECK_FALSE(followed.follower->follows());
    followed.world.end(watch);
  }
  SUBCASE("by one that cannot be read") {
    followed.say(watch, "{\"type\":\"MODIFIED\",\"object\":{}}\n");
    CHECK_FALSE(followed.follower->follows());
    followed.world.end(watch);
  }
  SUBCASE("by an answer") {
    followed.world.end(watch);
    followed.refuse(followed.watched_from("7"), 410);
  }
  watch = followed.listed(30);
  CHECK(followed.began == 1);
  CHECK_FALSE(followed.follower->follows());
  followed.world.fail(watch); // on the way: the place of the list is still to be told of
  watch = followed.watched_from("30");
  followed.accept(watch);
  CHECK(followed.began == 2);
}

TEST_CASE("what is refused is tried again, and nobody relies on it meanwhile") {
  Followed followed;
  const auto list = followed.world.next_list();
  followed.world.answer(list, 403);
  followed.world.end(list);
  auto watch = followed.listed(7);
  for (const std::uint64_t version : {8, 9}) {
    followed.refuse(watch, 403);
    watch = followed.listed(version);
    CHECK(followed.began == 0);
  }
  followed.accept(watch);
  CHECK(followed.began == 1);
}

TEST_CASE("a watch that says nothing for too long is opened anew") {
  Followed followed(std::chrono::milliseconds(1000));
  auto watch = followed.listed(7);
  SUBCASE("never") {}
  SUBCASE("after it had begun") { followed.accept(watch); }
  watch = followed.watched_from("7");
  CHECK_FALSE(followed.follower->follows());
  followed.accept(watch);
  CHECK(followed.began == 1);
}

TEST_CASE("it says when it hears, and when it does not") {
  Followed followed(std::chrono::milliseconds(500));
  auto watch = followed.listed(7);
  CHECK(followed.hearing.empty());
  followed.accept(watch);
  CHECK(followed.hearing == "+");
  followed.say(watch, event("ADDED", "foofoo-a/x", 8));
  CHECK(followed.hearing == "+");
  followed.world.end(watch);
  watch = followed.watched_from("8");
  CHECK(followed.hearing == "+-");
  followed.accept(watch);
  CHECK(followed.hearing == "+-+");
  followed.watched_from("8"); // it was silent for too long
  CHECK(followed.hearing == "+-+-");
}

TEST_CASE("it reads anew when it is told to") {
  Followed followed;
  followed.accept(followed.listed(7));
  followed.world.on(0, [&] { followed.follower->reread(); });
  const auto watch = followed.listed(9);
  CHECK_FALSE(followed.follower->hears());
  CHECK(followed.hearing == "+-");
  followed.accept(watch);
  CHECK(followed.began == 2);
  CHECK(followed.hearing == "+-+");
}
