// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/objects.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::accounts;
using nlohmann::json;

namespace {

constexpr const char* k_namespace = R"({"metadata":{"name":"s","uid":"u","resourceVersion":"7",
"labels":{"kiosk.sh/account":"team","kubernetes.io/metadata.name":"s"},
"managedFields":[{"manager":"kubectl","apiVersion":"v1","fieldsV1":{"f:metadata":{"f:labels":
{"f:kiosk.sh/account":{}}}}}]},
"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})";

} // namespace

TEST_CASE("a space is the view of a namespace, and the way back leads to it") {
  const auto space = read_space(k_namespace);
  REQUIRE(space != nullptr);
  CHECK(space->account == "team");
  CHECK(space->revision == 7);
  const auto shown = tenancy_space(*space);
  CHECK(shown["apiVersion"] == "tenancy.kiosk.sh/v1alpha1");
  CHECK(shown["kind"] == "Space");
  CHECK(shown["spec"] == json::parse(R"({"account":"team","finalizers":["kubernetes"]})"));
  CHECK(shown["status"]["phase"] == "Active");
  CHECK_FALSE(shown["metadata"]["labels"].contains("kiosk.sh/account"));
  const auto& owner = shown["metadata"]["managedFields"][0];
  CHECK(owner["apiVersion"] == "tenancy.kiosk.sh/v1alpha1");
  CHECK(owner["fieldsV1"] == json::parse(R"({"f:spec":{"f:account":{}}})"));

  auto expected = json::parse(k_namespace);
  expected["apiVersion"] = "v1";
  expected["kind"] = "Namespace";
  expected.erase("status");
  CHECK(namespace_of(shown) == expected);
}

TEST_CASE("a tenant's namespace is no space") {
  CHECK(read_space(R"({"metadata":{"name":"foofoo-default",
"labels":{"tenant.kubezoo.io/id":"foofoo"}}})") == nullptr);
  CHECK(read_space("{}") == nullptr);
  CHECK(read_space("nonsense") == nullptr);
}

TEST_CASE("an account is read whatever it contains") {
  CHECK(read_account("[]") == nullptr);
  CHECK(read_account(R"({"metadata":{}})") == nullptr);
  const auto odd = read_account(R"({"metadata":{"name":"a"},"spec":{"subjects":[7,{"kind":"User"},
{"kind":"User","name":"john"},{"kind":"ServiceAccount","name":"bot","namespace":"ci"},
{"kind":"ServiceAccount","name":"lost"},{"kind":"Group","name":"devs"}],
"space":{"limit":"many","clusterRole":7}}})");
  REQUIRE(odd != nullptr);
  CHECK(odd->subject_keys ==
        std::vector<std::string>{"g:devs", "u:john", "u:system:serviceaccount:ci:bot"});
  CHECK_FALSE(odd->limit.has_value());
  CHECK_FALSE(odd->cluster_role.has_value());
  const auto exact = read_account(R"({"metadata":{"name":"a","deletionTimestamp":"2026-01-01"},
"spec":{"space":{"limit":2,"clusterRole":"","spaceTemplate":{"metadata":{"labels":{"x":"y"}}},
"reconcile":false},"deletionPolicy":"Refuse"}})");
  REQUIRE(exact != nullptr);
  CHECK(exact->limit == 2);
  CHECK(exact->cluster_role == "");
  CHECK(exact->space_labels.at("x") == "y");
  CHECK_FALSE(exact->reconcile);
  CHECK(exact->deleting);
  CHECK(exact->deletion == DeletionPolicy::refuse);
}
