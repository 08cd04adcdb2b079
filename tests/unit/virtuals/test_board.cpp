// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/virtuals/world.hpp"

#include <thread>

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;

TEST_CASE("the past can be read as far as it is known") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("a")));
  const auto first = world.board->revision();
  world.ok(world.request(flows(), "create", "", flow("b")));
  must(world.perform(world.request(flows(), "delete", "a")));
  const auto set = world.board->read(world.owner, flows()).set;
  const auto then = set->at(first);
  REQUIRE(then);
  CHECK(then->size() == 1);
  CHECK(then->contains("a"));
  CHECK_FALSE(set->at(set->floor - 1));

  // The events say what was before and what is after.
  REQUIRE(set->recent.size() >= 3);
  CHECK_FALSE(set->recent.front().before);
  const auto& last = set->recent.back();
  REQUIRE(last.last);
  CHECK_FALSE(last.after);
  CHECK(last.last->revision == last.revision);
}

TEST_CASE("old events are forgotten, and the floor says so") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("a")));
  const auto begun = world.board->revision();
  for (std::size_t i = 0; i < virtuals::Board::k_events + 5; ++i) {
    auto request = world.request(flows(), "patch", "a",
                                 {{"metadata", {{"annotations", {{"n", std::to_string(i)}}}}}});
    request.format = translate::BodyFormat::merge_patch;
    world.ok(request);
  }
  const auto set = world.board->read(world.owner, flows()).set;
  CHECK(set->recent.size() == virtuals::Board::k_events);
  CHECK(set->floor > begun);
}

TEST_CASE("large events are forgotten sooner") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("a")));
  const std::string filling(200'000, 'x');
  for (std::size_t i = 0; i < 30; ++i) {
    auto request = world.request(
        flows(), "patch", "a",
        {{"metadata", {{"annotations", {{"n", std::to_string(i)}, {"filling", filling}}}}}});
    request.format = translate::BodyFormat::merge_patch;
    world.ok(request);
  }
  const auto set = world.board->read(world.owner, flows()).set;
  CHECK(set->recent_bytes <= virtuals::Board::k_event_bytes);
  CHECK(set->recent_bytes > virtuals::Board::k_event_bytes / 2);
  CHECK(set->recent.size() < 15);
  std::size_t bytes = 0;
  for (const auto& each : set->recent)
    bytes += each.bytes();
  CHECK(bytes == set->recent_bytes);
}

TEST_CASE("a restart keeps the objects, tenants do not see each other's") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("a")));
  virtuals::Owner again{"foofoo", "uid-2"}; // the same ID, another tenant
  CHECK(world.board->read(again, flows()).set->objects.empty());
  CHECK(world.board->read(world.owner, levels()).set->objects.empty());

  auto second = must(virtuals::Board::start(*world.store, [](const auto&) { return true; }));
  const auto reading = second->read(world.owner, flows());
  REQUIRE(reading.set->objects.contains("a"));
  CHECK(reading.set->objects.at("a")->json ==
        world.board->read(world.owner, flows()).set->objects.at("a")->json);
  CHECK(reading.set->floor <= reading.revision);
}

TEST_CASE("a sweep takes everything of one tenant, and the board forgets it") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("a")));
  world.ok(world.request(levels(), "create", "", object_of(levels(), "l", {{"type", "Exempt"}})));
  auto other = world.request(flows(), "create", "", flow("a"));
  other.owner = {"barbar", "uid-9"};
  world.ok(other);
  REQUIRE(virtuals::sweep(*world.store, world.owner));
  CHECK(must(world.store->list(virtuals::k_record_kind)).records.size() == 1);
  const auto revision = must(world.store->revision());
  CHECK(world.board->wait_for(revision, std::chrono::seconds(30)));
  CHECK(world.board->read(world.owner, flows()).set->objects.empty());
  CHECK(world.board->read(other.owner, flows()).set->objects.size() == 1);
}

TEST_CASE("who subscribes hears of its own kind's changes until it ends") {
  World world;
  std::atomic<int> heard{0};
  auto subscription = world.board->subscribe(world.owner, flows(), [&] { ++heard; });
  world.ok(world.request(levels(), "create", "", object_of(levels(), "l", {{"type", "Exempt"}})));
  world.ok(world.request(flows(), "create", "", flow("a")));
  for (int i = 0; heard == 0 && i < 30'000; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(heard == 1);
  subscription.reset();
  must(world.perform(world.request(flows(), "delete", "a")));
  CHECK(heard == 1);
}

TEST_CASE("selectors select") {
  auto body = flow("a");
  body["metadata"]["labels"] = {{"tier", "web"}, {"n", "5"}};
  const auto object = virtuals::make_object(flows(), body, 3);
  struct Row {
    const char *labels, *fields;
    bool matches;
  };
  const Row rows[] = {
      {"", "", true},
      {"tier=web", "", true},
      {"tier!=web", "", false},
      {"tier in (db,web)", "", true},
      {"tier notin (db)", "", true},
      {"other notin (db)", "", true},
      {"other", "", false},
      {"!other", "", true},
      {"n>4", "", true},
      {"n<5", "", false},
      {"", "metadata.name=a", true},
      {"", "metadata.name!=a", false},
      {"tier=web", "metadata.name=b", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.labels);
    CAPTURE(row.fields);
    CHECK(must(virtuals::Selection::parse(flows(), row.labels, row.fields)).matches(*object) ==
          row.matches);
  }
  CHECK(virtuals::Selection::parse(flows(), "", "spec.x=1").error().code() == Code::bad_request);
}

TEST_CASE("an object is written whole, as metadata, and as a row") {
  auto body = flow("a", "lev\"el");
  body["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
  const auto object = virtuals::make_object(flows(), body, 3);
  std::string out;
  virtuals::write_object(*object, virtuals::Shape::object, 0, out);
  CHECK(json::parse(out)["metadata"]["resourceVersion"] == "3");
  out.clear();
  virtuals::write_object(*object, virtuals::Shape::partial, 0, out);
  CHECK(json::parse(out)["kind"] == "PartialObjectMetadata");
  CHECK_FALSE(json::parse(out).contains("spec"));
  out.clear();
  virtuals::write_object(*object, virtuals::Shape::table_metadata, object->created + 90, out);
  const auto row = json::parse(out);
  CHECK(row["cells"] == json({"a", "lev\"el", "<none>", "<none>", "90s", "?"}));
  CHECK(row["cells"].size() == json::parse(flows().columns).size());
}

TEST_CASE("a row of nothing but a version has a cell for each column") {
  for (const auto& [group, resource] :
       {std::pair("flowcontrol.apiserver.k8s.io", "flowschemas"),
        std::pair("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        std::pair("apiregistration.k8s.io", "apiservices"), std::pair("", "componentstatuses"),
        std::pair("", "nodes"), std::pair("storage.k8s.io", "csinodes"),
        std::pair("storage.k8s.io", "csidrivers"), std::pair("storage.k8s.io", "volumeattachments"),
        std::pair("networking.k8s.io", "ipaddresses"),
        std::pair("networking.k8s.io", "servicecidrs")}) {
    CAPTURE(resource);
    const auto* kind = virtuals::find_kind(group, resource);
    REQUIRE(kind != nullptr);
    const auto mark = virtuals::make_mark(*kind, 7, true);
    std::string out;
    virtuals::write_object(*mark, virtuals::Shape::table_metadata, 0, out);
    const auto row = json::parse(out, nullptr, false);
    REQUIRE_FALSE(row.is_discarded());
    // Upstream prints a cell more than it has columns of an IPAddress.
    const std::size_t more = kind->resource == "ipaddresses" ? 1 : 0;
    CHECK(row["cells"].size() == json::parse(kind->columns).size() + more);
    CHECK(row["cells"][0] == "");
    CHECK(row["object"]["metadata"]["resourceVersion"] == "7");
  }
}
