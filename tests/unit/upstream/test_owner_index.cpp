// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/owner_index.hpp"
#include "tests/unit/upstream/watch_world.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>

using namespace zoo;
using namespace zoo::test;
using upstream::OwnerIndex;

namespace {

std::string owner_of(std::string_view object) {
  const auto tree = translate::JsonTree::parse(object);
  return tree ? tree->root()["spec"]["owner"].string() : "";
}

std::string thing(std::string_view name, std::string_view owner, std::uint64_t version) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}},"spec":{{"owner":"{}"}}}})", name,
      version, owner);
}

std::string changed(std::string_view type, std::string_view name, std::string_view owner,
                    std::uint64_t version) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, thing(name, owner, version));
}

struct Indexed {
  explicit Indexed(OwnerIndex::Reads reads = OwnerIndex::Reads::whole,
                   OwnerIndex::OwnerOf owner = owner_of) {
    world.on(0, [&] {
      auto& loop = world.loop(0);
      index.emplace(world.upstream(), loop, world.upstream().caller(loop), "/api/v1/things", reads,
                    owner);
    });
  }
  ~Indexed() {
    world.on(0, [this] { index.reset(); });
  }
  /// Names, each with a blank behind it; "?": not known.
  std::string names(std::string_view owner) {
    const auto found = index->names_of(owner);
    if (!found) return "?";
    std::string out;
    for (const auto& name : *found)
      out += name + ' ';
    return out;
  }
  WatchWorld::AskedPtr follow(std::uint64_t version, const std::vector<std::string>& things) {
    world.list(world.next_list(), version, things);
    auto watch = world.next_watch();
    CHECK(WatchWorld::param(watch, "resourceVersion") == std::to_string(version));
    world.answer(watch, 200);
    world.settle();
    return watch;
  }
  void say(const WatchWorld::AskedPtr& watch, const std::string& text) {
    world.say(watch, text);
    world.settle();
  }

  WatchWorld world;
  std::optional<OwnerIndex> index;
};

} // namespace

TEST_CASE("who first asks has all read, whole, and what changes is followed") {
  Indexed indexed;
  indexed.world.settle();
  CHECK(indexed.world.none("things"));
  CHECK(!indexed.index->known());
  CHECK(indexed.names("a-") == "?");
  auto watch = indexed.follow(7, {thing("one", "a-x/", 3), thing("two", "a-y/", 4),
                                  thing("three", "b-x/", 5), thing("four", "", 6)});
  CHECK(watch->head.headers.get("accept") == "application/json");
  CHECK(indexed.names("a-") == "one two ");
  CHECK(indexed.index->owner_of("one").value_or("?") == "a-x/");
  CHECK(indexed.index->owner_of("four").value_or("?").empty());
  CHECK(!indexed.index->owner_of("five"));
  CHECK(indexed.names("a-x/") == "one ");
  CHECK(indexed.names("b-") == "three ");
  CHECK(indexed.names("c-") == "");
  CHECK(indexed.index->size() == 4);

  indexed.say(watch, changed("ADDED", "five", "a-x/", 8) + changed("MODIFIED", "four", "a-z/", 9));
  CHECK(indexed.names("a-") == "five four one two ");
  indexed.say(watch, changed("MODIFIED", "one", "b-x/", 10));
  CHECK(indexed.names("a-") == "five four two ");
  CHECK(indexed.names("b-") == "one three ");
  indexed.say(watch, changed("DELETED", "two", "a-y/", 11) + changed("MODIFIED", "five", "", 12));
  CHECK(indexed.names("a-") == "four ");
  CHECK(indexed.index->size() == 4);
  CHECK(indexed.index->owner_of("two").value_or("?") == "a-y/"); // it was
}

TEST_CASE("who an object was taken from is known for a while, since when") {
  Indexed indexed;
  CHECK(indexed.names("a-") == "?");
  auto watch = indexed.follow(7, {thing("one", "a-x/", 3), thing("two", "a-x/", 4)});
  const auto owned = [&](const std::string& name, std::int64_t revision, std::string_view by) {
    return indexed.index->owned_behind(
        name, revision, [by](std::string_view owner) { return owner.starts_with(by); });
  };
  CHECK(owned("one", 7, "a-")); // it is
  CHECK_FALSE(owned("one", 7, "b-"));
  CHECK_FALSE(owned("none", 7, ""));
  indexed.say(watch, changed("MODIFIED", "one", "", 8) + changed("MODIFIED", "one", "b-x/", 9) +
                         changed("MODIFIED", "one", "b-x/", 10));
  CHECK(owned("one", 7, "a-"));
  CHECK_FALSE(owned("one", 8, "a-")); // by then it had gone
  CHECK(owned("one", 10, "b-"));
  // What happened while nobody listened may have been at any time.
  indexed.say(watch, gone_event());
  indexed.world.end(watch);
  watch = indexed.follow(20, {thing("one", "b-x/", 10), thing("two", "b-x/", 12)});
  CHECK(owned("two", 12, "a-"));
  CHECK_FALSE(owned("one", 12, "a-"));
  // Of so many, the eldest is forgotten.
  std::string changes;
  for (std::size_t i = 0; i < OwnerIndex::k_gone + 1; ++i) {
    const auto name = fmt::format("n{}", i);
    changes += changed("ADDED", name, "c-/", 21) + changed("MODIFIED", name, "d-/", 22);
  }
  indexed.say(watch, changes);
  CHECK_FALSE(owned("n0", 20, "c-"));
  CHECK(owned(fmt::format("n{}", OwnerIndex::k_gone), 20, "c-"));
}

TEST_CASE("what cannot be followed is not known, and then it is read anew") {
  Indexed indexed;
  CHECK(indexed.names("a-") == "?");
  auto watch = indexed.follow(7, {thing("one", "a-x/", 3), thing("two", "a-x/", 4)});
  CHECK(indexed.names("a-") == "one two ");
  indexed.world.end(watch); // in order: what happens until the next one is open is not known
  watch = indexed.world.next_watch();
  CHECK(indexed.names("a-") == "?");
  indexed.world.answer(watch, 200);
  indexed.world.settle();
  CHECK(indexed.names("a-") == "one two ");
  indexed.say(watch, gone_event());
  CHECK(indexed.names("a-") == "?");
  CHECK(indexed.index->known()); // as it was heard last
  CHECK(indexed.index->owner_of("two").value_or("?") == "a-x/");
  indexed.world.end(watch);

  // A list that breaks leaves nothing behind.
  auto list = indexed.world.next_list();
  indexed.world.answer(list, 200);
  indexed.world.say(list, R"({"kind":"L","metadata":{"resourceVersion":"8"},"items":[)" +
                              thing("gone", "a-x/", 8) + ",");
  indexed.world.fail(list);
  watch = indexed.follow(9, {thing("two", "a-x/", 4)});
  CHECK(indexed.names("a-") == "two ");
  CHECK(indexed.index->size() == 1);
  CHECK(indexed.index->owner_of("one").value_or("?") == "a-x/"); // until it was read anew
}

TEST_CASE("an owner that the metadata tells is read from it alone") {
  Indexed indexed(OwnerIndex::Reads::metadata, [](std::string_view object) {
    const auto tree = translate::JsonTree::parse(object);
    return tree ? tree->root()["metadata"]["labels"]["owner"].string() : "";
  });
  CHECK(indexed.names("a") == "?");
  const auto list = indexed.world.next_list();
  CHECK(list->head.headers.get("accept").find("PartialObjectMetadataList") != std::string::npos);
  indexed.world.list(
      list, 7, {R"({"metadata":{"name":"one","resourceVersion":"3","labels":{"owner":"a"}}})"});
  const auto watch = indexed.world.next_watch();
  CHECK(watch->head.headers.get("accept").find("PartialObjectMetadata") != std::string::npos);
  indexed.world.answer(watch, 200);
  indexed.world.settle();
  CHECK(indexed.names("a") == "one ");
  CHECK(indexed.names("b") == "");
}

TEST_CASE("of whom somebody writes for nothing is said until it is over") {
  Indexed indexed;
  CHECK(indexed.names("a-") == "?");
  indexed.follow(7, {thing("one", "a-x/", 3), thing("two", "b-x/", 4)});
  CHECK(indexed.names("a-") == "one ");
  indexed.index->expect_write("a-");
  CHECK(indexed.names("a-") == "?");
  CHECK(indexed.names("b-") == "two ");
  indexed.index->expect_write("a-", std::chrono::milliseconds(0)); // another one is no shorter
  CHECK(indexed.names("a-") == "?");
  indexed.index->expect_write("b-", std::chrono::milliseconds(0));
  CHECK(indexed.names("b-") == "two ");
}

TEST_CASE("a moment is all of some owners as of a resourceVersion") {
  Indexed indexed;
  const auto moment = [&](const std::vector<std::string>& owners, std::size_t most = 8) {
    const auto found = indexed.index->moment_of(owners, most);
    if (!found) return std::string("?");
    auto out = std::to_string(found->revision);
    for (const auto& name : found->names)
      out += ' ' + name;
    return out;
  };
  CHECK(moment({"a/"}) == "?");
  auto watch = indexed.follow(7, {thing("one", "a/", 3), thing("two", "b/", 4)});
  CHECK(moment({"a/"}) == "7 one");
  CHECK(moment({"a/", "b/"}) == "7 one two");
  CHECK(moment({}) == "7");
  indexed.say(watch, changed("ADDED", "three", "a/", 9));
  CHECK(moment({"a/"}) == "9 one three");
  CHECK(moment({"a/"}, 1) == "?"); // more than that
  indexed.say(watch, changed("BOOKMARK", "", "", 12));
  CHECK(moment({"a/"}) == "12 one three");
  indexed.say(watch, changed("DELETED", "one", "a/", 13));
  CHECK(moment({"a/", "b/"}) == "13 three two");

  indexed.world.end(watch); // what happens until the next one is open is not known
  watch = indexed.world.next_watch();
  CHECK(WatchWorld::param(watch, "resourceVersion") == "13");
  CHECK(moment({"a/"}) == "?");
  indexed.world.answer(watch, 200);
  indexed.world.settle();
  CHECK(moment({"a/"}) == "13 three");
  indexed.say(watch, gone_event());
  indexed.world.end(watch);
  indexed.follow(21, {thing("four", "a/", 20)});
  CHECK(moment({"a/"}) == "21 four");
}
