// SPDX-License-Identifier: Apache-2.0
#include "common/api/aggregated_door.hpp"
#include "common/base/file.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace zoo;
using namespace zoo::cli::test;
using nlohmann::json;
namespace aggregated = zoo::api::aggregated;

namespace {

const std::string k_registered =
    R"({"off":false,"registered":true,"foreign":false,"available":"True","reason":"Passed",
        "message":"all checks passed","endpoints":["192.0.2.7:7445"],"trouble":""})";

/// A kubeconfig of an upstream, in a directory of its own.
struct Kubeconfig {
  std::filesystem::path file;
  Kubeconfig() {
    auto name = (std::filesystem::temp_directory_path() / "zooctl-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    file = std::filesystem::path(name) / "kubeconfig";
    REQUIRE(file::write(file, R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://upstream:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)",
                        0600));
  }
  ~Kubeconfig() { std::filesystem::remove_all(file.parent_path()); }
};

/// An upstream where the door is registered, as another's if `own` is false.
void registered(Server& server, bool own = true) {
  const auto path = [](std::string_view text) { return std::string(text); };
  const json object{
      {"metadata", {{"name", "v1alpha1.tenancy.kiosk.sh"}, {"uid", "u1"}}},
      {"spec",
       {{"service", {{"name", own ? "zood-accounts" : "kiosk"}, {"namespace", "zoo-system"}}}}}};
  const json slice{{"metadata", {{"name", "zood-accounts-1"}, {"uid", "u2"}}},
                   {"endpoints", json::array({{{"addresses", json::array({"192.0.2.7"})}}})},
                   {"ports", json::array({{{"port", 7445}}})}};
  const json service{{"metadata", {{"name", "zood-accounts"}, {"uid", "u3"}}}};
  const std::string gone = R"({"kind":"Status","code":404,"reason":"NotFound","message":"gone"})";
  server.on("GET " + path(aggregated::k_api_service_path),
            own ? std::vector<Server::Answer>{{200, object.dump()}, {404, gone}}
                : std::vector<Server::Answer>{{200, object.dump()}});
  server.on("GET " + path(aggregated::k_slices),
            {{200, json{{"items", json::array({slice})}}.dump()}, {200, R"({"items":[]})"}});
  server.on("GET " + path(aggregated::k_service_path), {{200, service.dump()}});
  server.on("GET " + path(aggregated::k_namespace_path),
            {{200, R"({"metadata":{"annotations":{"zoo.kubezoo.io/aggregated-door":"off"}}})"}});
  server.on("PATCH " + path(aggregated::k_namespace_path), {{200, "{}"}});
  server.on("DELETE " + path(aggregated::k_api_service_path), {{200, "{}"}});
  server.on("DELETE " + path(aggregated::k_slices) + "/zood-accounts-1", {{200, "{}"}});
  server.on("DELETE " + path(aggregated::k_service_path), {{200, "{}"}});
}

std::vector<std::string> writes(const Server& server) {
  std::vector<std::string> out;
  for (const auto& request : server.requests) {
    if (request.method != "GET")
      out.push_back(request.method + " " + request.url.substr(request.url.rfind('/') + 1));
  }
  return out;
}

} // namespace

TEST_CASE("account aggregated: zood is asked, and told") {
  Zooctl zooctl;
  zooctl.server.on("GET /zoo/v1/aggregated", {{200, k_registered}});
  zooctl.server.on("PUT /zoo/v1/aggregated", {{200, k_registered}});
  const auto status = zooctl({"account", "aggregated", "status"});
  CHECK(status.status == 0);
  CHECK(status.out == "Switch:     on\n"
                      "Registered: yes\n"
                      "Available:  True: all checks passed\n"
                      "Endpoint:   192.0.2.7:7445\n");
  const auto record = zooctl({"account", "aggregated", "status", "-o", "json"});
  CHECK(json::parse(record.out)["available"] == "True");

  CHECK(zooctl({"account", "aggregated", "off"}).status == 0);
  CHECK(json::parse(zooctl.server.asked("PUT", "/zoo/v1/aggregated").body)["enabled"] == false);
  CHECK(zooctl({"account", "aggregated", "on"}).status == 0);
  CHECK(json::parse(zooctl.server.asked("PUT", "/zoo/v1/aggregated").body)["enabled"] == true);
  CHECK(zooctl({"account", "aggregated", "sideways"}).status == 64);
}

TEST_CASE("account aggregated off: where zood is dead the way out is named") {
  Zooctl zooctl;
  zooctl.server.on("PUT /zoo/v1/aggregated",
                   {{0, "", Error(Code::unavailable, "connection refused")}});
  const auto outcome = zooctl({"account", "aggregated", "off"});
  CHECK(outcome.status == 69);
  CHECK(has(outcome.err, "--upstream KUBECONFIG"));
}

TEST_CASE(
    "account aggregated off --upstream: remembered first, then the APIService, then the rest") {
  const Kubeconfig kubeconfig;
  Zooctl zooctl;
  registered(zooctl.server);
  const auto outcome =
      zooctl({"account", "aggregated", "off", "--upstream", kubeconfig.file.string()});
  CHECK(outcome.status == 0);
  CHECK(writes(zooctl.server) ==
        std::vector<std::string>{"PATCH zoo-system", "DELETE v1alpha1.tenancy.kiosk.sh",
                                 "DELETE zood-accounts-1", "DELETE zood-accounts"});
  const auto& patch = zooctl.server.asked("PATCH", "/namespaces/zoo-system");
  CHECK(has(patch.body, R"("zoo.kubezoo.io/aggregated-door":"off")"));
  CHECK(has(zooctl.server.asked("DELETE", "apiservices").body, R"("uid":"u1")"));
}

TEST_CASE("account aggregated off --upstream: another's APIService stays") {
  const Kubeconfig kubeconfig;
  Zooctl zooctl;
  registered(zooctl.server, false);
  const auto outcome =
      zooctl({"account", "aggregated", "off", "--upstream", kubeconfig.file.string()});
  CHECK(outcome.status != 0);
  CHECK(has(outcome.err, "not zood's"));
  CHECK(writes(zooctl.server) == std::vector<std::string>{"PATCH zoo-system"});
}

TEST_CASE(
    "account aggregated off --upstream: what cannot be remembered is taken away all the same") {
  const Kubeconfig kubeconfig;
  Zooctl zooctl;
  registered(zooctl.server);
  zooctl.server.on("PATCH /api/v1/namespaces/zoo-system",
                   {{403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})"}});
  const auto outcome =
      zooctl({"account", "aggregated", "off", "--upstream", kubeconfig.file.string()});
  CHECK(outcome.status == 0);
  CHECK(has(outcome.err, "registers it again"));
  CHECK(writes(zooctl.server).size() == 4);
}

TEST_CASE("account aggregated status --upstream: what upstream says itself") {
  const Kubeconfig kubeconfig;
  Zooctl zooctl;
  registered(zooctl.server);
  const auto outcome =
      zooctl({"account", "aggregated", "status", "--upstream", kubeconfig.file.string()});
  CHECK(outcome.out == "Switch:     off\n"
                       "Registered: yes\n"
                       "Available:  not looked at yet\n"
                       "Endpoint:   192.0.2.7:7445\n");
}
