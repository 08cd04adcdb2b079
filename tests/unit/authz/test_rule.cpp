// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rule.hpp"

#include <doctest/doctest.h>

using namespace zoo::authz;

namespace {

Attributes resource(std::string verb, std::string group, std::string kind,
                    std::string subresource = "", std::string name = "") {
  Attributes out;
  out.verb = std::move(verb);
  out.group = std::move(group);
  out.resource = std::move(kind);
  out.subresource = std::move(subresource);
  out.name = std::move(name);
  return out;
}

Attributes path(std::string verb, std::string where) {
  Attributes out;
  out.resource_request = false;
  out.verb = std::move(verb);
  out.path = std::move(where);
  return out;
}

} // namespace

TEST_CASE("a rule allows what Kubernetes' would") {
  const Rule pods{{"get", "list"}, {""}, {"pods"}, {}, {}};
  const Rule all{{"*"}, {"*"}, {"*"}, {}, {"*"}};
  const Rule scales{{"update"}, {"*"}, {"*/scale"}, {}, {}};
  const Rule logs{{"get"}, {""}, {"pods/log"}, {}, {}};
  const Rule one{{"get", "update", "delete"}, {""}, {"configmaps"}, {"a", "b"}, {}};
  const Rule health{{"get"}, {}, {}, {}, {"/healthz", "/api/*", "/x*"}};
  struct Row {
    const char* what;
    const Rule* rule;
    Attributes attributes;
    bool allowed;
  };
  const Row rows[] = {
      {"the verb and the kind", &pods, resource("get", "", "pods"), true},
      {"another verb", &pods, resource("delete", "", "pods"), false},
      {"another group", &pods, resource("get", "apps", "pods"), false},
      {"another kind", &pods, resource("get", "", "secrets"), false},
      {"a name makes no difference", &pods, resource("get", "", "pods", "", "x"), true},
      {"a kind is not its subresource", &pods, resource("get", "", "pods", "log", "x"), false},
      {"a subresource is not its kind", &logs, resource("get", "", "pods"), false},
      {"the subresource", &logs, resource("get", "", "pods", "log", "x"), true},
      {"another subresource", &logs, resource("get", "", "pods", "exec", "x"), false},
      {"everything", &all, resource("escalate", "rbac", "roles", "x", "y"), true},
      {"every path", &all, path("get", "/metrics"), true},
      {"*/scale of one", &scales, resource("update", "apps", "deployments", "scale", "x"), true},
      {"*/scale of another", &scales, resource("update", "example.com", "foos", "scale"), true},
      {"*/scale is not the kind", &scales, resource("update", "apps", "deployments"), false},
      {"nor */status", &scales, resource("update", "apps", "deployments", "status"), false},
      {"nor a longer subresource", &scales, resource("update", "apps", "a", "upscale"), false},
      {"a name that is listed", &one, resource("get", "", "configmaps", "", "b"), true},
      {"one that is not", &one, resource("get", "", "configmaps", "", "c"), false},
      {"no name", &one, resource("delete", "", "configmaps"), false},
      {"a path", &health, path("get", "/healthz"), true},
      {"not below it", &health, path("get", "/healthz/etcd"), false},
      {"below a star", &health, path("get", "/api/v1"), true},
      {"not the stem of a star with slash", &health, path("get", "/api"), false},
      {"a star without slash", &health, path("get", "/xyz"), true},
      {"another verb of a path", &health, path("post", "/healthz"), false},
      {"a path is no resource", &pods, path("get", "/api"), false},
      {"a resource is no path", &health, resource("get", "", "healthz"), false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    CHECK(allows(*row.rule, row.attributes) == row.allowed);
  }
}

TEST_CASE("what a set of rules does not cover is told in parts") {
  const std::vector<Rule> held = {{{"get", "list"}, {""}, {"pods", "pods/log"}, {}, {}},
                                  {{"get"}, {""}, {"secrets"}, {"mine"}, {}},
                                  {{"update"}, {"*"}, {"*/scale"}, {}, {}},
                                  {{"get"}, {}, {}, {}, {"/api/*"}}};
  const auto missing = [&](const Rule& wanted) {
    const auto found = uncovered(held, std::span(&wanted, 1));
    REQUIRE(found);
    std::string out;
    for (const auto& each : *found)
      out += describe(each);
    return out;
  };
  CHECK(missing({{"get"}, {""}, {"pods"}, {}, {}}) == "");
  CHECK(missing({{"get", "list"}, {""}, {"pods", "pods/log"}, {"x"}, {}}) == "");
  CHECK(missing({{"get"}, {""}, {"secrets"}, {"mine"}, {}}) == "");
  CHECK(missing({{"get"}, {""}, {"secrets"}, {}, {}}) ==
        R"({APIGroups:[""], Resources:["secrets"], Verbs:["get"]})");
  CHECK(missing({{"get"}, {""}, {"secrets"}, {"mine", "yours"}, {}}) ==
        R"({APIGroups:[""], Resources:["secrets"], ResourceNames:["yours"], Verbs:["get"]})");
  CHECK(missing({{"update"}, {"apps"}, {"deployments/scale"}, {}, {}}) == "");
  CHECK(missing({{"get", "watch", "delete"}, {""}, {"pods"}, {}, {}}) ==
        R"({APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]})");
  CHECK(missing({{"*"}, {""}, {"pods"}, {}, {}}) ==
        R"({APIGroups:[""], Resources:["pods"], Verbs:["*"]})");
  CHECK(missing({{"get"}, {}, {}, {}, {"/api/v1", "/metrics"}}) ==
        R"({NonResourceURLs:["/metrics"], Verbs:["get"]})");
  CHECK(missing({{}, {""}, {"pods"}, {}, {}}) == "");
}

TEST_CASE("a question that would take for ever is refused") {
  std::vector<std::string> many;
  for (int i = 0; i < 400; ++i)
    many.push_back(std::to_string(i));
  const Rule wanted{many, many, many, {}, {}};
  const auto found = uncovered({}, std::span(&wanted, 1));
  REQUIRE_FALSE(found);
  CHECK(found.error().code() == zoo::Code::too_large);
}

TEST_CASE("long lists are looked up, and what they cost is counted") {
  Rule held{{"get"}, {""}, {"pods"}, {}, {}};
  for (int i = 0; i < 100'000; ++i)
    held.names.push_back("a" + std::to_string((i * 7919) % 100'000));
  auto wanted = held;
  wanted.names.resize(60'000);
  const auto found = [&] { return uncovered(std::span(&held, 1), std::span(&wanted, 1)); };
  // Looked through it would be six billion comparisons.
  REQUIRE_FALSE(found());
  CHECK(found().error().code() == zoo::Code::too_large);
  held.index();
  REQUIRE(found());
  CHECK(found()->empty());
  wanted.names = {"a99999", "b"};
  REQUIRE(found());
  REQUIRE(found()->size() == 1);
  CHECK(found()->front().names == std::vector<std::string>{"b"});
  CHECK(allows(held, resource("get", "", "pods", "", "a77")));
  CHECK_FALSE(allows(held, resource("get", "", "pods", "", "a100000")));
}

TEST_CASE("a question whose size has no room in a number is refused as well") {
  const std::vector<std::string> many(1u << 16, "a"); // the product of four is 2^64
  const Rule wanted{many, many, many, many, {}};
  const auto found = uncovered({}, std::span(&wanted, 1));
  REQUIRE_FALSE(found);
  CHECK(found.error().code() == zoo::Code::too_large);
}

TEST_CASE("the name of a ServiceAccount is read strictly") {
  const auto found = service_account("system:serviceaccount:team:robot");
  CHECK(found.name_space == "team");
  CHECK(found.name == "robot");
  CHECK_FALSE(service_account("system:serviceaccount:team"));
  CHECK_FALSE(service_account("system:serviceaccount:team:"));
  CHECK_FALSE(service_account("system:serviceaccount::robot"));
  CHECK_FALSE(service_account("system:serviceaccount:a:b:c"));
  CHECK_FALSE(service_account("jane"));
}
