// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/own_name.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/target.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::translate;
using nlohmann::json;
using test::tenant;

namespace {

std::optional<Misnamed> judged(std::string_view group, std::string_view resource,
                               std::string_view name) {
  return misnamed(tenant(), find_facts(group, resource), name);
}

constexpr std::string_view k_rbac = "rbac.authorization.k8s.io";

} // namespace

TEST_CASE("a name that only the prefix makes good is refused by upstream all the same") {
  const auto found = judged("scheduling.k8s.io", "priorityclasses", "-dash");
  REQUIRE(found);
  CHECK(found->upstream == "abc123--dash_");
  CHECK(with_upstream_name(*found, R"({"metadata":{"labels":{},"name":"abc123--dash"}})") ==
        R"({"metadata":{"labels":{},"name":"abc123--dash_"}})");
  CHECK(with_upstream_name(*found, R"({"metadata":{"name":"other"}})") ==
        R"({"metadata":{"name":"other"}})");
  CHECK(judged("", "namespaces", "-dash"));
  CHECK(judged("storage.k8s.io", "storageclasses", "-a.b"));
}

TEST_CASE("a definition's group is spoiled with its name") {
  const auto found =
      judged("apiextensions.k8s.io", "customresourcedefinitions", "as.-x.example.com");
  REQUIRE(found);
  CHECK(found->upstream == "as.abc123--x.example.com_");
  CHECK(with_upstream_name(*found, R"({"metadata":{"name":"as.abc123--x.example.com"},)"
                                   R"("spec":{"group":"abc123--x.example.com"}})") ==
        R"({"metadata":{"name":"as.abc123--x.example.com_"},)"
        R"("spec":{"group":"abc123--x.example.com_"}})");
  // Another group than that of its name is upstream's to tell.
  CHECK(with_upstream_name(*found, R"({"metadata":{"name":"as.abc123--x.example.com"},)"
                                   R"("spec":{"group":"abc123-y.example.com"}})") ==
        R"({"metadata":{"name":"as.abc123--x.example.com_"},)"
        R"("spec":{"group":"abc123-y.example.com"}})");
  CHECK(
      words_out(*found, R"(name: "as.abc123--x.example.com_", group: "abc123--x.example.com_")") ==
      R"(name: "as.-x.example.com", group: "-x.example.com")");
}

TEST_CASE("good names, and those that are bad with the prefix too, go as they are") {
  for (const std::string_view name : {"a", "a.b-c", "0", "UPPER", "a..b", "dash-", ".", "-", ""})
    CHECK_FALSE(judged("scheduling.k8s.io", "priorityclasses", name));
  CHECK_FALSE(judged("storage.k8s.io", "storageclasses", "standard")); // the platform's
  CHECK_FALSE(judged("apiextensions.k8s.io", "customresourcedefinitions", "as.example.com"));
  CHECK_FALSE(misnamed(tenant(), nullptr, "-dash"));
  CHECK_FALSE(misnamed(tenant(""), find_facts("", "namespaces"), "-dash"));
}

TEST_CASE("names of RBAC are segments of a path") {
  CHECK_FALSE(judged(k_rbac, "clusterroles", "-dash"));
  CHECK_FALSE(judged(k_rbac, "clusterroles", "system:node"));
  const auto found = judged(k_rbac, "clusterroles", "..");
  REQUIRE(found);
  CHECK(found->upstream == "abc123-..%");
  CHECK(judged(k_rbac, "clusterrolebindings", ".")->upstream == "zoo:crb:.%");
}

TEST_CASE("the refusal is told in the tenant's words") {
  const auto found = judged(k_rbac, "clusterroles", ".");
  REQUIRE(found);
  StatusContext context;
  context.group = k_rbac;
  context.resource = "clusterroles";
  context.misnamed = &*found;
  const auto status = json::parse(status_out(
      tenant(), context,
      R"({"kind":"Status","message":"ClusterRole.rbac.authorization.k8s.io \"abc123-.%\" is invalid: metadata.name: Invalid value: \"abc123-.%\": may not contain '%'",
      "details":{"name":"abc123-.%","group":"rbac.authorization.k8s.io","kind":"ClusterRole",
      "causes":[{"message":"Invalid value: \"abc123-.%\": may not contain '%'","field":"metadata.name"}]}})",
      422));
  CHECK(status["message"] == "ClusterRole.rbac.authorization.k8s.io \".\" is invalid: "
                             "metadata.name: Invalid value: \".\": may not be '.'");
  CHECK(status["details"]["name"] == ".");
  CHECK(status["details"]["causes"][0]["message"] == "Invalid value: \".\": may not be '.'");
}
