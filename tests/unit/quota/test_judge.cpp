// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/judge.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::quota;
using kube::Quantity;
using Kind = Judge::Verdict::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

ResourceList pods(std::int64_t count) { return {{"pods", Quantity::of(count)}}; }

Cost pod() {
  Cost out;
  out.all = {{"pods", Quantity::of(1)}, {"count/pods", Quantity::of(1)}};
  out.facts.kind = ScopeFacts::Kind::pod;
  return out;
}

/// An account of two spaces, whose API servers show all slices, and a clock.
struct World {
  Judge::Time now{seconds(1'000)};
  Judge judge{now};
  std::int64_t revision = 1;

  explicit World(std::int64_t limit, std::size_t servers = 1) {
    set_limit(limit);
    judge.set_known({"pods"});
    judge.set_servers(std::vector<bool>(servers, true), now);
    pass(seconds(6)); // what was let in before it began is over
  }
  void set_limit(std::int64_t limit) {
    Limit one;
    one.hard = pods(limit);
    one.from = {{"pods", "small"}};
    one.slice_name = "zoo-quota";
    judge.set_owner("team", {"account team", {one}, {"a", "b"}}, now);
  }
  void pass(Judge::Clock::duration time) {
    now += time;
    judge.tick(now, {});
  }
  Slice slice(std::int64_t hard, std::int64_t used) {
    Slice out;
    out.spec = out.hard = pods(hard);
    out.used = pods(used);
    return out;
  }
  void shows(std::size_t server, const std::string& space, std::int64_t hard, std::int64_t used) {
    judge.slice_seen(server, space, "zoo-quota", ++revision, slice(hard, used), now);
  }
  Judge::Ask ask_of(const std::string& space, const std::string& name, bool dry_run = false) {
    return {space, "pods/" + name, "uid-" + name, pod(), dry_run};
  }
  Judge::Verdict ask(const std::string& space, const std::string& name, bool dry_run = false) {
    return judge.ask(ask_of(space, name, dry_run), now);
  }
  void seen(const std::string& space, const std::string& name) {
    judge.seen(space, "pods/" + name, "uid-" + name, pod(), now);
  }
  void gone(const std::string& space, const std::string& name) {
    judge.gone(space, "pods/" + name, "uid-" + name, now);
  }
};

} // namespace

TEST_CASE("N13: what is let in is reserved at once, and the limit is that of all spaces") {
  World world(3);
  world.shows(0, "a", 3, 0);
  world.shows(0, "b", 0, 0);
  world.pass(milliseconds(20));
  CHECK(world.ask("a", "one").kind == Kind::allow);
  CHECK(world.ask("a", "two").kind == Kind::allow);
  world.seen("a", "one");
  CHECK(world.ask("b", "three").kind == Kind::wait); // for room that a has
  const auto verdict = world.ask("a", "four");
  CHECK(verdict.kind == Kind::deny);
  CHECK(verdict.text == "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3 "
                        "(account team: a pods=2, b pods=1)");
}

TEST_CASE("who asks twice is asked about once") {
  World world(2);
  world.shows(0, "a", 2, 0);
  world.pass(milliseconds(20));
  CHECK(world.ask("a", "one").kind == Kind::allow);
  CHECK(world.ask("a", "one").kind == Kind::allow); // upstream tries again
  // Another object of that name: one of them will not come to be.
  Judge::Ask again{"a", "pods/one", "uid-other", pod()};
  CHECK(world.judge.ask(again, world.now).kind != Kind::deny);
  CHECK(world.ask("a", "two").kind != Kind::deny);
  CHECK(world.ask("a", "three").kind == Kind::deny);
}

TEST_CASE("a dry run costs nothing, and is refused as in earnest") {
  World world(1);
  world.shows(0, "a", 1, 0);
  world.shows(0, "b", 0, 0);
  world.pass(milliseconds(20));
  CHECK(world.ask("a", "one", true).kind == Kind::allow);
  CHECK(world.judge.reserved() == 0);
  CHECK(world.ask("b", "one", true).kind == Kind::wait); // for room, as in earnest
  world.judge.let_in(world.ask_of("b", "one", true), world.now);
  CHECK(world.judge.reserved() == 0);
  CHECK(world.ask("a", "two").kind == Kind::allow);
  CHECK(world.ask("a", "one", true).kind == Kind::deny);
}

TEST_CASE("what was let in counts until it is seen, and is forgotten if it never is") {
  World world(1);
  world.shows(0, "a", 1, 0);
  world.pass(milliseconds(20));
  CHECK(world.ask("a", "one").kind == Kind::allow);
  world.pass(seconds(2));
  const auto verdict = world.ask("a", "two");
  CHECK(verdict.kind == Kind::deny);
  CHECK(verdict.doubtful);
  const auto doubts = world.judge.doubts("team", seconds(1), world.now);
  REQUIRE(doubts.size() == 1);
  CHECK(doubts.front().key == "pods/one");
  world.judge.dismiss(doubts.front(), world.now);
  CHECK(world.ask("a", "two").kind == Kind::allow);
  world.pass(seconds(6));
  CHECK(world.judge.reserved() == 0);
  CHECK(world.ask("a", "three").kind == Kind::allow);
  world.seen("a", "three");
  world.pass(seconds(6));
  CHECK(world.ask("a", "four").kind == Kind::deny);
  world.gone("a", "three");
  CHECK(world.ask("a", "four").kind != Kind::deny);
}

TEST_CASE("room counts when every server shows it, and a moment later") {
  World world(10, 2);
  world.shows(0, "a", 1, 1);
  world.shows(1, "a", 1, 1);
  world.seen("a", "one");
  world.pass(milliseconds(20));
  CHECK(world.ask("a", "two").kind == Kind::wait);
  const auto two = world.ask_of("a", "two");
  world.shows(0, "a", 4, 1);
  world.pass(milliseconds(20));
  CHECK(!world.judge.has_room(two, world.now));
  world.shows(1, "a", 4, 1);
  CHECK(!world.judge.has_room(two, world.now));
  world.pass(milliseconds(11));
  CHECK(world.judge.has_room(two, world.now));
  // A slice that shrinks counts at once, whoever has seen it.
  CHECK(world.judge.lowering("a", "zoo-quota", pods(2)));
  CHECK(world.ask("a", "three").kind == Kind::wait);
}

TEST_CASE("a slice is not lowered below what was let in meanwhile") {
  World world(10);
  world.shows(0, "a", 5, 0);
  world.pass(milliseconds(20));
  for (const auto* name : {"one", "two", "three"})
    CHECK(world.ask("a", name).kind == Kind::allow);
  CHECK(!world.judge.lowering("a", "zoo-quota", pods(2)));
  CHECK(world.judge.lowering("a", "zoo-quota", pods(3)));
  CHECK(world.ask("a", "four").kind == Kind::wait);
  world.judge.settle("a", "zoo-quota", world.now); // the write has failed: it is as it was
  world.pass(milliseconds(20));
  CHECK(world.judge.has_room(world.ask_of("a", "four"), world.now));
}

TEST_CASE("room that was about to count does not while the slice is being lowered") {
  World world(10);
  world.shows(0, "a", 3, 0);
  world.pass(milliseconds(20));
  world.shows(0, "a", 6, 0); // counts in a moment
  CHECK(world.judge.lowering("a", "zoo-quota", pods(2)));
  world.pass(milliseconds(20));
  for (const auto* name : {"one", "two"})
    CHECK(world.ask("a", name).kind == Kind::allow);
  CHECK(world.ask("a", "three").kind == Kind::wait);
  world.judge.settle("a", "zoo-quota", world.now); // the write has failed: it is as it was
  world.pass(milliseconds(20));
  CHECK(world.judge.has_room(world.ask_of("a", "three"), world.now));
}

TEST_CASE("an owner without limits has no spaces, and one that loses a space keeps the others") {
  World world(0);
  CHECK(world.judge.owner_of("b") == "team");
  Limit limit;
  limit.hard = pods(1);
  limit.slice_name = "zoo-quota";
  world.judge.set_owner("team", {"account team", {limit}, {"a"}}, world.now);
  CHECK(world.judge.owner_of("a") == "team");
  CHECK(world.judge.owner_of("b").empty());
  world.judge.set_owner("other", {"account other", {limit}, {"a"}}, world.now);
  world.judge.set_owner("team", {}, world.now);
  CHECK(world.judge.owner("team") == nullptr);
  CHECK(world.judge.owner_of("a") == "other");
}

TEST_CASE("what was deleted is charged until upstream counts again") {
  World world(10);
  world.shows(0, "a", 2, 2);
  world.seen("a", "one");
  world.seen("a", "two");
  world.pass(milliseconds(20));
  world.gone("a", "one");
  CHECK(world.ask("a", "three").kind == Kind::wait);
  world.shows(0, "a", 2, 1);
  world.pass(milliseconds(20));
  CHECK(world.judge.has_room(world.ask_of("a", "three"), world.now));
}

TEST_CASE("a fall of `used` beside a rise frees what was deleted, too") {
  World world(10, 2);
  const auto both = [&](std::int64_t hard, std::int64_t used) {
    for (const std::size_t server : {0, 1})
      world.shows(server, "a", hard, used);
  };
  both(3, 2);
  world.seen("a", "one");
  world.seen("a", "two");
  world.pass(milliseconds(20));
  for (int i = 0; i < 20; ++i) {
    const auto old = i == 0 ? std::string("one") : "next" + std::to_string(i - 1);
    const auto next = "next" + std::to_string(i);
    world.gone("a", old);
    both(3, 1); // upstream has counted anew, and charges the next one before that counts here
    REQUIRE(world.judge.ask(world.ask_of("a", next), world.now).kind == Kind::allow);
    both(3, 2);
    world.seen("a", next);
    world.pass(milliseconds(20));
  }
  CHECK(world.ask("a", "three").kind == Kind::allow);
}

TEST_CASE("of what was deleted long ago no more is charged than `used` has beyond what is there") {
  World world(10);
  world.shows(0, "a", 2, 1);
  world.seen("a", "one");
  world.pass(milliseconds(20));
  world.seen("a", "two"); // its charge came and went unseen
  world.gone("a", "two");
  CHECK(world.ask("a", "three", true).kind == Kind::wait);
  world.judge.drop(world.ask_of("a", "three", true), world.now);
  world.pass(milliseconds(800));
  CHECK(world.ask("a", "three", true).kind == Kind::allow);
}

TEST_CASE("what was deleted long ago grows old while others come and go") {
  World world(10);
  world.shows(0, "a", 2, 1);
  world.seen("a", "one");
  world.pass(milliseconds(20));
  world.seen("a", "two"); // its charge came and went unseen
  world.gone("a", "two");
  for (int i = 0; i < 4; ++i) {
    const auto next = "next" + std::to_string(i);
    world.shows(0, "a", 2, 2);
    world.seen("a", next);
    world.pass(milliseconds(180));
    world.gone("a", next);
    world.shows(0, "a", 2, 1);
    world.pass(milliseconds(20));
  }
  CHECK(world.ask("a", "three", true).kind == Kind::allow);
}

TEST_CASE("a `used` that stays wrong is put right") {
  World world(10);
  for (const auto* name : {"one", "two", "three"})
    world.seen("a", name);
  world.shows(0, "a", 5, 3);
  CHECK(!world.judge.repair("a", "zoo-quota", world.now));
  world.shows(0, "a", 5, 2); // a recount has lost one
  CHECK(!world.judge.repair("a", "zoo-quota", world.now));
  world.pass(milliseconds(150));
  auto used = world.judge.repair("a", "zoo-quota", world.now);
  REQUIRE(used);
  CHECK(used->at("pods") == Quantity::of(3));
  world.shows(0, "a", 5, 4); // one was charged and never stored
  world.pass(milliseconds(150));
  CHECK(!world.judge.repair("a", "zoo-quota", world.now));
  world.pass(milliseconds(2'000));
  used = world.judge.repair("a", "zoo-quota", world.now);
  REQUIRE(used);
  CHECK(used->at("pods") == Quantity::of(3));
}

TEST_CASE("who was let in late makes no slice fuller than full") {
  World world(10);
  for (const auto* name : {"one", "two"})
    world.seen("a", name);
  world.shows(0, "a", 3, 2);
  world.pass(milliseconds(20));
  for (const auto* name : {"three", "four", "five"}) {
    const auto ask = world.ask_of("a", name);
    world.judge.ask(ask, world.now);
    world.judge.let_in(ask, world.now); // the time is over: the slice decides
  }
  world.shows(0, "a", 3, 1);
  world.pass(milliseconds(150));
  const auto used = world.judge.repair("a", "zoo-quota", world.now);
  REQUIRE(used);
  CHECK(used->at("pods") == Quantity::of(3));
}

TEST_CASE("a zood that has just begun believes the slices, too") {
  World world(3);
  Judge judge(world.now);
  Limit limit;
  limit.hard = pods(3);
  limit.slice_name = "zoo-quota";
  judge.set_owner("team", {"account team", {limit}, {"a", "b"}}, world.now);
  judge.set_known({"pods"});
  judge.set_servers({true}, world.now);
  judge.slice_seen(0, "a", "zoo-quota", 1, world.slice(3, 3), world.now);
  judge.slice_seen(0, "b", "zoo-quota", 2, world.slice(0, 0), world.now);
  CHECK(judge.ask(world.ask_of("b", "one"), world.now).kind == Kind::deny);
  world.now += seconds(6);
  judge.tick(world.now, {});
  CHECK(judge.ask(world.ask_of("b", "one"), world.now).kind == Kind::wait);
}

TEST_CASE("the limit holds for what is counted, and for nobody else") {
  World world(0);
  CHECK(world.ask("elsewhere", "one").kind == Kind::allow);
  Judge::Ask map{"a", "configmaps/m", "uid", {}};
  map.cost.all = {{"configmaps", Quantity::of(1)}};
  CHECK(world.judge.ask(map, world.now).kind == Kind::allow);
  CHECK(world.ask("a", "one").kind == Kind::deny);
  world.judge.set_owner("team", {}, world.now);
  CHECK(world.ask("a", "one").kind == Kind::allow);
}

TEST_CASE("names tell the kind that they count") {
  CHECK(kind_of_name("requests.cpu") == "pods");
  CHECK(kind_of_name("count/deployments.apps") == "deployments.apps");
  CHECK(kind_of_name("count/pods") == "pods");
  CHECK(kind_of_name("services.nodeports") == "services");
  CHECK(kind_of_name("gold.storageclass.storage.k8s.io/requests.storage") ==
        "persistentvolumeclaims");
  CHECK(kind_of_name("secrets") == "secrets");
}

// ---- two owners

namespace {

/// Namespaces "foofoo-a" and "foofoo-b" of tenant foofoo, whose own limit is `own` pods, and with
/// space "web" account team's, whose limit is `shared`.
struct TwoOwners {
  TwoOwners(int own, int shared) {
    const auto limit_to = [](int pods, std::string_view slice, const char* quota) {
      Limit out;
      out.hard = {{"pods", kube::Quantity::of(pods)}};
      out.from = {{"pods", quota}};
      out.slice_name = slice;
      return out;
    };
    const std::map<std::string, std::string, std::less<>> prefixes = {{"foofoo-a", "foofoo-"},
                                                                      {"foofoo-b", "foofoo-"}};
    judge.set_known({"pods"});
    judge.set_servers({true}, now);
    judge.set_owner("tenant/foofoo",
                    {"all namespaces",
                     {limit_to(own, k_tenant_slice, "tenant")},
                     {"foofoo-a", "foofoo-b"},
                     OwnerKind::tenant,
                     prefixes},
                    now);
    judge.set_owner("team",
                    {"account team",
                     {limit_to(shared, k_slice, "all")},
                     {"foofoo-a", "foofoo-b", "web"},
                     OwnerKind::account,
                     prefixes},
                    now);
    now += std::chrono::minutes(1); // what another zood has let in is forgotten
  }
  Judge::Verdict ask(const char* space, const char* pod) {
    Judge::Ask ask;
    ask.space = space;
    ask.key = std::string("pods/") + pod;
    ask.uid = std::string("u-") + pod;
    ask.cost.all = {{"pods", kube::Quantity::of(1)}};
    return judge.ask(ask, now);
  }
  Judge::Time now = Judge::Clock::now();
  Judge judge{now};
};

} // namespace

TEST_CASE("a namespace may have a tenant's limit and an account's, and both hold") {
  TwoOwners world(2, 3);
  CHECK(world.judge.owners_of("foofoo-a") == std::vector<std::string>{"team", "tenant/foofoo"});
  CHECK(world.judge.owners_of("web") == std::vector<std::string>{"team"});
  CHECK(world.ask("foofoo-a", "1").kind != Judge::Verdict::Kind::deny);
  CHECK(world.ask("foofoo-b", "2").kind != Judge::Verdict::Kind::deny);
  const auto own = world.ask("foofoo-a", "3");
  REQUIRE(own.kind == Judge::Verdict::Kind::deny);
  CHECK(own.owners == std::vector<std::string>{"tenant/foofoo"});
  CHECK(own.text == "exceeded quota: tenant, requested: pods=1, used: pods=2, limited: pods=2 (all "
                    "namespaces: a pods=1, b pods=1)");
  CHECK(world.ask("web", "4").kind != Judge::Verdict::Kind::deny);
  CHECK(world.ask("web", "5").kind == Judge::Verdict::Kind::deny);
}

TEST_CASE(
    "who is refused by an account's limit in a tenant's namespace hears of the tenant's alone") {
  TwoOwners world(9, 2);
  CHECK(world.ask("web", "1").kind != Judge::Verdict::Kind::deny);
  CHECK(world.ask("foofoo-a", "2").kind != Judge::Verdict::Kind::deny);
  CHECK(world.ask("foofoo-b", "3").text ==
        "exceeded quota: all, requested: pods=1, used: pods=2, limited: pods=2 (account team: a "
        "pods=1)");
  const auto beside = world.ask("web", "4").text;
  CHECK(beside.find("foofoo-a pods=1") != std::string::npos);
  CHECK(beside.find("web pods=1") != std::string::npos);
}

TEST_CASE("an owner that goes leaves the other one's limit and its counts") {
  TwoOwners world(2, 2);
  CHECK(world.ask("foofoo-a", "1").kind != Judge::Verdict::Kind::deny);
  world.judge.set_owner("team", {}, world.now);
  CHECK(world.judge.owners_of("foofoo-a") == std::vector<std::string>{"tenant/foofoo"});
  CHECK(world.ask("foofoo-b", "2").kind != Judge::Verdict::Kind::deny);
  CHECK(world.ask("foofoo-b", "3").kind == Judge::Verdict::Kind::deny);
  const auto count = world.judge.count("tenant/foofoo", std::string(k_tenant_slice));
  REQUIRE(count.size() == 2);
  CHECK(count[0].asked.at("pods") == kube::Quantity::of(1));
}

TEST_CASE("of an object's end and of a namespace no more is remembered than there is") {
  World world(3);
  const auto before = world.judge.remembered();
  const std::chrono::system_clock::time_point end{std::chrono::hours(24 * 365 * 100)};
  auto ends = pod();
  ends.ends = end;
  for (int i = 0; i < 1'000; ++i) // each event of a pod that is Terminating
    world.judge.seen("a", "pods/one", "uid-one", ends, world.now);
  CHECK(world.judge.remembered() == before + 1);
  for (int i = 0; i < 1'000; ++i) { // deleted by force, made again, and its end put off
    world.gone("a", "one");
    ends.ends = end + seconds(i);
    world.judge.seen("a", "pods/one", "uid-one", ends, world.now);
  }
  CHECK(world.judge.remembered() == before + 1);
  world.gone("a", "one");
  for (int i = 0; i < 1'000; ++i) { // namespaces that nobody owns come and go
    const auto space = "gone-" + std::to_string(i);
    world.judge.seen(space, "pods/one", "uid-one", pod(), world.now);
    world.judge.gone(space, "pods/one", "uid-one", world.now);
  }
  CHECK(world.judge.remembered() == before);
  world.judge.set_owner("team", {}, world.now); // which had two
  CHECK(world.judge.remembered() == 0);
}

TEST_CASE("a namespace with more in it than an owner has room for does not become his") {
  World world(3);
  for (const char* name : {"one", "two"})
    world.seen("a", name);
  world.seen("c", "one");
  CHECK(world.judge.no_room("team", "c", world.now).empty());
  CHECK(world.judge.no_room("nobody", "c", world.now).empty());
  world.seen("c", "two");
  CHECK(world.judge.no_room("team", "c", world.now) ==
        "exceeded quota: small, requested: pods=2, used: pods=2, limited: pods=3 (account team: a "
        "pods=2)");
  CHECK(world.judge.no_room("team", "a", world.now).empty()); // it is his already
}
