// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::api;
using Json = nlohmann::json;

namespace {

Json manifest(const Json& change = Json::object()) {
  auto out = Json::parse(R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",
    "metadata":{"name":"foofoo"},"spec":{},"status":{}})");
  out.merge_patch(change);
  return out;
}

std::string error(const Json& json, Code code = Code::invalid) {
  const auto read = from_json(json);
  if (read) return "no error";
  CHECK(read.error().code() == code);
  return read.error().message();
}

std::string id_error(std::string_view id, std::vector<std::string> reserved = {}) {
  const auto valid = validate_id(id, reserved);
  if (valid) return "";
  CHECK(valid.error().code() == Code::invalid);
  return valid.error().message();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("six of a-z and 0-9 are an ID, whatever YAML thinks of them") {
  for (const auto* id : {"foofoo", "123456", "1e1000", "000000", "0x1fff", "truths"})
    CHECK(id_error(id).empty());
}

TEST_CASE("anything else is refused with the rule") {
  CHECK(id_error("foo") ==
        "a tenant's ID is exactly six characters of a-z and 0-9; 'foo' has three");
  CHECK(contains(id_error(""), "must not be empty"));
  CHECK(contains(id_error("foofoo1"), "has seven"));
  CHECK(contains(id_error(std::string(300, 'a')), "has 300"));
  CHECK(contains(id_error("Foofoo"), "the capital letter 'F'"));
  CHECK(contains(id_error("foo-oo"), "has a '-'"));
  CHECK(contains(id_error("foo oo"), "has a ' '"));
  CHECK(contains(id_error("foo/oo"), "has a '/'"));
  CHECK(contains(id_error("foofo\n"), "something else"));
  CHECK(contains(id_error(std::string_view("foo\0oo", 6)), "something else"));
  CHECK(contains(id_error("foofö"), "something else"));
}

TEST_CASE("a reserved ID is refused as such") {
  CHECK(contains(id_error("system", {"calico", "system"}), "reserved"));
  CHECK(id_error("systen", {"system"}).empty());
}

TEST_CASE("KubeZoo's manifest is taken") {
  const auto tenant = from_json(manifest(Json::parse(R"({"spec":{"id":0}})"))).value();
  CHECK(tenant.id == "foofoo");
  CHECK(tenant.phase == Phase::none);
  CHECK(to_json(tenant)["spec"] == Json{{"id", 0}});
  auto bare = manifest();
  bare.erase("status");
  bare.erase("spec");
  CHECK(from_json(bare));
  CHECK(from_json(manifest(Json::parse(R"({"metadata":{"creationTimestamp":null}})"))));
}

TEST_CASE("a record survives its JSON, unknown fields too") {
  const auto json = Json::parse(R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",
    "metadata":{"name":"123456","uid":"u","resourceVersion":"12","generation":3,
      "creationTimestamp":"2026-01-31T09:00:00Z","deletionTimestamp":"2026-02-01T09:00:00Z",
      "labels":{"a":"b"},"annotations":{"c":"d"},"managedFields":[{"x":1}],"finalizers":["f"]},
    "spec":{"displayName":"Foo","account":"acme","suspended":true,"quota":{"hard":{"pods":"5"}},
      "flow":{"share":2},"later":{"deep":[1]}},
    "status":{"phase":"Ready","conditions":[{"type":"Ready","status":"True","reason":"Done",
      "message":"all","lastTransitionTime":"2026-01-31T09:00:01Z"}],
      "certificateExpiry":"2027-01-31T09:00:00Z","waitingFor":"nothing","hadWebhooks":true,"heldUntil":"2026-11-26T09:00:45Z","observedGeneration":3,
      "online":true}})");
  const auto tenant = from_json(json).value();
  CHECK(tenant.resource_version == 12);
  CHECK(tenant.suspended);
  CHECK(tenant.phase == Phase::ready);
  CHECK(to_json(tenant) == json);
}

TEST_CASE("a name that YAML made a number is refused with the words to quote it") {
  const auto with_name = [](Json name) {
    auto out = manifest();
    out["metadata"]["name"] = std::move(name);
    return error(out);
  };
  CHECK(contains(with_name(123456), "quote it (name: \"123456\")"));
  CHECK(contains(with_name(1e100), "quote it"));
  CHECK(contains(with_name(true), "must be a string, not true or false"));
  CHECK(contains(with_name(nullptr), "missing"));
}

TEST_CASE("a field of a wrong type is named") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"metadata":{"labels":{"a":1}}})", "metadata.labels['a'] must be a string"},
      {R"({"metadata":{"annotations":[]}})", "metadata.annotations must be a mapping"},
      {R"({"metadata":{"uid":5}})", "metadata.uid must be a string, not a number"},
      {R"({"metadata":{"resourceVersion":"x"}})", "metadata.resourceVersion 'x'"},
      {R"({"metadata":{"resourceVersion":"-1"}})", "metadata.resourceVersion"},
      {R"({"metadata":{"generation":1.5}})", "metadata.generation must be an integer"},
      {R"({"metadata":{"generation":18446744073709551615}})", "metadata.generation"},
      {R"({"spec":{"suspended":"yes"}})", "spec.suspended must be true or false, not a string"},
      {R"({"spec":{"quota":[]}})", "spec.quota must be a mapping, not a list"},
      {R"({"spec":{"id":"x"}})", "spec.id must be an integer"},
      {R"({"spec":5})", "spec must be a mapping, not a number"},
      {R"({"status":{"phase":"Happy"}})", "status.phase 'Happy'"},
      {R"({"status":{"conditions":{}}})", "status.conditions must be a list"},
      {R"({"status":{"conditions":[5]}})", "status.conditions[0] must be a mapping"},
      {R"({"status":{"conditions":[{"status":"True"}]}})", "status.conditions[0].type is missing"},
      {R"({"status":{"conditions":[{"type":"A","status":"yes"}]}})", "conditions[0].status"},
      {R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"A","status":"True"}]}})",
       "occurs twice"},
      {R"({"sepc":{}})", "unknown field 'sepc'"},
  };
  for (const auto& [change, expected] : cases) {
    CAPTURE(change);
    CHECK(contains(error(manifest(Json::parse(change))), expected));
  }
}

TEST_CASE("what is no Tenant is refused") {
  CHECK(contains(error(Json(5), Code::bad_request), "not a number"));
  CHECK(contains(error(Json::object(), Code::bad_request), "no Tenant"));
  CHECK(contains(error(manifest({{"kind", "Pod"}}), Code::bad_request), "'Pod'"));
  CHECK(contains(error(manifest({{"apiVersion", "v1"}}), Code::bad_request), "'v1'"));
  CHECK(contains(error(manifest({{"kind", 5}})), "kind must be a string"));
}

TEST_CASE("a condition's time moves only with its status") {
  Tenant tenant;
  tenant.set_condition("Ready", "False", "Making", "a", "t1");
  tenant.set_condition("Ready", "False", "Waiting", "b", "t2");
  CHECK(tenant.condition("Ready")->last_transition_time == "t1");
  CHECK(tenant.condition("Ready")->reason == "Waiting");
  tenant.set_condition("Ready", "True", "Done", "", "t3");
  CHECK(tenant.condition("Ready")->last_transition_time == "t3");
  CHECK(tenant.conditions.size() == 1);
  CHECK(tenant.condition("Other") == nullptr);
}

TEST_CASE("times are RFC 3339 in UTC") {
  CHECK(rfc3339(0) == "1970-01-01T00:00:00Z");
  CHECK(rfc3339(1769850000) == "2026-01-31T09:00:00Z");
}

TEST_CASE("what zood does inside pods is on, unless spec.inside says otherwise") {
  const auto plain = from_json(manifest());
  REQUIRE(plain);
  CHECK(plain->inside == Inside{true, true});
  CHECK(!to_json(*plain)["spec"].contains("inside"));
  const auto off = from_json(manifest({{"spec", {{"inside", {{"api", false}}}}}}));
  REQUIRE(off);
  CHECK(off->inside == Inside{false, true});
  CHECK(to_json(*off)["spec"]["inside"] == Json{{"api", false}});
  const auto on = from_json(manifest({{"spec", {{"inside", {{"api", true}, {"dns", true}}}}}}));
  REQUIRE(on);
  CHECK(!to_json(*on)["spec"].contains("inside"));
  CHECK(error(manifest({{"spec", {{"inside", {{"dns", "no"}}}}}})) ==
        "spec.inside.dns must be true or false, not a string");
  CHECK(contains(error(manifest({{"spec", {{"inside", {{"dsn", false}}}}}})),
                 "spec.inside has api, dns and nothing else"));
  CHECK(
      contains(error(manifest({{"spec", {{"inside", false}}}})), "spec.inside must be a mapping"));
}
