// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/openapi_index.hpp"
#include "tests/unit/translate/target_mapping.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <optional>
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

TEST_CASE("by upstream's rules and without a prefix everything is shown as it is") {
  const auto bare = tenant("");
  const auto out = json::parse(catalog().aggregated(Viewer(bare, KindRules::upstream), false));
  CHECK(out["items"] == json::parse(data("apis"))["items"]);
}

TEST_CASE("the platform's rules about kinds hold without a prefix, too") {
  const auto bare = tenant("");
  const auto whole = catalog();
  const auto* found = whole.find_visible(bare, "", "v1", "nodes");
  REQUIRE(found != nullptr);
  const auto nodes = visible_resource(bare, "", *found);
  REQUIRE(nodes);
  for (const auto& each : nodes->subresources)
    CHECK(each.name == "status"); // nodes/proxy reaches the pods of all
}

namespace {

/// What upstream serves after `before`, by its /apis in chunks of that size.
std::optional<Catalog> renewed(const Catalog& before, std::string_view apis,
                               std::size_t chunk = 1'000) {
  Catalog::Reader reader(before, Catalog::Reader::Of::apis);
  while (!apis.empty()) {
    const auto piece = apis.substr(0, chunk);
    if (!reader.feed(piece)) return std::nullopt;
    apis.remove_prefix(piece.size());
  }
  auto groups = reader.finish();
  if (!groups) return std::nullopt;
  return before.renewed(std::nullopt, *std::move(groups));
}

/// The index, fed in chunks of that size; nullopt: it is none.
std::optional<std::string> index_out(const Mapping& mapping, std::string_view document,
                                     std::size_t chunk = std::string_view::npos) {
  const auto known = catalog();
  OpenApiIndex index(mapping, known);
  while (!document.empty()) {
    const auto piece = document.substr(0, chunk);
    if (!index.feed(piece)) return std::nullopt;
    document.remove_prefix(piece.size());
  }
  auto out = index.finish();
  return out ? std::optional(*std::move(out)) : std::nullopt;
}

} // namespace

TEST_CASE("the OpenAPI index names what a tenant sees, in its names") {
  const auto upstream = data("openapi_index");
  const auto out = index_out(tenant(), upstream);
  REQUIRE(out);
  CHECK(out->find("abc123") == std::string::npos);
  CHECK(out->find("zzz999") == std::string::npos);
  const auto paths = json::parse(*out)["paths"];
  REQUIRE(paths.contains("apis/stable.example.com/v1"));
  const std::string url = paths["apis/stable.example.com/v1"]["serverRelativeURL"];
  const std::string old =
      json::parse(upstream)["paths"]["apis/abc123-stable.example.com/v1"]["serverRelativeURL"];
  CHECK(url == "/openapi/v3/apis/stable.example.com/v1" + old.substr(old.find('?')));
  CHECK(paths.contains("apis/apps/v1"));
  CHECK(paths.contains("apis/flowcontrol.apiserver.k8s.io/v1"));
  for (const std::size_t chunk : {1U, 7U, 1'000U, 16'384U})
    CHECK(index_out(tenant(), upstream, chunk) == out);
  // Written with spaces, and with members that nobody knows.
  const auto spaced =
      "{ \"a\" : [1, {}], \"b\" : 12 , \"paths\" : " + json::parse(upstream)["paths"].dump(1) +
      " , \"c\" : null } \n";
  const auto same = index_out(tenant(), spaced, 5);
  REQUIRE(same);
  CHECK(json::parse(*same) == json::parse(*out));
  CHECK(index_out(tenant(), R"({"paths":{}})") == R"({"paths":{}})");
}

TEST_CASE("what is no OpenAPI index is refused") {
  for (const auto* text : {"", "[]", "{}", "{\"paths\":[]}", "{\"paths\":{}", "{\"paths\":{}}}",
                           "{\"paths\":{1:{}}}", "{\"paths\" {}}", "x", "{\"paths\":{\"a\" {}}}"}) {
    CAPTURE(text);
    CHECK_FALSE(index_out(tenant(), text));
  }
  // An entry of a tenant's own is read, and has an end.
  CHECK_FALSE(index_out(tenant(), R"({"paths":{"apis/abc123-stable.example.com/v1":{"a":tru}}})"));
  CHECK_FALSE(index_out(tenant(), "{\"paths\":{\"" + std::string(100'000, 'a')));
}

TEST_CASE("of what upstream serves only what has changed is read again") {
  const auto apis = json::parse(data("apis"));
  const auto first = renewed(catalog(), apis.dump());
  REQUIRE(first);
  const auto again = [&](const json& now) {
    auto out = renewed(*first, now.dump());
    REQUIRE(out);
    const auto whole = Catalog::parse(data("api"), now.dump());
    REQUIRE(whole);
    for (const auto& mapping : {tenant(), tenant("zzz999")}) {
      for (const bool core : {false, true})
        CHECK(out->aggregated(mapping, core) == whole->aggregated(mapping, core));
      CHECK(out->group_list(mapping) == whole->group_list(mapping));
    }
    return *std::move(out);
  };
  const auto shared = [&](const Catalog& now, std::string_view group) {
    return first->find_group(group) != nullptr && first->find_group(group) == now.find_group(group);
  };
  const std::string own = "abc123-stable.example.com", other = "zzz999-stable.example.com";
  auto now = apis;
  auto& items = now["items"];
  const auto at = std::find_if(items.begin(), items.end(),
                               [&](const json& item) { return item["metadata"]["name"] == own; });
  REQUIRE(at != items.end());

  SUBCASE("nothing") {
    const auto same = again(now);
    for (const auto& name : group_names(apis))
      CHECK(shared(same, name));
    CHECK(shared(same, ""));
  }
  SUBCASE("one group") {
    (*at)["versions"][0]["resources"][0]["shortNames"] = {"cron"};
    const auto changed = again(now);
    CHECK_FALSE(shared(changed, own));
    CHECK(changed.find(own, "v1", "crontabs")->short_names == std::vector<std::string>{"cron"});
    CHECK(shared(changed, other));
    CHECK(shared(changed, "apps"));
  }
  SUBCASE("one more") {
    auto added = *at;
    added["metadata"]["name"] = "abc123-new.example.com";
    items.insert(at, added);
    const auto more = again(now);
    CHECK(more.groups_with_prefix("abc123-").size() == 2);
    for (const auto& name : group_names(apis))
      CHECK(shared(more, name));
  }
  SUBCASE("one less") {
    items.erase(at);
    const auto less = again(now);
    CHECK(less.find_group(own) == nullptr);
    CHECK(less.groups_with_prefix("abc123-").empty());
    CHECK(shared(less, other));
    CHECK(shared(less, "apps"));
  }
  SUBCASE("another order") {
    std::reverse(items.begin(), items.end());
    const auto reversed = again(now);
    for (const auto& name : group_names(apis))
      CHECK(shared(reversed, name));
  }
}

TEST_CASE("what is no discovery document is refused") {
  const auto known = catalog();
  const auto whole = data("apis");
  for (const std::size_t chunk : {1U, 100'000U}) {
    CHECK(renewed(known, whole, chunk));
    CHECK_FALSE(renewed(known, std::string_view(whole).substr(0, whole.size() / 2), chunk));
    for (const auto* text : {"", "{}", "[]", R"({"kind":"APIGroupDiscoveryList","items":null})",
                             R"({"kind":"PodList","items":[]})",
                             R"({"kind":"APIGroupDiscoveryList","items":[{"a":tru}]})"}) {
      CAPTURE(text);
      CHECK_FALSE(renewed(known, text, chunk));
    }
  }
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
  // What it says of the group is shown as it was written.
  const auto rules = openapi_document_out(
      tenant(), "stable.example.com",
      R"({"components":{"schemas":{"com.example.abc123-stable.v1.A":{"x-kubernetes-group-version-kind":[{"group":"abc123-stable.example.com"}],)"
      R"("x-kubernetes-validations":[{"rule":"self.apiVersion.replace('abc123-', '', 1) == 'a'"}],"not":{"properties":{"apiVersion":{"enum":["abc123-stable.example.com/v1"]}}}}}}})");
  const auto shown = json::parse(*rules)["components"]["schemas"]["com.example.stable.v1.A"];
  CHECK(shown["x-kubernetes-validations"][0]["rule"] == "self.apiVersion == 'a'");
  CHECK(shown["not"]["properties"]["apiVersion"]["enum"][0] == "stable.example.com/v1");
}
