// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/watch_filter.hpp"
#include "watch_world.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::test;

TEST_CASE("all watches of a kind hang on one upstream watch") {
  WatchWorld world;
  WatchClient everywhere(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  CHECK(stream->head.target.starts_with("/api/v1/pods?"));
  CHECK(world.param(stream, "resourceVersion") == "10");
  CHECK(world.param(stream, "allowWatchBookmarks") == "true");
  CHECK_FALSE(everywhere.begun()); // upstream has not accepted it yet
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return everywhere.begun(); }));

  WatchClient of_namespace(world, 1, pods_of("foofoo-a", 10));
  auto by_name = pods_of("foofoo-a", 10);
  by_name.params = {{"fieldSelector", "metadata.name=x"}};
  WatchClient of_name(world, 0, by_name);
  WatchClient neighbour(world, 1, pods("barbar-", 10));
  WatchClient whole(world, 0, pods("", 10));
  for (auto* client : {&of_namespace, &of_name, &neighbour, &whole})
    CHECK(world.eventually([&] { return client->begun(); }));
  CHECK(world.open_watches() == 1);
  CHECK(world.upstream().watches().stats().streams == 1);
  CHECK(world.upstream().watches().stats().subscribers == 5);

  // In pieces: events do not come as frames.
  const auto text = event("ADDED", "foofoo-a/x", 11) + event("ADDED", "barbar-a/x", 12) +
                    event("MODIFIED", "foofoo-a/y", 13) + event("DELETED", "foofoo-ab/x", 14) +
                    event("ADDED", "foofoo/x", 15);
  world.say(stream, text.substr(0, 50));
  world.say(stream, text.substr(50));
  CHECK(everywhere.heard() ==
        Heard{"ADDED foofoo-a/x 11", "MODIFIED foofoo-a/y 13", "DELETED foofoo-ab/x 14"});
  CHECK(of_namespace.heard() == Heard{"ADDED foofoo-a/x 11", "MODIFIED foofoo-a/y 13"});
  CHECK(of_name.heard() == Heard{"ADDED foofoo-a/x 11"});
  CHECK(neighbour.heard() == Heard{"ADDED barbar-a/x 12"});
  CHECK(whole.heard().size() == 5);
}

TEST_CASE("encodings, and kinds, have streams of their own") {
  WatchWorld world;
  auto request = pods("foofoo-", 10);
  WatchClient objects(world, 0, request);
  request.head.headers.set("Accept",
                           "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
  WatchClient metadata(world, 0, request);
  request = pods("foofoo-", 10);
  request.head.target = "/api/v1/configmaps";
  WatchClient configmaps(world, 0, request);
  for (int i = 0; i < 3; ++i)
    world.next_watch();
  CHECK(world.open_watches() == 3);
}

TEST_CASE("who comes later begins exactly where it says") {
  WatchWorld world;
  WatchClient first(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, event("ADDED", "foofoo-a/x", 11) + event("ADDED", "foofoo-a/y", 15));
  WatchClient from_window(world, 1, pods("foofoo-", 11));
  WatchClient from_beginning(world, 0, pods("foofoo-", 10));
  WatchClient ahead(world, 1, pods("foofoo-", 20)); // its list is newer than the stream
  CHECK(world.eventually([&] { return ahead.begun(); }));
  world.say(stream, event("MODIFIED", "foofoo-a/x", 20) + event("MODIFIED", "foofoo-a/x", 21));
  CHECK(from_window.heard() ==
        Heard{"ADDED foofoo-a/y 15", "MODIFIED foofoo-a/x 20", "MODIFIED foofoo-a/x 21"});
  CHECK(from_beginning.heard() == first.heard());
  CHECK(ahead.heard() == Heard{"MODIFIED foofoo-a/x 21"});
  CHECK(world.open_watches() == 1);
}

TEST_CASE("who is older than the window catches up and joins without loss or duplicate") {
  WatchWorld world;
  WatchClient young(world, 0, pods("foofoo-", 100));
  const auto main = world.next_watch();
  world.answer(main, 200);
  world.say(main, event("ADDED", "foofoo-a/c", 101));
  WatchClient old(world, 1, pods("foofoo-", 50));
  world.settle(); // it comes from another loop: the next one is to find it there
  WatchClient older_than_main(world, 0, pods("foofoo-", 60));
  const auto behind = world.next_watch();
  CHECK(world.param(behind, "resourceVersion") == "50");
  world.answer(behind, 200);
  CHECK(world.eventually([&] { return older_than_main.begun(); }));
  CHECK(world.open_watches() == 2);
  world.say(behind, event("ADDED", "foofoo-a/a", 60) + event("ADDED", "foofoo-a/b", 70));
  world.say(main, event("ADDED", "foofoo-a/d", 102));
  CHECK(old.heard() == Heard{"ADDED foofoo-a/a 60", "ADDED foofoo-a/b 70"});
  CHECK(older_than_main.heard() == Heard{"ADDED foofoo-a/b 70"});
  // It stands where the other's memory begins: one is enough from here on.
  world.say(behind, bookmark_event(100));
  CHECK(world.eventually([&] { return world.open_watches() == 1; }));
  world.say(main, event("ADDED", "foofoo-a/e", 103));
  CHECK(old.heard() == Heard{"ADDED foofoo-a/a 60", "ADDED foofoo-a/b 70", "ADDED foofoo-a/c 101",
                             "ADDED foofoo-a/d 102", "ADDED foofoo-a/e 103"});
  CHECK(young.heard() ==
        Heard{"ADDED foofoo-a/c 101", "ADDED foofoo-a/d 102", "ADDED foofoo-a/e 103"});
  // And the window reaches back as far as both did.
  WatchClient third(world, 0, pods("foofoo-", 65));
  CHECK(third.heard().size() == 4);
  CHECK(world.none("watch=true"));
}

TEST_CASE("where two streams become one, each watch hears its own of what the other has had") {
  WatchWorld world;
  WatchClient young(world, 0, pods("foofoo-", 100));
  const auto main = world.next_watch();
  world.answer(main, 200);
  world.say(main, event("ADDED", "foofoo-a/a", 101) + event("ADDED", "barbar-a/b", 102) +
                      event("ADDED", "nobody-a/c", 103));
  WatchClient foofoo(world, 1, pods("foofoo-", 50));
  world.settle();
  WatchClient barbar(world, 1, pods("barbar-", 50));
  WatchClient everybody(world, 0, pods("", 50));
  const auto behind = world.next_watch();
  world.answer(behind, 200);
  for (auto* client : {&foofoo, &barbar, &everybody})
    CHECK(world.eventually([&] { return client->begun(); }));
  CHECK(world.open_watches() == 2);
  world.say(behind, bookmark_event(100));
  CHECK(world.eventually([&] { return world.open_watches() == 1; }));
  CHECK(foofoo.heard() == Heard{"ADDED foofoo-a/a 101"});
  CHECK(barbar.heard() == Heard{"ADDED barbar-a/b 102"});
  CHECK(everybody.heard() ==
        Heard{"ADDED foofoo-a/a 101", "ADDED barbar-a/b 102", "ADDED nobody-a/c 103"});
  world.say(main, event("ADDED", "barbar-a/d", 104));
  CHECK(barbar.heard().back() == "ADDED barbar-a/d 104");
  CHECK(foofoo.heard().size() == 1);
}

TEST_CASE("where one owner's keys do not stand together its watch hears and keeps those alone") {
  auto limits = WatchWorld::quick();
  limits.keys = 1;
  WatchWorld world(limits);
  auto request = pods("", 10);
  request.shows = [](std::string_view key) { return key.ends_with("mine"); };
  WatchClient all(world, 0, request);
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return all.begun(); }));
  request.params = {{"labelSelector", "app=web"}};
  WatchClient chosen(world, 1, request);
  world.list(world.next_list(), 10, {pod("foofoo-a/1-mine", 5), pod("foofoo-a/2-other", 6)});
  CHECK(world.eventually([&] { return chosen.begun(); }));
  const std::string web = R"({"app":"web"})";
  world.say(stream, event("ADDED", "barbar-a/other", 11, web) +
                        event("MODIFIED", "foofoo-a/1-mine", 12) +
                        event("MODIFIED", "foofoo-a/2-other", 13) +
                        event("ADDED", "foofoo-a/3-mine", 14, web));
  CHECK(all.heard() == Heard{"MODIFIED foofoo-a/1-mine 12", "ADDED foofoo-a/3-mine 14"});
  CHECK(chosen.heard() == Heard{"DELETED foofoo-a/1-mine 12", "ADDED foofoo-a/3-mine 14"});
  CHECK(world.open_watches() == 1);
}

TEST_CASE("one that was caught up beyond the other's end hears nothing twice") {
  WatchWorld world;
  WatchClient young(world, 0, pods("foofoo-", 100));
  const auto main = world.next_watch();
  world.answer(main, 200);
  WatchClient old(world, 1, pods("foofoo-", 50));
  const auto behind = world.next_watch();
  world.answer(behind, 200);
  CHECK(world.eventually([&] { return old.begun(); }));
  world.say(behind, event("ADDED", "foofoo-a/a", 101) + event("ADDED", "foofoo-a/b", 102));
  CHECK(world.eventually([&] { return world.open_watches() == 1; }));
  world.say(main, event("ADDED", "foofoo-a/a", 101) + event("ADDED", "foofoo-a/b", 102) +
                      event("ADDED", "foofoo-a/c", 103));
  CHECK(old.heard() ==
        Heard{"ADDED foofoo-a/a 101", "ADDED foofoo-a/b 102", "ADDED foofoo-a/c 103"});
  CHECK(young.heard() == old.heard());
}

TEST_CASE("the window is bounded") {
  auto limits = WatchWorld::quick();
  limits.window_events = 2;
  WatchWorld world(limits);
  WatchClient first(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  for (std::uint64_t version = 11; version < 15; ++version)
    world.say(stream, event("MODIFIED", "foofoo-a/x", version));
  WatchClient within(world, 0, pods("foofoo-", 12));
  CHECK(within.heard() == Heard{"MODIFIED foofoo-a/x 13", "MODIFIED foofoo-a/x 14"});
  CHECK(world.open_watches() == 1);
  WatchClient before(world, 0, pods("foofoo-", 11));
  CHECK(world.param(world.next_watch(), "resourceVersion") == "11");
}

TEST_CASE("a client's own word for a version is held against upstream's first") {
  WatchWorld world;
  auto request = pods("foofoo-", 1'000'000);
  request.trusted_version = false;
  WatchClient dreamer(world, 0, request);
  const auto now = world.next_list();
  world.list(now, 42, {});
  const auto stream = world.next_watch();
  CHECK(world.param(stream, "resourceVersion") == "42");
  world.answer(stream, 200);
  WatchClient sober(world, 0, pods("foofoo-", 42));
  CHECK(world.eventually([&] { return sober.begun(); }));
  world.say(stream, event("ADDED", "foofoo-a/x", 43));
  CHECK(sober.heard() == Heard{"ADDED foofoo-a/x 43"});
  CHECK(dreamer.heard().empty());
  CHECK(world.none("watch=true"));
}

TEST_CASE("a selector turns what begins or ceases to match into ADDED and DELETED") {
  WatchWorld world;
  auto request = pods("foofoo-", 10);
  request.params = {{"labelSelector", "app=web,tier!=test"}};
  CHECK(upstream::keeps_keys(request));
  request.keys = {{"foofoo-a/known"}};
  WatchClient client(world, 0, request);
  const auto stream = world.next_watch();
  CHECK(world.param(stream, "labelSelector").empty());
  world.answer(stream, 200);
  const std::string web = R"({"app":"web"})", other = R"({"app":"db"})";
  const std::string test = R"({"app":"web","tier":"test"})";
  world.say(
      stream,
      event("MODIFIED", "foofoo-a/known", 11, web) + event("MODIFIED", "foofoo-a/x", 12, other) +
          event("MODIFIED", "foofoo-a/x", 13, web) + event("MODIFIED", "foofoo-a/x", 14, test) +
          event("DELETED", "foofoo-a/x", 15, test) +
          event("MODIFIED", "foofoo-a/known", 16, other) + event("ADDED", "foofoo-a/y", 17, web) +
          event("DELETED", "foofoo-a/y", 18, web));
  CHECK(client.heard() == Heard{"MODIFIED foofoo-a/known 11", "ADDED foofoo-a/x 13",
                                "DELETED foofoo-a/x 14", "DELETED foofoo-a/known 16",
                                "ADDED foofoo-a/y 17", "DELETED foofoo-a/y 18"});
}

TEST_CASE("where nobody says what matched, it is read at exactly the beginning") {
  WatchWorld world;
  auto request = pods_of("foofoo-a", 10);
  request.params = {{"labelSelector", "app=web"}};
  WatchClient client(world, 0, request);
  const auto keys = world.next_list();
  CHECK(keys->head.target.starts_with("/api/v1/namespaces/foofoo-a/pods?"));
  CHECK(world.param(keys, "labelSelector") == "app=web");
  CHECK(revision_of_page(keys) == 10);
  CHECK(keys->head.headers.get("accept").find("PartialObjectMetadataList") != std::string::npos);
  world.list(keys, 10, {pod("foofoo-a/x", 5)});
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, event("MODIFIED", "foofoo-a/x", 11));
  CHECK(client.heard() == Heard{"DELETED foofoo-a/x 11"});

  // Compacted: upstream itself may remember.
  WatchClient late(world, 0, request);
  const auto refused = world.next_list();
  world.answer(refused, 410);
  world.end(refused);
  const auto own = world.next_watch();
  CHECK(own->head.target.starts_with("/api/v1/namespaces/foofoo-a/pods?"));
  CHECK(world.param(own, "labelSelector") == "app=web");
}

TEST_CASE("fields that can be read off the object are judged here, others upstream") {
  WatchWorld world;
  auto request = pods("foofoo-", 10);
  request.params = {{"fieldSelector", "spec.nodeName=n1"}};
  request.keys.emplace();
  WatchClient client(world, 0, request);
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, R"({"type":"MODIFIED","object":{"metadata":{"name":"x","namespace":"foofoo-a",)"
                    R"("resourceVersion":"11"},"spec":{"nodeName":"n1"}}})");
  CHECK(client.heard() == Heard{"ADDED foofoo-a/x 11"});

  request.params = {{"fieldSelector", "spec.unheardOf=1"}};
  CHECK_FALSE(upstream::shareable(request));
  WatchClient alone(world, 0, request);
  const auto own = world.next_watch();
  CHECK(world.param(own, "fieldSelector") == "spec.unheardOf=1");
  world.answer(own, 400);
  world.say(own, "no such field");
  world.end(own);
  CHECK(alone.end()->http_status == 400);
  CHECK(alone.end()->body == "no such field");
}

TEST_CASE("a stream that ends is opened again where it was, and nobody is told") {
  WatchWorld world;
  WatchClient client(world, 0, pods("foofoo-", 10));
  auto stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, event("ADDED", "foofoo-a/x", 11) + bookmark_event(20));
  world.end(stream);
  stream = world.next_watch();
  CHECK(world.param(stream, "resourceVersion") == "20");
  world.fail(stream);                         // not back yet
  for (const int refusal : {503, 403, 404}) { // nor has it read its roles and custom kinds
    stream = world.next_watch();
    world.answer(stream, refusal);
    world.end(stream);
  }
  stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, event("ADDED", "foofoo-a/y", 21));
  CHECK(client.heard() == Heard{"ADDED foofoo-a/x 11", "ADDED foofoo-a/y 21"});
  CHECK_FALSE(client.end());
  CHECK(client.stalls() == std::vector<bool>{true, false});
}

TEST_CASE("a slow reader costs only itself") {
  auto limits = WatchWorld::quick();
  limits.queue_events = 3;
  WatchWorld world(limits);
  WatchClient slow(world, 0, pods("foofoo-", 10));
  WatchClient quick(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return slow.begun() && quick.begun(); }));
  slow.pause();
  world.say(stream, event("ADDED", "foofoo-a/x", 11) + event("ADDED", "foofoo-a/y", 12));
  CHECK(slow.heard().empty());
  slow.resume();
  CHECK(slow.heard() == Heard{"ADDED foofoo-a/x 11", "ADDED foofoo-a/y 12"});
  slow.pause();
  for (std::uint64_t version = 13; version < 18; ++version)
    world.say(stream, event("MODIFIED", "foofoo-a/x", version));
  REQUIRE(slow.end());
  CHECK_FALSE(slow.end()->error);
  CHECK(slow.heard().size() == 2);
  CHECK(quick.heard().size() == 7);
}

TEST_CASE("watches of one tenant that nobody reads keep a bounded lot together") {
  auto limits = WatchWorld::quick();
  const auto one = event("MODIFIED", "foofoo-a/x", 10).size();
  limits.owner_bytes = 4 * one + 8 * 128; // four events, for two clients
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.owner = "foofoo";
  WatchClient first(world, 0, request), second(world, 0, request), reader(world, 0, request);
  request.owner = "barbar";
  WatchClient neighbour(world, 0, request);
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return second.begun() && neighbour.begun() && reader.begun(); }));
  for (auto* client : {&first, &second, &neighbour})
    client->pause();
  for (std::uint64_t version = 11; version < 15; ++version)
    world.say(stream, event("MODIFIED", "foofoo-a/x", version));
  CHECK_FALSE(first.end());
  CHECK_FALSE(second.end());
  world.say(stream, event("MODIFIED", "foofoo-a/x", 15));
  CHECK((first.end() || second.end()));
  CHECK_FALSE((first.end() && second.end())); // the others have room again
  CHECK_FALSE(neighbour.end());
  CHECK_FALSE(reader.end());
  CHECK(reader.heard().size() == 5);
  auto& left = first.end() ? second : first;
  left.resume();
  CHECK(left.heard() == reader.heard());
}

TEST_CASE("where a tenant's waiting events have no room, who keeps most of them makes it") {
  auto limits = WatchWorld::quick();
  const auto one = event("MODIFIED", "foofoo-a/x", 10).size();
  limits.owner_bytes = 4 * (one + 128);
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.owner = "foofoo";
  WatchClient most(world, 0, request), little(world, 0, request);
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return most.begun() && little.begun(); }));
  most.pause();
  for (std::uint64_t version = 11; version < 15; ++version)
    world.say(stream, event("MODIFIED", "foofoo-a/x", version));
  little.pause();
  CHECK_FALSE(most.end());
  world.say(stream, event("MODIFIED", "foofoo-a/x", 15));
  REQUIRE(most.end());
  CHECK_FALSE(most.end()->error);
  CHECK(most.end()->unread);
  CHECK_FALSE(little.end());
  little.resume();
  CHECK(little.heard().size() == 5);
}

TEST_CASE("an event waits for a moment until its tenant may hold it, and the others behind it") {
  auto limits = WatchWorld::quick();
  limits.room_pause = std::chrono::milliseconds(1);
  limits.room_wait = std::chrono::hours(1);
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.owner = "foofoo";
  WatchClient full(world, 0, request), other(world, 0, request), reader(world, 0, request);
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return full.begun() && other.begun() && reader.begun(); }));
  full.set_room(false);
  other.set_room(false);
  world.say(stream, event("ADDED", "foofoo-a/x", 11) + event("ADDED", "foofoo-a/y", 12));
  CHECK(reader.heard() == Heard{"ADDED foofoo-a/x 11", "ADDED foofoo-a/y 12"});
  CHECK(full.heard().empty());
  other.set_room(true);
  CHECK(world.eventually([&] { return other.heard() == reader.heard(); })); // though behind `full`
  CHECK(full.heard().empty());
  full.pause();
  full.set_room(true);
  full.resume();
  CHECK(world.eventually([&] { return full.heard() == reader.heard(); }));
  full.set_room(false);
  world.say(stream, event("MODIFIED", "foofoo-a/x", 13));
  CHECK(full.heard().size() == 2);
  full.set_room(true);
  CHECK(world.eventually([&] { return full.heard() == reader.heard(); }));
  CHECK_FALSE(full.end());
}

TEST_CASE("where room does not come, the watch ends in order") {
  auto limits = WatchWorld::quick();
  limits.room_pause = limits.room_wait = std::chrono::milliseconds(2);
  WatchWorld world(limits);
  WatchClient full(world, 0, pods("foofoo-", 10)), reader(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return full.begun() && reader.begun(); }));
  world.say(stream, event("ADDED", "foofoo-a/x", 11));
  full.set_room(false);
  world.say(stream, event("ADDED", "foofoo-a/y", 12));
  CHECK(world.eventually([&] { return full.end().has_value(); }));
  CHECK_FALSE(full.end()->error);
  CHECK(full.end()->http_status == 0);
  CHECK(full.end()->unread);
  CHECK(full.heard() == Heard{"ADDED foofoo-a/x 11"});
  CHECK_FALSE(reader.end());
  CHECK(reader.heard().size() == 2);
}

TEST_CASE("keys that selectors keep are counted for their tenant") {
  auto limits = WatchWorld::quick();
  limits.owner_bytes = 5 * (96 + 12);
  limits.alone_of_owner = 0;
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.owner = "foofoo";
  request.params = {{"labelSelector", "!x"}};
  const std::vector<std::string> keys = {"foofoo-a/p01", "foofoo-a/p02", "foofoo-a/p03",
                                         "foofoo-a/p04"};
  request.keys.emplace(keys.begin(), keys.begin() + 2);
  WatchClient first(world, 0, request);
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return first.begun(); }));
  request.keys = keys;
  WatchClient second(world, 0, request);
  REQUIRE(world.eventually([&] { return second.end().has_value(); }));
  CHECK(second.end()->http_status == 429);
  for (std::uint64_t version = 11; version < 14; ++version)
    world.say(stream, event("ADDED", "foofoo-a/n" + std::to_string(version), version));
  CHECK(first.heard().size() == 3);
  CHECK_FALSE(first.end());
  world.say(stream, event("ADDED", "foofoo-a/n14", 14));
  REQUIRE(world.eventually([&] { return first.end().has_value(); }));
  CHECK_FALSE(first.end()->error);
}

TEST_CASE("a list of more keys than one may keep is not read to its end") {
  auto limits = WatchWorld::quick();
  limits.keys = 1;
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.params = {{"labelSelector", "a=b"}};
  WatchClient client(world, 0, request);
  const auto list = world.next_list();
  world.answer(list, 200);
  world.say(list,
            R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[)" +
                pod("foofoo-a/x", 5) + "," + pod("foofoo-a/y", 6) + ",");
  const auto alone = world.next_watch();
  CHECK(world.param(alone, "labelSelector") == "a=b");
  world.on(0, [&] { CHECK(list->handler == nullptr); });
}

TEST_CASE("keys of a list that a watch begins with are counted while it comes") {
  auto limits = WatchWorld::quick();
  limits.keys = 2;
  WatchWorld world(limits);
  world.on(0, [&] {
    const auto keys = [&] {
      return upstream::watch_keys(world.upstream(), world.loop(0), "foofoo");
    };
    auto few = keys();
    few->add("a/x");
    few->add("a/y");
    CHECK(few->take() == std::vector<std::string>{"a/x", "a/y"});
    auto many = keys();
    for (const auto* key : {"a/x", "a/y", "a/z"})
      many->add(key);
    CHECK_FALSE(many->take());
  });
}

TEST_CASE("bookmarks come to those who asked, and say where one may go on") {
  auto limits = WatchWorld::quick();
  limits.bookmark = std::chrono::milliseconds(10);
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.bookmarks = true;
  WatchClient client(world, 0, request);
  WatchClient other(world, 1, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  world.say(stream, event("ADDED", "barbar-a/x", 12) + bookmark_event(30));
  CHECK(world.eventually([&] {
    const auto heard = client.heard();
    return !heard.empty() && heard.back() == "BOOKMARK 30";
  }));
  CHECK(other.heard().empty());
}

TEST_CASE("a watch ends when its time is up, with a last bookmark") {
  WatchWorld world;
  auto request = pods("foofoo-", 10);
  request.bookmarks = true;
  request.timeout_seconds = 1;
  WatchClient client(world, 0, request);
  world.answer(world.next_watch(), 200);
  CHECK(world.eventually([&] { return client.end().has_value(); }));
  CHECK(client.heard() == Heard{"BOOKMARK 10"});
  CHECK_FALSE(client.end()->error);
}

TEST_CASE("what upstream refuses to zood is tried where the subscriber asked") {
  WatchWorld world;
  auto request = pods_of("foofoo-a", 10);
  request.head.prepared = std::make_shared<const http::FieldLines>(
      http::FieldLines::make({{"Impersonate-User", "zoo:foofoo"}}).value());
  WatchClient client(world, 0, request);
  const auto shared = world.next_watch();
  CHECK(shared->head.prepared == nullptr); // zood's own
  world.answer(shared, 403);
  world.end(shared);
  const auto own = world.next_watch();
  CHECK(own->head.target.starts_with("/api/v1/namespaces/foofoo-a/pods?"));
  CHECK(own->head.prepared == request.head.prepared);
  world.answer(own, 200);
  world.say(own, event("ADDED", "foofoo-a/x", 11));
  CHECK(client.heard() == Heard{"ADDED foofoo-a/x 11"});
}

TEST_CASE("an upstream that is not there is told to who has just come") {
  WatchWorld world;
  WatchClient client(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 503);
  world.say(stream, "busy");
  world.end(stream);
  REQUIRE(client.end());
  CHECK(client.end()->http_status == 503);
  CHECK(client.end()->body == "busy");
  CHECK_FALSE(client.begun());
}

TEST_CASE("streams that are not shared are bounded in number") {
  auto limits = WatchWorld::quick();
  limits.alone_of_owner = 1;
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.table = true;
  request.owner = "foofoo";
  {
    WatchClient first(world, 0, request);
    world.next_watch();
    WatchClient second(world, 0, request);
    CHECK(world.eventually([&] { return second.end().has_value(); }));
    CHECK(second.end()->http_status == 429);
    request.owner = "barbar";
    WatchClient neighbour(world, 0, request);
    world.next_watch();
    CHECK(world.upstream().watches().stats().alone == 2);
  }
  world.settle();
  CHECK(world.upstream().watches().stats().alone == 0);
}

TEST_CASE("a kind that nobody watches any more is let go") {
  auto limits = WatchWorld::quick();
  limits.linger = std::chrono::milliseconds(5);
  WatchWorld world(limits);
  {
    WatchClient client(world, 0, pods("foofoo-", 10));
    world.answer(world.next_watch(), 200);
    CHECK(world.open_watches() == 1);
  }
  CHECK(world.eventually([&] { return world.open_watches() == 0; }));
  CHECK(world.upstream().watches().stats().subscribers == 0);
  CHECK(world.upstream().watches().stats().streams == 0);
}

TEST_CASE("the stream of a kind that only one tenant has is this tenant's") {
  auto limits = WatchWorld::quick();
  limits.linger = std::chrono::hours(1);
  limits.window_bytes = 1u << 20;
  limits.owned_window_bytes = event("ADDED", "foofoo-a/x", 11).size();
  WatchWorld world(limits);
  auto request = pods("foofoo-", 10);
  request.owner = "foofoo";
  SUBCASE("it is counted for it, remembers less, and ends with its last watch") {
    request.owned_kind = true;
    {
      WatchClient first(world, 0, request);
      const auto stream = world.next_watch();
      CHECK(stream->owner == "foofoo");
      world.answer(stream, 200);
      world.say(stream, event("ADDED", "foofoo-a/x", 11) + event("ADDED", "foofoo-a/y", 12));
      CHECK(first.heard().size() == 2);
      WatchClient second(world, 1, request);
      const auto older = world.next_watch();
      CHECK(world.param(older, "resourceVersion") == "10");
      CHECK(older->owner == "foofoo");
    }
    CHECK(world.eventually([&] { return world.open_watches() == 0; }));
  }
  SUBCASE("where its share is used up when the stream shall begin again, its watches end") {
    request.owned_kind = true;
    WatchClient client(world, 0, request);
    const auto stream = world.next_watch();
    world.answer(stream, 200);
    world.end(stream);
    world.fail(world.next_watch(), Code::unavailable);
    CHECK_FALSE(client.end());
    world.fail(world.next_watch(), Code::too_many_requests);
    CHECK(world.eventually([&] { return client.end().has_value(); }));
    CHECK_FALSE(client.end()->error);
  }
  SUBCASE("everybody's is nobody's") {
    {
      WatchClient first(world, 0, request);
      const auto stream = world.next_watch();
      CHECK(stream->owner.empty());
      world.answer(stream, 200);
      world.say(stream, event("ADDED", "foofoo-a/x", 11) + event("ADDED", "foofoo-a/y", 12));
      WatchClient second(world, 1, request);
      CHECK(world.eventually([&] { return second.heard().size() == 2; }));
    }
    world.settle();
    CHECK(world.open_watches() == 1);
  }
}

TEST_CASE("a path says where its shared watch is") {
  using upstream::shared_place;
  CHECK(shared_place("/api/v1/pods").path == "/api/v1/pods");
  CHECK(shared_place("/api/v1/namespaces").path == "/api/v1/namespaces");
  CHECK(shared_place("/api/v1/namespaces").key_prefix.empty());
  CHECK(shared_place("/api/v1/namespaces/foofoo-a/pods").path == "/api/v1/pods");
  CHECK(shared_place("/api/v1/namespaces/foofoo-a/pods").key_prefix == "foofoo-a/");
  CHECK(shared_place("/apis/apps/v1/namespaces/n/deployments").path == "/apis/apps/v1/deployments");
  CHECK(shared_place("/apis/x.io/v1/namespaces").path == "/apis/x.io/v1/namespaces");
  CHECK(shared_place("/apis/x.io/v1/namespaces/n/namespaces").path == "/apis/x.io/v1/namespaces");
}

TEST_CASE("a stream that nobody hears is read some events at a time") {
  using std::chrono::hours;
  auto limits = WatchWorld::quick();
  limits.shortest_rest = std::chrono::milliseconds(1);
  limits.rest_gap = hours(1);
  limits.rest_bytes = 1U << 30;
  limits.longest_rest = hours(1); // whoever comes ends it
  limits.rest_part = 1e9;
  const auto rests = [&](std::string_view key, std::size_t more) {
    WatchWorld world(limits);
    WatchClient client(world, 0, pods("foofoo-", 10));
    const auto stream = world.next_watch();
    world.answer(stream, 200);
    CHECK(world.eventually([&] { return client.begun(); }));
    world.say(stream, event("ADDED", "foofoo-a/x", 11));
    world.on(stream->loop, [&] {
      stream->handler->on_data(event("MODIFIED", key, 12));
      for (std::size_t i = 0; i < more; ++i) // what has waited comes in one turn
        stream->handler->on_data(event("MODIFIED", key, 13 + i));
    });
    // Whoever comes later hears it, as if nothing had been.
    WatchClient late(world, 1, pods("barbar-", 11));
    CHECK(world.eventually([&] { return late.begun(); }));
    world.say(stream, event("ADDED", "barbar-a/z", 1000));
    CHECK(world.eventually([&] {
      const auto heard = late.heard();
      return !heard.empty() && heard.back() == "ADDED barbar-a/z 1000";
    }));
    const auto out = world.pauses(stream);
    CHECK(client.heard().size() == (key.starts_with("foofoo") ? 2 + more : 1));
    return out;
  };
  CHECK(rests("barbar-a/x", 0) == 1);
  CHECK(rests("barbar-a/x", 3) == 1);
  limits.rest_bytes = 4'000;
  CHECK(rests("barbar-a/x", 100) == 0); // so much comes
  limits.rest_bytes = 1U << 30;
  limits.shortest_rest = hours(24 * 365 * 100);
  CHECK(rests("barbar-a/x", 0) == 0); // somebody has heard the first one not long ago
  CHECK(rests("foofoo-a/x", 0) == 0);
  limits.shortest_rest = std::chrono::milliseconds(1);
  limits.rest_gap = std::chrono::milliseconds(-1);
  CHECK(rests("barbar-a/x", 0) == 0); // they are too rare

  // It ends by itself, too.
  limits.rest_gap = hours(1);
  limits.longest_rest = std::chrono::milliseconds(1);
  WatchWorld world(limits);
  WatchClient client(world, 0, pods("foofoo-", 10));
  const auto stream = world.next_watch();
  world.answer(stream, 200);
  CHECK(world.eventually([&] { return client.begun(); }));
  world.say(stream, event("MODIFIED", "barbar-a/x", 11));
  CHECK(world.eventually([&] { return world.pauses(stream) == 1; }));
  world.say(stream, event("ADDED", "foofoo-a/x", 12));
  CHECK(world.eventually([&] { return client.heard().size() == 1; }));
}
