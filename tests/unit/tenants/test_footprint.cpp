// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/footprint.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;

TEST_CASE("a range read stops at the prefix with its dash, whatever lies around it") {
  FakeUpstream server;
  server.refuse_positions = false;
  bool fallback = false;
  SUBCASE("by position") {}
  SUBCASE("where positions are refused") { fallback = true; }
  server.refuse_positions = fallback;
  for (const std::string name : {"abcdef", "abcdee-z", "abcdefx", "abcdeg-a"})
    server.put("/api/v1/namespaces/" + name, json::object());
  for (int i = 0; i < 120; ++i)
    server.put(fmt::format("/api/v1/namespaces/abcdef-{:03}", i), json::object());
  const auto api = server.connect();
  if (!fallback) {
    const auto found = must(tenants::range(*api, "/api/v1/namespaces", "abcdef-"));
    CHECK(found.size() == 120);
    CHECK(found.front().name == "abcdef-000");
    CHECK(found.back().name == "abcdef-119");
  } else {
    // The first page of everything holds them all.
    CHECK(must(tenants::range(*api, "/api/v1/namespaces", "abcdef-")).size() == 120);
  }
  CHECK(must(tenants::range(*api, "/api/v1/namespaces", "abcdef-", 1)).size() == 1);
  CHECK(must(tenants::range(*api, "/api/v1/namespaces", "zzzzzz-")).empty());
}

TEST_CASE("a volume is the tenant's by its claim, or by its name while nobody claims it") {
  FakeUpstream server;
  const std::string volumes = "/api/v1/persistentvolumes";
  const auto volume = [&](const std::string& name, const std::string& claim) {
    json object = {{"spec", json::object()}};
    if (!claim.empty()) object["spec"]["claimRef"] = {{"namespace", claim}};
    server.put(volumes + "/" + name, object);
  };
  volume("pvc-1", "abcdef-default");
  volume("pvc-2", "abcdefx");
  volume("pvc-3", "other");
  volume("abcdef-free", "");
  volume("abcdef-taken", "other");
  const auto names = [](const auto& found) {
    std::vector<std::string> out;
    for (const auto& each : found)
      out.push_back(each.name);
    return out;
  };
  const std::vector<std::string> expected{"abcdef-free", "pvc-1"};
  const auto api = server.connect();
  CHECK(names(must(tenants::tenant_volumes(*api, "abcdef"))) == expected);
  // What is known may be of a moment ago: one has gone since, one is another's by now.
  CHECK(names(must(tenants::tenant_volumes(
            *api, "abcdef", tenants::Names{"pvc-0", "pvc-1", "pvc-2"}))) == expected);
  const auto requests = server.requests();
  CHECK(std::count(requests.begin(), requests.end(), "GET " + volumes + "/pvc-3") == 0);
}
