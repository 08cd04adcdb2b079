// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"
#include "tests/unit/virtuals/world.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;
using translate::BodyFormat;

namespace {

std::string condition(const json& object, const std::string& type) {
  for (const auto& each : object.value("/status/conditions"_json_pointer, json::array()))
    if (each["type"] == type) return each["status"];
  return "";
}

} // namespace

TEST_CASE("an object lives from create to delete as an API server has it") {
  World world;
  const auto made = world.ok(world.request(flows(), "create", "", flow("a")));
  CHECK(made["metadata"]["name"] == "a");
  CHECK(made["metadata"]["generation"] == 1);
  CHECK_FALSE(made["metadata"]["uid"].get<std::string>().empty());
  CHECK(made["spec"]["matchingPrecedence"] == 1000);
  CHECK(condition(made, "Dangling") == "False");
  // What was answered can be read.
  CHECK(world.board->read(world.owner, flows()).set->objects.contains("a"));
  CHECK(world.board->revision() >=
        std::stoll(made["metadata"]["resourceVersion"].get<std::string>()));

  const auto again = world.perform(world.request(flows(), "create", "", flow("a")));
  REQUIRE_FALSE(again);
  CHECK(again.error().code() == Code::already_exists);

  auto next = made;
  next["spec"]["matchingPrecedence"] = 7;
  next["status"] = {{"conditions", json::array()}};
  const auto updated = world.ok(world.request(flows(), "update", "a", next));
  CHECK(updated["metadata"]["generation"] == 2);
  CHECK(updated["metadata"]["uid"] == made["metadata"]["uid"]);
  CHECK(condition(updated, "Dangling") == "False"); // status is not the main resource's to write

  const auto stale = world.perform(world.request(flows(), "update", "a", next));
  REQUIRE_FALSE(stale);
  CHECK(stale.error().code() == Code::conflict);

  auto status = world.request(flows(), "update", "a", updated);
  status.status = true;
  auto body = updated;
  body["spec"]["matchingPrecedence"] = 9;
  body["status"]["conditions"].push_back({{"type", "Mine"}, {"status", "True"}});
  status.body = body.dump();
  const auto told = world.ok(status);
  CHECK(condition(told, "Mine") == "True");
  CHECK(told["spec"]["matchingPrecedence"] == 7);
  CHECK(told["metadata"]["generation"] == 2);

  const auto gone = must(world.perform(world.request(flows(), "delete", "a")));
  CHECK(json::parse(gone.body)["status"] == "Success");
  CHECK(world.board->read(world.owner, flows()).set->objects.empty());
  const auto missing = world.perform(world.request(flows(), "delete", "a"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code() == Code::not_found);
}

TEST_CASE("what changes nothing is not written") {
  World world;
  const auto made = world.ok(world.request(flows(), "create", "", flow("a")));
  CHECK(world.ok(world.request(flows(), "update", "a", made)) == made);
  auto apply = world.request(flows(), "patch", "a", flow("a"));
  apply.format = BodyFormat::apply_patch;
  const auto applied = world.ok(apply);
  CHECK(world.ok(apply) == applied);
}

TEST_CASE("each kind of patch does what it says") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("a")));
  const auto patch = [&](BodyFormat format, const json& body) {
    auto request = world.request(flows(), "patch", "a", body);
    request.format = format;
    return world.ok(request);
  };
  CHECK(patch(BodyFormat::merge_patch,
              {{"metadata", {{"labels", {{"x", "1"}}}}}})["metadata"]["labels"]["x"] == "1");
  CHECK(
      patch(BodyFormat::json_patch,
            json::parse(
                R"([{"op":"replace","path":"/metadata/labels/x","value":"2"}])"))["metadata"]
                                                                                 ["labels"]["x"] ==
      "2");
  CHECK(patch(BodyFormat::strategic_patch,
              {{"metadata", {{"finalizers", {"a.b/c"}}}}})["metadata"]["finalizers"]
            .size() == 1);
  CHECK(patch(BodyFormat::strategic_patch,
              {{"metadata", {{"finalizers", {"a.b/d"}}}}})["metadata"]["finalizers"]
            .size() == 2);
  auto applied = flow("a");
  applied["spec"]["matchingPrecedence"] = 5;
  auto request = world.request(flows(), "patch", "a", applied);
  request.format = BodyFormat::apply_patch;
  CHECK(world.perform(request).error().code() == Code::conflict); // it is another's field
  request.force = true;
  CHECK(world.ok(request)["spec"]["matchingPrecedence"] == 5);
  // An apply makes what is not there.
  auto fresh = world.request(flows(), "patch", "new", flow("new"));
  fresh.format = BodyFormat::apply_patch;
  CHECK(world.ok(fresh)["metadata"]["name"] == "new");
}

TEST_CASE("finalizers hold an object until the last one goes") {
  World world;
  auto body = flow("a");
  body["metadata"]["finalizers"] = {"a.b/c"};
  world.ok(world.request(flows(), "create", "", body));
  const auto going = world.ok(world.request(flows(), "delete", "a"));
  CHECK(going["metadata"].contains("deletionTimestamp"));
  auto more =
      world.request(flows(), "patch", "a", {{"metadata", {{"finalizers", {"a.b/c", "a.b/d"}}}}});
  more.format = BodyFormat::merge_patch;
  const auto refused = world.perform(more);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::invalid);
  auto last = world.request(flows(), "patch", "a", {{"metadata", {{"finalizers", nullptr}}}});
  last.format = BodyFormat::merge_patch;
  world.ok(last);
  CHECK(world.board->read(world.owner, flows()).set->objects.empty());
}

TEST_CASE("dry runs answer and leave nothing") {
  World world;
  auto request = world.request(flows(), "create", "", flow("a"));
  request.dry_run = true;
  CHECK(world.ok(request)["metadata"]["name"] == "a");
  CHECK(world.board->read(world.owner, flows()).set->objects.empty());
  world.ok(world.request(flows(), "create", "", flow("a")));
  must(world.perform(world.request(flows(), "delete", "a", {{"dryRun", {"All"}}})));
  CHECK(world.board->read(world.owner, flows()).set->objects.size() == 1);
}

TEST_CASE("what upstream refuses is refused in its words") {
  World world;
  auto body = flow("a");
  body.erase("spec");
  const auto answer = must(world.perform(world.request(flows(), "create", "", body)));
  CHECK(answer.status == 422);
  CHECK_FALSE(answer.object);
  CHECK(world.board->read(world.owner, flows()).set->objects.empty());
}

TEST_CASE("a FlowSchema says whether its level is there") {
  World world;
  CHECK(condition(world.ok(world.request(flows(), "create", "", flow("a", "mine"))), "Dangling") ==
        "True");
  world.ok(
      world.request(levels(), "create", "", object_of(levels(), "mine", {{"type", "Exempt"}})));
  const auto shown = [&] {
    return json::parse(world.board->read(world.owner, flows()).set->objects.at("a")->json);
  };
  CHECK(condition(shown(), "Dangling") == "False");
  must(world.perform(world.request(levels(), "delete", "mine")));
  CHECK(condition(shown(), "Dangling") == "True");
}

TEST_CASE("an APIService of a tenant's is kept if no server of its own is to answer") {
  World world;
  const json service = {{"name", "s"}, {"namespace", "n"}};
  auto body =
      object_of(services(), "v1.example.com", {{"group", "example.com"}, {"version", "v1"}});
  auto aggregated = body;
  aggregated["spec"]["service"] = service;
  const auto refused = world.perform(world.request(services(), "create", "", aggregated));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::forbidden);
  CHECK(refused.error().message().find("rule aggregated-apis") != std::string::npos);
  const auto answer = must(world.perform(world.request(services(), "create", "", body)));
  REQUIRE(answer.object);
  auto stored = json::parse(answer.object->json);
  CHECK(condition(stored, "Available") == "True");
  stored["spec"]["service"] = service;
  const auto changed = world.perform(world.request(services(), "update", "v1.example.com", stored));
  REQUIRE_FALSE(changed);
  CHECK(changed.error().code() == Code::forbidden);
  // This kind's strategy wants the version in an update.
  const auto blind = world.perform(world.request(services(), "update", "v1.example.com", body));
  REQUIRE_FALSE(blind);
  CHECK(blind.error().code() == Code::invalid);
}

TEST_CASE("what the platform provides is read-only and takes its name") {
  World world;
  const auto provided = std::vector{virtuals::make_object(flows(), flow("exempt"), 1)};
  for (const auto* verb : {"create", "update", "delete"}) {
    auto request = world.request(flows(), verb, std::string(verb) == "create" ? "" : "exempt",
                                 std::string(verb) == "delete" ? json() : flow("exempt"));
    request.provided = provided;
    const auto answer = world.perform(request);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code() ==
          (std::string(verb) == "create" ? Code::already_exists : Code::forbidden));
  }
}

TEST_CASE("deletecollection takes what its selectors match") {
  World world;
  for (const auto* name : {"a", "b", "c"}) {
    auto body = flow(name);
    if (std::string(name) != "c") body["metadata"]["labels"] = {{"x", "1"}};
    world.ok(world.request(flows(), "create", "", body));
  }
  auto request = world.request(flows(), "deletecollection", "");
  request.selection = must(virtuals::Selection::parse(flows(), "x=1", ""));
  SUBCASE("a part of it at a time, with a limit") {
    request.limit = 1;
    const auto first = must(world.perform(request));
    CHECK(first.collection.size() == 1);
    CHECK(first.next == "b");
    request.start = first.next;
  }
  const auto last = must(world.perform(request));
  CHECK(last.collection.size() == (request.limit == 1 ? 1 : 2));
  CHECK(last.next.empty());
  CHECK(world.board->read(world.owner, flows()).set->objects.size() == 1);
}

TEST_CASE("a tenant keeps so many and no more, and one that goes writes nothing") {
  World world;
  for (std::size_t i = 0; i < virtuals::k_max_objects; ++i)
    world.ok(world.request(flows(), "create", "", flow(fmt::format("f{}", i))));
  const auto more = world.perform(world.request(flows(), "create", "", flow("more")));
  REQUIRE_FALSE(more);
  CHECK(more.error().code() == Code::forbidden);
  CHECK(more.error().message().find("exceeded quota") != std::string::npos);
  auto large = flow("f0");
  large["metadata"]["annotations"] = {{"x", std::string(virtuals::k_max_object_bytes, 'x')}};
  const auto refused = world.perform(world.request(flows(), "update", "f0", large));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::too_large);
  world.lives = false;
  const auto late = world.perform(world.request(flows(), "delete", "f0"));
  REQUIRE_FALSE(late);
  CHECK(late.error().code() == Code::unauthorized);
}

TEST_CASE("a tenant's objects of a kind grow together to so many bytes and no further") {
  World world;
  const auto kept = virtuals::k_max_bytes / (200u << 10);
  for (std::size_t i = 0; i <= kept; ++i)
    world.ok(world.request(flows(), "create", "", flow(fmt::format("f{}", i))));
  const auto with = [&](std::size_t number, std::size_t bytes) {
    auto object = flow(fmt::format("f{}", number));
    object["metadata"]["annotations"] = {{"x", std::string(bytes, 'x')}};
    return world.perform(world.request(flows(), "update", fmt::format("f{}", number), object));
  };
  for (std::size_t i = 0; i < kept - 1; ++i)
    REQUIRE(with(i, 200u << 10));
  const auto refused = with(kept - 1, 250u << 10);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::forbidden);
  CHECK(refused.error().message().find("exceeded quota") != std::string::npos);
  CHECK(with(0, 100u << 10)); // what shrinks makes room
  CHECK(with(kept - 1, 150u << 10));
}

TEST_CASE("a write costs no more than its size lets it") {
  World world;
  world.ok(world.request(flows(), "create", "", flow("f")));
  auto many = flow("f");
  for (std::size_t i = 0; i <= resources::k_max_elements; ++i)
    many["metadata"]["finalizers"].push_back(fmt::format("example.com/{}", i));
  for (const auto format :
       {BodyFormat::apply_patch, BodyFormat::strategic_patch, BodyFormat::merge_patch}) {
    auto request = world.request(flows(), "patch", "f", many);
    request.format = format;
    const auto refused = world.perform(request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == Code::invalid);
    CHECK(refused.error().message().find("must have at most 1000 items") != std::string::npos);
  }
  auto large = flow("f");
  large["spec"]["unknown"] = std::string(virtuals::k_max_body_bytes, 'x');
  const auto refused = world.perform(world.request(flows(), "update", "f", large));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::too_large);
  // Copies of what is large: each doubles it.
  json grows = json::array({{{"op", "add"},
                             {"path", "/metadata/annotations"},
                             {"value", {{"x", std::string(100u << 10, 'x')}}}}});
  for (int i = 0; i < 20; ++i)
    grows.push_back({{"op", "copy"},
                     {"from", "/metadata/annotations/x"},
                     {"path", fmt::format("/metadata/annotations/y{}", i)}});
  auto request = world.request(flows(), "patch", "f", grows);
  request.format = BodyFormat::json_patch;
  const auto grown = world.perform(request);
  REQUIRE_FALSE(grown);
  CHECK(grown.error().code() == Code::too_large);
}

TEST_CASE("bodies of another kind, or of no kind at all, are refused") {
  World world;
  struct Row {
    const char* body;
    Code code;
  };
  const Row rows[] = {
      {"{}", Code::invalid}, // the path says what it is
      {"[]", Code::bad_request},
      {R"({"apiVersion":"v1","kind":"FlowSchema"})", Code::bad_request},
      {R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"Pod"})", Code::bad_request},
      {R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema"})", Code::invalid},
      {R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":7})",
       Code::bad_request},
      {R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema",
           "metadata":{"name":"a/b"}})",
       Code::invalid},
      {R"({"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema",
           "metadata":{"name":"a","namespace":"b"}})",
       Code::bad_request},
  };
  for (const auto& row : rows) {
    CAPTURE(row.body);
    auto request = world.request(flows(), "create", "");
    request.body = row.body;
    const auto answer = world.perform(request);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code() == row.code);
  }
  auto deep = world.request(flows(), "create", "");
  deep.body = std::string(100000, '[');
  CHECK(world.perform(deep).error().code() == Code::bad_request);
  // Types that no schema has, where the patch code looks for others.
  world.ok(world.request(flows(), "create", "", flow("a")));
  for (const auto* body :
       {R"({"metadata":{"labels":7}})", R"({"metadata":{"ownerReferences":[7]}})",
        R"({"metadata":{"ownerReferences":[{"$patch":7}]}})", R"({"$patch":"delete"})",
        R"({"metadata":7})", R"({"spec":[]})"}) {
    CAPTURE(body);
    auto patch = world.request(flows(), "patch", "a");
    patch.format = BodyFormat::strategic_patch;
    patch.body = body;
    const auto answer = world.perform(patch);
    if (!answer) CHECK(answer.error().code() != Code::internal);
  }
}

TEST_CASE("tenants take turns, and none fills the queue") {
  World world;
  std::mutex mutex;
  std::condition_variable changed;
  int held = 0;
  bool open = false;
  std::vector<std::string> done;
  const auto hold = [&, inner = world.validate](const virtuals::Kind& kind, const json& object,
                                                const translate::Mapping& mapping,
                                                std::string_view strictness) {
    std::unique_lock lock(mutex);
    ++held;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    return inner(kind, object, mapping, strictness);
  };
  virtuals::Engine engine({*world.store, *world.board, [&] { return hold; },
                           [](const virtuals::Owner&) { return true; }});
  int refused = 0;
  const auto submit = [&](const std::string& tenant, const std::string& name) {
    auto request = world.request(flows(), "create", "", flow(name));
    request.owner = {tenant, "uid-" + tenant};
    engine.submit(std::move(request), [&, tenant](const Result<virtuals::Answer>& answer) {
      const std::lock_guard lock(mutex);
      if (!answer && answer.error().code() == Code::too_many_requests) {
        ++refused;
      } else {
        done.push_back(tenant);
      }
      changed.notify_all();
    });
  };
  submit("foofoo", "first");
  submit("foofoo", "second");
  {
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return held == 2; }));
  }
  for (int i = 0; i < 40; ++i)
    submit("foofoo", "f" + std::to_string(i));
  CHECK(refused == 8);
  submit("barbar", "b");
  std::unique_lock lock(mutex);
  open = true;
  changed.notify_all();
  REQUIRE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return done.size() == 35; }));
  CHECK(refused == 8);
  CHECK(std::find(done.begin(), done.end(), "barbar") - done.begin() < 6);
}
