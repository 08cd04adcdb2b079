// SPDX-License-Identifier: Apache-2.0
#include "common/kiosk/removal.hpp"
#include "daemon/upstream/accounts_manifests.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>

using namespace zoo;
using nlohmann::json;

namespace {

/// What is there, by path; lists answer what is under them.
struct Upstream {
  std::map<std::string, json> objects;
  std::vector<std::string> requests;
  int fenced = 0; ///< so often the removal of Account blue is refused by a policy that is going

  Result<http_client::Response> operator()(std::string_view method, std::string_view target,
                                           std::string_view, const std::string&) {
    const auto path = std::string(target.substr(0, target.find('?')));
    requests.push_back(std::string(method) + " " + path);
    const auto found = objects.find(path);
    if (method == "DELETE" && path.ends_with("/accounts/blue") && fenced > 0) {
      --fenced;
      return http_client::Response{
          403,
          {},
          R"({"kind":"Status","reason":"Forbidden","message":"ValidatingAdmissionPolicy )"
          R"('zoo-accounts-config' denied request"})"};
    }
    if (path.ends_with("/accounts") || path.ends_with("/rolebindings") ||
        path.ends_with("/endpointslices")) {
      json items = json::array();
      const auto kind = path.substr(path.rfind('/') + 1);
      for (const auto& [at, object] : objects)
        if (at.find("/" + kind + "/") != std::string::npos) items.push_back(object);
      return http_client::Response{200, {}, json{{"items", items}}.dump()};
    }
    if (found == objects.end()) return http_client::Response{404, {}, "{}"};
    auto object = found->second.dump();
    if (method == "DELETE") objects.erase(found);
    return http_client::Response{200, {}, std::move(object)};
  }
};

json labelled(const char* name) {
  return {{"metadata", {{"name", name}, {"labels", {{"zoo.kubezoo.io/managed", "true"}}}}}};
}

Upstream installed() {
  Upstream out;
  for (const auto& manifest : upstream::account_manifests(true))
    out.objects[manifest.path] = json::parse(manifest.json);
  return out;
}

const auto k_no_pause = [](std::chrono::milliseconds) {};

} // namespace

TEST_CASE("what is installed for accounts is what is removed") {
  std::set<std::string> installed, removed;
  for (const auto& manifest : upstream::account_manifests(true))
    installed.insert(manifest.title() + " " + manifest.path);
  for (const auto& object : kiosk::removal_order())
    removed.insert(fmt::format("{} {} {}", object.kind, object.name, object.path));
  std::vector<std::string> missing;
  std::set_difference(installed.begin(), installed.end(), removed.begin(), removed.end(),
                      std::back_inserter(missing));
  CHECK(missing == std::vector<std::string>{});
  CHECK(removed.size() == installed.size() + 3); // the APIService, its Service and the webhook
}

TEST_CASE("everything goes, what upstream calls first, and another's stays") {
  auto server = installed();
  const auto order = kiosk::removal_order();
  server.objects[std::string(order[0].path)] = labelled("v1alpha1.tenancy.kiosk.sh");
  auto slice = labelled("zood-accounts-1");
  slice["metadata"]["namespace"] = "zoo-system";
  server.objects["/apis/discovery.k8s.io/v1/namespaces/zoo-system/endpointslices/zood-accounts-1"] =
      slice;
  auto& foreign = server.objects["/apis/rbac.authorization.k8s.io/v1/clusterroles/kiosk-edit"];
  foreign["metadata"].erase("labels");
  const auto result = kiosk::remove_accounts(std::ref(server), {}, k_no_pause);
  REQUIRE(result);
  CHECK(result->left == std::vector<std::string>{"ClusterRole kiosk-edit"});
  CHECK(result->removed.front() == "APIService v1alpha1.tenancy.kiosk.sh");
  CHECK(server.objects.size() == 1);

  const auto again = kiosk::remove_accounts(std::ref(server), {}, k_no_pause);
  REQUIRE(again);
  CHECK(again->removed.empty());
}

TEST_CASE("accounts are not lost unless that is said") {
  auto server = installed();
  auto account = labelled("blue");
  account["metadata"]["finalizers"] = {"x"};
  account["status"]["namespaces"] = {{{"name", "one"}}, {{"name", "two"}}};
  const std::string path = "/apis/config.kiosk.sh/v1alpha1/accounts/blue";
  server.objects[path] = account;
  auto binding = labelled("zoo:account");
  binding["metadata"]["namespace"] = "one";
  const std::string binding_path =
      "/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings/zoo%3Aaccount";
  server.objects[binding_path] = binding;
  const auto before = server.objects.size();

  const auto refused = kiosk::remove_accounts(std::ref(server), {}, k_no_pause);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::conflict);
  CHECK(refused.error().message().find("1 account (blue) with 2 spaces") != std::string::npos);

  const auto looked = kiosk::remove_accounts(std::ref(server), {true, true}, k_no_pause);
  REQUIRE(looked);
  CHECK(server.objects.size() == before);

  server.fenced = 3;
  const auto done = kiosk::remove_accounts(std::ref(server), {true, false}, k_no_pause);
  REQUIRE(done);
  CHECK(done->removed == looked->removed);
  CHECK(server.objects.empty());
  CHECK(server.fenced == 0);
  const auto at = [&](const std::string& request) {
    return std::find(server.requests.begin(), server.requests.end(), request);
  };
  CHECK(at("PATCH " + path) < at("DELETE " + path));
  CHECK(at("DELETE " + binding_path) < at("DELETE " + path));
}
