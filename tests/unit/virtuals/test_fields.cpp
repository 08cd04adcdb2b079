// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/change.hpp"
#include "tests/unit/virtuals/world.hpp"

using nlohmann::json;
using namespace zoo;
using namespace zoo::test;
using namespace zoo::resources;
using virtuals::k_lists;

namespace {

const std::string k_version = "flowcontrol.apiserver.k8s.io/v1";

Writer writer(std::string manager, std::string time = "2026-01-01T00:00:00Z") {
  return {std::move(manager), k_version, std::move(time), false, k_lists};
}

json entry(const json& object, const std::string& manager, const std::string& operation) {
  for (const auto& each : object["metadata"]["managedFields"])
    if (each["manager"] == manager && each["operation"] == operation) return each["fieldsV1"];
  return nullptr;
}

Result<json> strategic(const json& object, const json& patch) {
  return strategic_merge(object, patch, k_lists);
}

} // namespace

TEST_CASE("fields are named as fieldsV1 names them, there and back") {
  auto object = flow("a");
  object["metadata"]["labels"] = {{"app", "x"}};
  object["metadata"]["finalizers"] = {"a/b"};
  object["metadata"]["ownerReferences"] = {{{"uid", "u1"}, {"name", "o"}}};
  object["spec"]["rules"] = {{{"subjects", {1, 2}}}};
  object["metadata"]["uid"] = "no";
  FieldSet set;
  for (const auto& [path, value] : leaves_of(object, false, k_lists))
    set.insert(path);
  const auto fields = fields_v1(set);
  CHECK(fields == json::parse(R"({
    "f:metadata":{"f:labels":{"f:app":{}},"f:finalizers":{"v:\"a/b\"":{}},
      "f:ownerReferences":{"k:{\"uid\":\"u1\"}":{"f:uid":{},"f:name":{}}}},
    "f:spec":{"f:priorityLevelConfiguration":{"f:name":{}},"f:rules":{}}})"));
  CHECK(parse_fields_v1(fields) == set);
}

TEST_CASE("an update owns what it changed, the others keep the rest") {
  json one = flow("a");
  own_update(nullptr, one, writer("one"));
  CHECK(entry(one, "one", "Update")["f:spec"].contains("f:priorityLevelConfiguration"));
  json two = one;
  two["spec"]["matchingPrecedence"] = 5;
  two["spec"]["priorityLevelConfiguration"]["name"] = "other";
  own_update(one, two, writer("two"));
  CHECK(entry(two, "one", "Update") == nullptr);
  CHECK(entry(two, "two", "Update")["f:spec"].size() == 2);
  json three = two;
  three["spec"].erase("matchingPrecedence");
  own_update(two, three, writer("three"));
  CHECK_FALSE(entry(three, "two", "Update")["f:spec"].contains("f:matchingPrecedence"));
  CHECK(entry(three, "three", "Update") == nullptr); // it removed, and owns nothing
  json same = three;
  own_update(three, same, writer("four"));
  CHECK(same == three);
}

TEST_CASE("an apply sets its fields, gives up what it no longer names, and minds the others") {
  json live = flow("a");
  live["spec"]["matchingPrecedence"] = 1;
  own_update(nullptr, live, writer("owner"));

  auto config = flow("a");
  config["spec"] = {{"matchingPrecedence", 2}};
  config["metadata"]["labels"] = {{"x", "1"}, {"y", "1"}};
  const auto conflict = apply(live, config, writer("applier"), false);
  REQUIRE_FALSE(conflict);
  CHECK(conflict.error().code() == Code::conflict);
  CHECK(conflict.error().message().find(".spec.matchingPrecedence") != std::string::npos);
  CHECK(conflict.error().message().find("\"owner\"") != std::string::npos);

  const auto forced = must(apply(live, config, writer("applier"), true));
  CHECK(forced["spec"]["matchingPrecedence"] == 2);
  CHECK(forced["spec"]["priorityLevelConfiguration"]["name"] == "exempt");
  CHECK_FALSE(entry(forced, "owner", "Update")["f:spec"].contains("f:matchingPrecedence"));

  config["metadata"]["labels"].erase("y");
  const auto less = must(apply(forced, config, writer("applier", "2027-01-01T00:00:00Z"), false));
  CHECK(less["metadata"]["labels"] == json{{"x", "1"}});

  const auto same = must(apply(less, config, writer("applier", "2028-01-01T00:00:00Z"), false));
  CHECK(same == less);

  // The same value is shared, and stays when one of its owners lets go.
  auto shared = flow("a");
  shared["spec"] = json::object();
  shared["metadata"]["labels"] = {{"x", "1"}};
  const auto both = must(apply(less, shared, writer("second"), false));
  shared["metadata"].erase("labels");
  const auto one = must(apply(both, shared, writer("second"), false));
  CHECK(one["metadata"]["labels"]["x"] == "1");
}

TEST_CASE("a strategic merge patch merges lists by their keys") {
  const auto object = json::parse(R"({"metadata":{"finalizers":["a","b"],"labels":{"x":"1"}},
    "status":{"conditions":[{"type":"A","status":"True","reason":"r"},{"type":"B","status":"True"}]},
    "spec":{"rules":[1,2],"limited":{"a":1,"b":2}}})");
  const auto merged = must(strategic(object, json::parse(R"({
    "metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"labels":null},
    "status":{"$setElementOrder/conditions":[{"type":"A"}],
              "conditions":[{"type":"A","status":"False"},{"type":"B","$patch":"delete"},
                            {"type":"C","status":"True"}]},
    "spec":{"rules":[3],"limited":{"$retainKeys":["b","c"],"c":3}}})")));
  CHECK(merged["metadata"] == json::parse(R"({"finalizers":["b"]})"));
  CHECK(
      merged["status"]["conditions"] ==
      json::parse(R"([{"type":"A","status":"False","reason":"r"},{"type":"C","status":"True"}])"));
  CHECK(merged["spec"] == json::parse(R"({"rules":[3],"limited":{"b":2,"c":3}})"));
  CHECK(must(strategic(object, json::parse(R"({"spec":{"$patch":"replace","x":1}})")))["spec"] ==
        json{{"x", 1}});
  CHECK(strategic(object, json::parse(R"({"status":{"conditions":[{"status":"x"}]}})"))
            .error()
            .code() == Code::bad_request);
}

TEST_CASE("the paths of an object's fields are bounded together") {
  json wide = {{"spec", json::object()}};
  auto& at = wide["spec"][std::string(200'000, 'k')];
  for (int i = 0; i < 30; ++i)
    at[std::to_string(i)] = 0;
  CHECK(check_fields(wide, k_lists));
  for (int i = 30; i < 60; ++i)
    at[std::to_string(i)] = 0;
  CHECK(check_fields(wide, k_lists).error().code() == Code::too_large);
  json deep = json::object(), *inner = &deep;
  for (int i = 0; i < 60; ++i)
    inner = &(*inner)[std::string(4'000, 'd')];
  for (int i = 0; i < 60; ++i)
    (*inner)[std::to_string(i)] = 0;
  CHECK(check_fields(deep, k_lists).error().code() == Code::too_large);
  json owners = json::array({{{"uid", std::string(200'000, 'u')}}});
  for (int i = 0; i < 60; ++i)
    owners[0][std::to_string(i)] = 0;
  CHECK(check_fields({{"metadata", {{"ownerReferences", owners}}}}, k_lists).error().code() ==
        Code::too_large);
  CHECK(check_fields(json::array(), k_lists));
}
