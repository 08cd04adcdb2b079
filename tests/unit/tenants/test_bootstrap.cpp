// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/kube/yaml.hpp"
#include "daemon/upstream/accounts_manifests.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/inside_manifests.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <cstdlib>
#include <functional>
#include <set>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;
using State = upstream::ObjectState::State;

TEST_CASE("packaging/upstream-rbac.yaml is what the table says") {
  const std::filesystem::path file = ZOO_SOURCE_DIR "/packaging/upstream-rbac.yaml";
  const auto wanted_text = upstream::upstream_rbac_yaml();
  if (std::getenv("ZOO_TEST_ACCEPT") != nullptr) must(file::write(file, wanted_text, 0644));
  CHECK_MESSAGE(must(file::read(file)) == wanted_text,
                "run this test with ZOO_TEST_ACCEPT=1 to take the table's text over");
}

TEST_CASE("packaging/upstream-accounts.yaml is what the table says") {
  const std::filesystem::path file = ZOO_SOURCE_DIR "/packaging/upstream-accounts.yaml";
  const auto wanted_text = upstream::account_manifests_yaml();
  if (std::getenv("ZOO_TEST_ACCEPT") != nullptr) must(file::write(file, wanted_text, 0644));
  CHECK_MESSAGE(must(file::read(file)) == wanted_text,
                "run this test with ZOO_TEST_ACCEPT=1 to take the table's text over");
}

TEST_CASE("packaging/upstream-inside.yaml is what the table says") {
  const std::filesystem::path file = ZOO_SOURCE_DIR "/packaging/upstream-inside.yaml";
  const auto wanted_text = upstream::inside_manifests_yaml();
  if (std::getenv("ZOO_TEST_ACCEPT") != nullptr) must(file::write(file, wanted_text, 0644));
  CHECK_MESSAGE(must(file::read(file)) == wanted_text,
                "run this test with ZOO_TEST_ACCEPT=1 to take the table's text over");
}

TEST_CASE("every object of the table has a place of its own, and survives YAML") {
  std::set<std::string> paths;
  for (const auto& manifest : upstream::upstream_manifests()) {
    CAPTURE(manifest.title());
    CHECK(paths.insert(manifest.path).second);
    const auto object = json::parse(manifest.json);
    const auto back = json::parse(must(kube::yaml_to_json(kube::json_to_yaml(object))));
    CHECK(back == object);
  }
}

TEST_CASE("what accounts need: each object is labelled, each policy bound, each field explained") {
  const std::function<void(const std::string&, const json&)> explained =
      [&](const std::string& where, const json& schema) {
        CAPTURE(where);
        CHECK(schema.value("description", "").ends_with('.'));
        const auto properties = schema.value("properties", json::object());
        for (const auto& [name, each] : properties.items())
          explained(where + "." + name, each);
        if (schema.contains("items")) explained(where + "[]", schema["items"]);
      };
  std::set<std::string> paths, policies, bound;
  std::size_t kinds = 0;
  for (const auto& manifest : upstream::account_manifests(true)) {
    CAPTURE(manifest.title());
    CHECK(paths.insert(manifest.path).second);
    const auto object = json::parse(manifest.json);
    CHECK(object["metadata"]["labels"]["zoo.kubezoo.io/managed"] == "true");
    if (manifest.kind == "ValidatingAdmissionPolicy") policies.insert(manifest.name);
    if (manifest.kind == "ValidatingAdmissionPolicyBinding")
      bound.insert(object["spec"]["policyName"]);
    if (manifest.kind != "CustomResourceDefinition") continue;
    ++kinds;
    for (const auto& version : object["spec"]["versions"])
      explained(manifest.name, version["schema"]["openAPIV3Schema"]);
  }
  CHECK(kinds == 5);
  CHECK(policies.size() == 8);
  CHECK(policies == bound);
}

namespace {

/// Rights are given at once, and what is defined is served at once.
struct Grants {
  std::set<std::string> defined; ///< paths
  std::optional<http_client::Response> operator()(const std::string& method,
                                                  const std::string& path) {
    if (method == "POST" && path.find("selfsubjectaccessreviews") != std::string::npos)
      return http_client::Response{201, {}, R"({"status":{"allowed":true}})"};
    for (const auto& manifest : upstream::account_manifests(false)) {
      if (manifest.kind != "CustomResourceDefinition" || !path.starts_with(manifest.path)) continue;
      if (method == "PATCH") defined.insert(manifest.path);
      if (method != "GET" || !defined.contains(manifest.path)) continue;
      auto object = json::parse(manifest.json);
      object["status"]["conditions"] = {{{"type", "Established"}, {"status", "True"}}};
      return http_client::Response{200, {}, object.dump()};
    }
    return std::nullopt;
  }
};

} // namespace

TEST_CASE("what accounts need is installed once, and again where it was changed") {
  FakeUpstream server;
  const auto api = server.connect();
  server.set_fault(Grants{});
  must(upstream::install_accounts(*api, true));
  CHECK(server.size() == upstream::account_manifests(true).size());
  for (const auto& state : upstream::examine_accounts(*api, true))
    CHECK(state.state == State::equal);
  CHECK(upstream::examine_accounts(*api, false).back().message ==
        "it is there, though accounts.self_service is false");

  must(upstream::install_accounts(*api, false));
  CHECK_FALSE(server.has(upstream::self_service_manifest().path));
  for (const auto& state : upstream::examine_accounts(*api, false))
    CHECK(state.state == State::equal);

  server.put("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kiosk",
             json::object());
  const auto refused = upstream::install_accounts(*api, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::conflict);
}

TEST_CASE("what the server adds is no difference, what it lacks is") {
  std::string where;
  const json wanted_object = {{"a", {{"b", {1, 2}}}}, {"c", "x"}};
  CHECK(upstream::covers({{"a", {{"b", {1, 2}}, {"more", 1}}}, {"c", "x"}}, wanted_object, where));
  CHECK_FALSE(upstream::covers({{"a", {{"b", {1, 3}}}}, {"c", "x"}}, wanted_object, where));
  CHECK(where == "/a/b/1");
  where.clear();
  CHECK_FALSE(upstream::covers({{"a", {{"b", {1, 2, 3}}}}, {"c", "x"}}, wanted_object, where));
  CHECK(where == "/a/b");
}

TEST_CASE("the bootstrap installs what is missing, once") {
  FakeUpstream server;
  const auto api = server.connect();
  for (const auto& state : upstream::examine(*api))
    CHECK(state.state == State::missing);
  must(upstream::bootstrap(*api, false));
  CHECK(server.size() == upstream::upstream_manifests().size());
  const auto before = server.requests().size();
  must(upstream::bootstrap(*api, false));
  const auto requests = server.requests();
  for (std::size_t i = before; i < requests.size(); ++i)
    CHECK(requests[i].starts_with("GET "));
}

TEST_CASE("a right that lacks: an administrator is told, zood's own goes on but for fences") {
  FakeUpstream server;
  const auto api = server.connect();
  std::string denied = "prioritylevelconfigurations";
  server.set_fault([&](const std::string& method, const std::string& path) {
    return method == "PATCH" && path.find(denied) != std::string::npos
               ? std::optional(status(403, "Forbidden", "cannot patch " + denied))
               : std::nullopt;
  });
  const auto refused = upstream::bootstrap(*api, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::forbidden);
  CHECK(refused.error().message().find("PriorityLevelConfiguration zoo-tenants") !=
        std::string::npos);
  CHECK(refused.error().message().find("cannot patch " + denied) != std::string::npos);

  const auto states = must(upstream::bootstrap(*api, true));
  std::size_t missing = 0;
  for (const auto& state : states)
    missing += state.state == State::missing ? 1 : 0;
  CHECK(missing == 2);

  server.put("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/zoo-tenants-roles",
             json::object());
  denied = "validatingadmissionpolicies";
  CHECK_FALSE(upstream::bootstrap(*api, true));
}
