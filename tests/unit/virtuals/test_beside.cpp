// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/virtuals/world.hpp"

#include <vector>

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;

namespace {

std::string version(const json& object) { return object["metadata"]["resourceVersion"]; }

json node(const std::string& name, bool unschedulable = false) {
  return object_of(nodes(), name, {{"unschedulable", unschedulable}});
}

} // namespace

TEST_CASE("what stands beside upstream's objects has revisions of upstream's") {
  World world;
  auto made = world.ok(world.request(nodes(), "create", "", node("a")));
  CHECK(version(made) == "7010");
  CHECK_FALSE(made["metadata"].contains("generation"));
  auto next = made;
  next["metadata"]["labels"] = {{"x", "1"}};
  CHECK(version(world.ok(world.request(nodes(), "update", "a", next))) == "7020");

  const auto stale = world.perform(world.request(nodes(), "update", "a", made));
  REQUIRE_FALSE(stale);
  CHECK(stale.error().code() == Code::conflict);
  // What changes nothing takes no revision.
  const auto read = world.board->read(world.owner, nodes()).set->objects.at("a");
  CHECK(version(world.ok(world.request(nodes(), "update", "a", json::parse(read->json)))) ==
        "7020");
  CHECK(world.upstream_revision == 7'020);
}

TEST_CASE("a removal has a revision too, and a restart remembers it") {
  World world;
  world.ok(world.request(nodes(), "create", "", node("a")));  // 7010
  world.ok(world.request(nodes(), "create", "", node("b")));  // 7020
  must(world.perform(world.request(nodes(), "delete", "a"))); // 7030
  const auto set = world.board->read(world.owner, nodes()).set;
  CHECK(set->objects.size() == 1);
  REQUIRE(set->recent.size() == 3);
  const auto& last = set->recent.back();
  CHECK(last.revision == 7'030);
  REQUIRE(last.last);
  CHECK(version(json::parse(last.last->json)) == "7030");
  CHECK_FALSE(json::parse(last.last->json).contains(virtuals::k_grave));
  CHECK(set->at(7'020)->contains("a"));
  CHECK_FALSE(set->at(7'015)->contains("b"));

  auto again = must(virtuals::Board::start(*world.store, [](const auto&) { return true; }));
  const auto after = again->read(world.owner, nodes()).set;
  CHECK(after->objects.size() == 1);
  CHECK(after->floor == 7'030);
  CHECK_FALSE(after->at(7'025));
  CHECK(after->at(7'030)->contains("b"));
}

TEST_CASE("of removals the last one is remembered, and a name can be used again") {
  World world;
  for (const auto* name : {"a", "b", "c"}) {
    world.ok(world.request(nodes(), "create", "", node(name)));
    must(world.perform(world.request(nodes(), "delete", name)));
  }
  CHECK(must(world.store->list(virtuals::k_record_kind)).records.size() == 1);
  const auto missing = world.perform(world.request(nodes(), "delete", "c"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code() == Code::not_found);
  world.ok(world.request(nodes(), "create", "", node("c")));
  CHECK(world.board->read(world.owner, nodes()).set->objects.contains("c"));
  const auto twice = world.perform(world.request(nodes(), "create", "", node("c")));
  REQUIRE_FALSE(twice);
  CHECK(twice.error().code() == Code::already_exists);
}

TEST_CASE("a set is not settled while a revision is being taken for it") {
  World world;
  CHECK(world.board->read(world.owner, nodes()).settled);
  {
    const virtuals::Board::Writing writing(*world.board, world.owner, nodes());
    CHECK_FALSE(world.board->read(world.owner, nodes()).settled);
    CHECK(world.board->read(world.owner, flows()).settled);
  }
  CHECK(world.board->read(world.owner, nodes()).settled);
}

TEST_CASE("what an update may not change") {
  World world;
  const auto* attachments = virtuals::find_kind("storage.k8s.io", "volumeattachments");
  auto made = world.ok(world.request(*attachments, "create", "",
                                     object_of(*attachments, "a", {{"attacher", "example.com"}})));
  made["spec"]["attacher"] = "another.example.com";
  const auto refused = world.perform(world.request(*attachments, "update", "a", made));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::invalid);
}

TEST_CASE("nodes can be chosen by whether pods may go there") {
  World world;
  world.ok(world.request(nodes(), "create", "", node("a", true)));
  const auto object = world.board->read(world.owner, nodes()).set->objects.at("a");
  const auto parse = [](std::string_view fields) {
    return must(virtuals::Selection::parse(nodes(), "", fields));
  };
  CHECK(parse("spec.unschedulable=true").matches(*object));
  CHECK_FALSE(parse("spec.unschedulable=false").matches(*object));
  CHECK_FALSE(virtuals::Selection::parse(flows(), "", "spec.unschedulable=true"));
}

TEST_CASE("rows as Kubernetes prints them") {
  const auto cells = [](const virtuals::Kind& kind, const json& object) {
    return virtuals::cells_of(kind, object).dump();
  };
  auto one = node("a", true);
  one["metadata"]["labels"] = {{"node-role.kubernetes.io/worker", ""}};
  one["status"] = {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}},
                   {"nodeInfo", {{"kubeletVersion", "v1"}, {"architecture", "arm"}}}};
  CHECK(cells(nodes(), one) == R"(["a","Ready,SchedulingDisabled","worker",null,"v1","<none>",)"
                               R"x("<none>","<unknown>","<unknown> (arm)","<unknown>"])x");
  const auto* addresses = virtuals::find_kind("networking.k8s.io", "ipaddresses");
  CHECK(cells(*addresses, object_of(*addresses, "192.0.2.1",
                                    {{"parentRef",
                                      {{"group", "g.example"},
                                       {"resource", "things"},
                                       {"namespace", "foo"},
                                       {"name", "bar"}}}})) ==
        R"(["192.0.2.1","things.g.example/foo/bar",null])");
}

TEST_CASE(
    "a revision that another zood was first with is taken anew, so that none is told backwards") {
  World world;
  const auto order = virtuals::record_key(world.owner, nodes(), "");
  int others = 2; // times that another zood's write comes between
  virtuals::Engine engine(virtuals::EngineParts{
      *world.store, *world.board, [&] { return world.validate; },
      [](const virtuals::Owner&) { return true; },
      [&]() -> Result<std::int64_t> {
        const auto revision = world.upstream_revision += 10;
        if (others-- > 0)
          must(world.store->put(virtuals::k_order_kind, order, std::to_string(revision + 5)));
        return revision;
      }});
  const auto made =
      must(engine.perform(world.validate, world.request(nodes(), "create", "", node("a"))));
  CHECK(version(json::parse(made.object->json)) == "7030");
  CHECK(must(world.store->get(virtuals::k_order_kind, order)).value == "7030");
  // The object's own precondition is told as what it is.
  const auto again =
      engine.perform(world.validate, world.request(nodes(), "create", "", node("a")));
  REQUIRE_FALSE(again);
  CHECK(again.error().code() == Code::already_exists);
  others = 1'000;
  const auto never =
      engine.perform(world.validate, world.request(nodes(), "create", "", node("b")));
  REQUIRE_FALSE(never);
  CHECK(never.error().code() == Code::too_many_requests);
  REQUIRE(virtuals::sweep(*world.store, world.owner));
  CHECK(must(world.store->list(virtuals::k_order_kind)).records.empty());
}
