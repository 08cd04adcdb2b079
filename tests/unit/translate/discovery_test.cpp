// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

using namespace zoo;
using namespace zoo::translate;
using nlohmann::json;
using test::tenant;

namespace {

/// Documents of a Kubernetes 1.36.3 with a CRD of tenant abc123 and one of zzz999.
std::string data(std::string_view name) {
  std::ifstream file(std::string(ZOO_SOURCE_DIR "/tests/unit/translate/discovery_") +
                     std::string(name) + ".json");
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

Catalog catalog() {
  auto parsed = Catalog::parse(data("api"), data("apis"));
  REQUIRE(parsed);
  return *std::move(parsed);
}

std::set<std::string> group_names(const json& list) {
  std::set<std::string> out;
  for (const auto& each : list["items"])
    out.insert(each["metadata"].value("name", ""));
  return out;
}

} // namespace

TEST_CASE("a catalog answers what upstream serves") {
  const auto known = catalog();
  REQUIRE(known.find("", "v1", "pods") != nullptr);
  CHECK(known.find("", "v1", "pods")->namespaced);
  CHECK(known.find("apps", "v1", "deployments")->has_verb("deletecollection"));
  CHECK(known.preferred_version("autoscaling") == "v2");
  CHECK(known.find("apps", "v2", "deployments") == nullptr);
  CHECK(known.find("nowhere", "v1", "x") == nullptr);
  CHECK(known.groups_with_prefix("abc123-").size() == 1);
  CHECK(known.groups_with_prefix("abc12-").empty());
  CHECK(known.find_visible(tenant(), "stable.example.com", "v1", "crontabs") != nullptr);
  CHECK(known.find_visible(tenant(), "abc123-stable.example.com", "v1", "crontabs") == nullptr);
  CHECK(known.find_visible(tenant("zzz999"), "stable.example.com", "v1", "crontabs") == nullptr);
  CHECK(known.find_visible(tenant(), "flowcontrol.apiserver.k8s.io", "v1", "flowschemas") !=
        nullptr);
  CatalogResource internal;
  internal.name = "storageversions";
  internal.verbs = {"get", "list"};
  CHECK_FALSE(visible_resource(tenant(), "internal.apiserver.k8s.io", internal));
  for (const std::string_view bad : {"", "{}", "[]", R"({"kind":"APIGroupList"})"})
    CHECK_FALSE(Catalog::parse(bad, data("apis")));
}

TEST_CASE("a tenant discovers its own groups and never another's") {
  const auto known = catalog();
  for (const std::string id : {"abc123", "zzz999", "foofoo"}) {
    const auto mapping = tenant(id);
    const auto aggregated = known.aggregated(mapping, false);
    const auto list = known.group_list(mapping);
    for (const auto& text : {aggregated, list, known.aggregated(mapping, true)}) {
      CHECK(text.find("abc123") == std::string::npos);
      CHECK(text.find("zzz999") == std::string::npos);
      CHECK(json::accept(text));
    }
    const auto names = group_names(json::parse(aggregated));
    CHECK(names.contains("apps"));
    CHECK(names.contains("stable.example.com") == (id != "foofoo"));
    for (const std::string kept :
         {"flowcontrol.apiserver.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io"})
      CHECK(names.contains(kept));
  }
  const auto mapping = tenant();
  const auto group = json::parse(*known.group(mapping, "stable.example.com"));
  CHECK(group["preferredVersion"]["groupVersion"] == "stable.example.com/v1");
  CHECK_FALSE(known.group(mapping, "zzz999-stable.example.com"));
  CHECK(known.group(mapping, "flowcontrol.apiserver.k8s.io"));
  const auto resources = json::parse(*known.resource_list(mapping, "stable.example.com", "v1"));
  CHECK(resources["groupVersion"] == "stable.example.com/v1");
  REQUIRE(resources["resources"].size() == 3);
  CHECK(resources["resources"][0]["kind"] == "CronTab");
  CHECK_FALSE(resources["resources"][0].contains("group"));
  CHECK(resources["resources"][2]["name"] == "crontabs/scale");
  CHECK(resources["resources"][2]["group"] == "autoscaling");
  CHECK_FALSE(known.resource_list(mapping, "stable.example.com", "v2"));
}

TEST_CASE(
    "shared kinds have the verbs of the tenant's own beside them, hidden ones are not shown") {
  const auto core = json::parse(*catalog().resource_list(tenant(), "", "v1"));
  std::set<std::string> names;
  for (const auto& each : core["resources"]) {
    names.insert(each["name"]);
    if (each["name"] == "nodes") CHECK(each["verbs"].size() == 8);
    if (each["name"] == "nodes/status") CHECK(each["verbs"] == json{"get", "patch", "update"});
  }
  CHECK(names.contains("pods"));
  CHECK(names.contains("pods/exec"));
  CHECK(names.contains("namespaces/finalize"));
  CHECK_FALSE(names.contains("nodes/proxy"));
  CHECK(names.contains("componentstatuses"));
  CHECK(json::parse(catalog().api_versions(
            "zood:7443"))["serverAddressByClientCIDRs"][0]["serverAddress"] == "zood:7443");
}

TEST_CASE("without mapping everything is shown as it is") {
  const auto out = json::parse(catalog().aggregated(tenant(""), false));
  CHECK(out["items"] == json::parse(data("apis"))["items"]);
}

TEST_CASE("the OpenAPI index has the tenant's documents under its names") {
  const auto out = openapi_index_out(tenant(), catalog(), data("openapi_index"));
  REQUIRE(out);
  CHECK(out->find("abc123") == std::string::npos);
  CHECK(out->find("zzz999") == std::string::npos);
  const auto paths = json::parse(*out)["paths"];
  REQUIRE(paths.contains("apis/stable.example.com/v1"));
  const std::string url = paths["apis/stable.example.com/v1"]["serverRelativeURL"];
  CHECK(url.starts_with("/openapi/v3/apis/stable.example.com/v1?hash="));
  CHECK(paths.contains("apis/apps/v1"));
  CHECK(paths.contains("apis/flowcontrol.apiserver.k8s.io/v1"));
  CHECK_FALSE(openapi_index_out(tenant(), catalog(), "[]"));
}

TEST_CASE("a custom group's OpenAPI document is renamed by its structure") {
  const auto out = openapi_document_out(tenant(), "stable.example.com", data("openapi_group"));
  REQUIRE(out);
  CHECK(out->find("abc123") == std::string::npos);
  CHECK(out->find("Abc123") == std::string::npos);
  const auto document = json::parse(*out);
  CHECK(document["paths"].contains("/apis/stable.example.com/v1/crontabs"));
  CHECK(document["components"]["schemas"].contains("com.example.stable.v1.CronTab"));
  const auto& list = document["paths"]["/apis/stable.example.com/v1/crontabs"]["get"];
  CHECK(list["operationId"] == "listStableExampleComV1CronTabForAllNamespaces");
  CHECK(list["tags"][0] == "stableExampleCom_v1");
  CHECK(list["x-kubernetes-group-version-kind"]["group"] == "stable.example.com");
  // The words of the tenant's own schema stay.
  const auto own = openapi_document_out(
      tenant(), "stable.example.com",
      R"({"components":{"schemas":{"com.example.abc123-stable.v1.A":{"description":"abc123-x","properties":{"default":{"$ref":"#/components/schemas/com.example.abc123-stable.v1.B"}},"default":{"$ref":"#/components/schemas/com.example.abc123-stable.v1.B"}}}}})");
  const auto schema = json::parse(*own)["components"]["schemas"]["com.example.stable.v1.A"];
  CHECK(schema["description"] == "abc123-x");
  CHECK(schema["properties"]["default"]["$ref"] == "#/components/schemas/com.example.stable.v1.B");
  CHECK(schema["default"]["$ref"] == "#/components/schemas/com.example.abc123-stable.v1.B");
  CHECK(*openapi_document_out(tenant(), "apps", "{ }") == "{ }");
}
