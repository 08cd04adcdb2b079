// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/backing.hpp"
#include "daemon/clusters/kind.hpp"
#include "daemon/store/sqlite.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::clusters;
using nlohmann::json;

namespace {

struct BackingWorld {
  test::TemporaryDirectory directory;
  std::unique_ptr<store::Store> store = [this] {
    store::SqliteOptions options;
    options.directory = directory.path();
    auto opened = store::open_sqlite(options);
    REQUIRE(opened);
    return *std::move(opened);
  }();
  std::vector<std::string> woken;
  ClusterBacking backing{*store, [this](const std::string& key) { woken.push_back(key); }};
  resources::Who who{"root", {}};

  static json object(const std::string& space, const std::string& name) {
    return {{"metadata", {{"namespace", space}, {"name", name}}}, {"spec", {{"paused", true}}}};
  }
};

} // namespace

TEST_CASE_FIXTURE(BackingWorld, "a cluster is made, changed and marked for its end") {
  const auto made = backing.create(who, object("default", "t1"), {});
  REQUIRE(made);
  CHECK((*made->object)["metadata"]["generation"] == 1);
  CHECK((*made->object)["metadata"]["uid"].get<std::string>().size() == 36);
  CHECK(backing.create(who, object("default", "t1"), {}).error().code() == Code::already_exists);

  auto next = *made->object;
  next["spec"]["paused"] = false;
  next["metadata"]["uid"] = "";
  next["status"]["phase"] = "Initialized"; // which nobody says but zood
  const auto changed = backing.update(who, next, {});
  REQUIRE(changed);
  CHECK((*changed->object)["metadata"]["generation"] == 2);
  CHECK((*changed->object)["metadata"]["uid"] == (*made->object)["metadata"]["uid"]);
  CHECK((*changed->object)["status"] == json::object());
  CHECK(backing.update(who, next, {}).error().code() == Code::conflict); // an old version

  const auto removed =
      backing.remove(who, {"default", "t1"}, {.uid = "other", .resource_version = ""}, {});
  CHECK(removed.error().code() == Code::conflict);
  REQUIRE(backing.remove(who, {"default", "t1"}, {}, {}));
  const auto going = backing.get(who, {"default", "t1"});
  REQUIRE(going);
  CHECK((**going)["status"]["phase"] == "Deleting");
  CHECK((**going)["metadata"].contains("deletionTimestamp"));
  CHECK(woken == std::vector<std::string>{"default/t1", "default/t1", "default/t1"});
}

TEST_CASE_FIXTURE(BackingWorld, "lists go by namespace and name, in pages") {
  for (const auto& [space, name] :
       {std::pair("a-b", "x"), std::pair("a", "y"), std::pair("a", "x")})
    REQUIRE(backing.create(who, object(space, name), {}));
  const auto all = backing.list(who, "", {}, 0);
  REQUIRE(all);
  std::vector<std::string> keys;
  for (const auto& each : all->items)
    keys.push_back(resources::key_of(*each).space + "/" + resources::key_of(*each).name);
  CHECK(keys == std::vector<std::string>{"a/x", "a/y", "a-b/x"});
  const auto page = backing.list(who, "", {}, 2);
  REQUIRE(page->next);
  CHECK(backing.list(who, "", *page->next, 2)->items.size() == 1);
  CHECK(backing.list(who, "a", {}, 0)->items.size() == 2);
}

TEST_CASE_FIXTURE(BackingWorld, "what the upstream orders is changed there alone") {
  auto record = new_record(object("default", "t1"));
  record.place.upstream = "some-uid";
  REQUIRE(write_record(*store, record));
  auto next = **backing.get(who, {"default", "t1"});
  next["spec"]["paused"] = false;
  CHECK(backing.update(who, next, {}).error().code() == Code::forbidden);
  next["spec"]["paused"] = true;
  next["metadata"]["labels"]["a"] = "b";
  CHECK(backing.update(who, next, {}));
}

TEST_CASE("no kubeconfig is stored, wherever it stands") {
  json object = {{"metadata",
                  {{"annotations",
                    {{"kubectl.kubernetes.io/last-applied-configuration",
                      R"({"spec":{"kub\u0065config":"c2VjcmV0","paused":true}})"}}}}},
                 {"spec", {{"kubeconfig", "c2VjcmV0"}, {"paused", true}}}};
  scrub_kubeconfig(object);
  CHECK(object["spec"] == json{{"paused", true}});
  CHECK(object.dump().find("c2VjcmV0") == std::string::npos);
  CHECK(object.dump().find("paused") != std::string::npos);
  json broken = {{"metadata",
                  {{"annotations",
                    {{"kubectl.kubernetes.io/last-applied-configuration",
                      "{c2VjcmV0" + std::string(300, '[')}}}}}};
  scrub_kubeconfig(broken);
  CHECK(broken.dump().find("c2VjcmV0") == std::string::npos);
}
