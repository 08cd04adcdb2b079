// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/resources/views.hpp"

#include <doctest/doctest.h>

using nlohmann::json;
using namespace zoo;
using namespace zoo::resources;
using namespace zoo::resources::test;

namespace {

using Lines = std::vector<std::string>;

/// a, b, c and d at revisions 101 to 104; jane sees a and c, bob b.
void furnish(Views& views) {
  for (const char* name : {"a", "b", "c", "d"})
    views.spaces->put(name, "team", {{"level", name}});
  views.spaces->grant("jane", "a");
  views.spaces->grant("jane", "c");
  views.spaces->grant("bob", "b"); // 107
}

} // namespace

TEST_CASE("everybody lists what he may see, on full pages, at a real revision") {
  Views views;
  furnish(views);
  CHECK(views.names("jane") == "a c");
  CHECK(views.names("bob") == "b");
  CHECK(views.names("eve") == "");
  CHECK(text_at(body_of(views.ask("eve", "GET", k_spaces)), "metadata.resourceVersion") == "107");
  CHECK(views.names("jane", "limit=1") == "a ...");
  CHECK(views.names("jane", "limit=1&continue=" + views.next) == "c");
  CHECK(views.names("jane", "labelSelector=level!%3Da") == "c");
  CHECK(views.names("jane", "fieldSelector=metadata.name%3Db") == "");
  CHECK(views.names("jane", "fieldSelector=spec.account%3Dteam,metadata.name!%3Da") == "c");
  CHECK(views.ask("jane", "GET", k_spaces + "?fieldSelector=spec.note%3Dx").status == 400);
}

TEST_CASE("what is hidden is not there, and a refusal does not tell whether it is") {
  Views views;
  furnish(views);
  const auto hidden = views.ask("jane", "GET", k_spaces + "/b");
  CHECK(hidden.status == 404);
  CHECK(body_of(hidden)["message"] == "spaces.tenancy.example.io \"b\" not found");
  CHECK(views.ask("jane", "GET", k_spaces + "/a").status == 200);
  for (const char* method : {"PUT", "PATCH", "DELETE"}) {
    const auto there = views.ask("jane", method, k_spaces + "/b", "{}", {k_merge});
    const auto nowhere = views.ask("jane", method, k_spaces + "/z", "{}", {k_merge});
    CHECK(there.status == 403);
    CHECK(nowhere.status == 403);
  }
  // With the right to write, what is not seen is not there either.
  views.spaces->may_write("jane");
  CHECK(views.ask("jane", "PATCH", k_spaces + "/b", "{}", {k_merge}).status == 404);
  CHECK(views.ask("jane", "DELETE", k_spaces + "/z").status == 404);
}

TEST_CASE("a watch tells a grant as ADDED and a revocation as DELETED, to him alone") {
  Views views;
  furnish(views);
  auto janes = views.watch("jane", "&resourceVersion=107&allowWatchBookmarks=true");
  auto bobs = views.watch("bob", "&resourceVersion=107");
  views.spaces->grant("jane", "b");
  views.spaces->put("b", "team", {{"level", "x"}});
  views.spaces->revoke("jane", "b");
  views.spaces->put("b", "team");
  views.spaces->erase("a");
  // The object is as old as it is; a bookmark says that the watch stands at the grant.
  CHECK(janes.told() ==
        Lines{"ADDED b@102", "BOOKMARK @108", "MODIFIED b@109", "DELETED b@110", "DELETED a@112"});
  CHECK(bobs.told() == Lines{"MODIFIED b@109", "MODIFIED b@111"});
  CHECK(views.spaces->watchers() == 2);
}

TEST_CASE("a watch is resumed behind a grant, and ends where the past is forgotten") {
  Views views;
  furnish(views);
  views.spaces->grant("jane", "d"); // 108
  views.spaces->revoke("jane", "a");
  CHECK(views.watch("jane", "&resourceVersion=107").told() ==
        Lines{"ADDED d@104", "DELETED a@109"});
  CHECK(views.watch("jane", "&resourceVersion=108").told() == Lines{"DELETED a@109"});
  CHECK(views.watch("jane", "").told() == Lines{"ADDED c@103", "ADDED d@104"});
  views.spaces->forget(109);
  const auto answer = views.ask("jane", "GET", k_spaces + "?watch=true&resourceVersion=108");
  REQUIRE(answer.watch);
  REQUIRE(answer.watch->plan().refused);
  CHECK(answer.watch->plan().refused->code() == Code::expired);
}

TEST_CASE("initial events end with a bookmark, and a selector hides what stops to match") {
  Views views;
  furnish(views);
  auto watch = views.watch("jane", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                                   "&allowWatchBookmarks=true&labelSelector=level");
  const auto begin = watch.lines();
  REQUIRE(begin.size() == 3);
  CHECK(begin[2]["type"] == "BOOKMARK");
  CHECK(begin[2]["object"]["kind"] == "Space");
  CHECK(begin[2]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true");
  views.spaces->put("a", "team");
  views.spaces->put("a", "other");
  views.spaces->put("b", "team");
  views.spaces->revoke("jane", "a");
  views.spaces->revoke("jane", "c");
  CHECK(watch.told() == Lines{"DELETED a@108", "DELETED c@112"});
}

TEST_CASE("tables and partial metadata follow from the row") {
  Views views;
  furnish(views);
  const http::Header table{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"};
  const auto shown = body_of(views.ask("jane", "GET", k_spaces, "", {table}));
  CHECK(shown["columnDefinitions"].size() == 4);
  CHECK(shown["columnDefinitions"][3]["priority"] == 1);
  CHECK(shown["rows"][1]["cells"] == json::array({"c", "team", "60m", "<none>"}));
  CHECK(shown["rows"][1]["object"]["kind"] == "PartialObjectMetadata");
  const http::Header partial{"Accept",
                             "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"};
  const auto metadata = body_of(views.ask("jane", "GET", k_spaces, "", {partial}));
  CHECK(metadata["kind"] == "PartialObjectMetadataList");
  CHECK_FALSE(metadata["items"][0].contains("spec"));
}

TEST_CASE("discovery and OpenAPI tell of all kinds of a group") {
  Views views;
  const auto list = body_of(views.ask("eve", "GET", k_group));
  REQUIRE(list["resources"].size() == 3);
  CHECK(list["resources"][0]["verbs"].size() == 7);
  CHECK(list["resources"][0]["shortNames"] == json{"sp"});
  CHECK(list["resources"][1]["verbs"] == json{"get", "list", "watch"});
  CHECK(list["resources"][2]["namespaced"] == true);
  const http::Header aggregated{
      "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"};
  const auto whole = body_of(views.ask("eve", "GET", "/apis", "", {aggregated}));
  REQUIRE(whole["items"].size() == 1);
  CHECK(whole["items"][0]["versions"][0]["resources"][2]["scope"] == "Namespaced");

  const auto v3 = body_of(views.ask("eve", "GET", "/openapi/v3" + k_group));
  const auto& schemas = v3["components"]["schemas"];
  CHECK(schemas.contains("io.example.tenancy.v1alpha1.SpaceSpec"));
  CHECK(schemas["io.example.tenancy.v1alpha1.SpaceSpec"]["properties"]["bindings"]
               ["x-kubernetes-list-map-keys"] == json{"name"});
  CHECK(v3["paths"][k_spaces + "/{name}"].contains("patch"));
  CHECK_FALSE(v3["paths"][k_group + "/accounts/{name}"].contains("patch"));
  CHECK(v3["paths"].contains(k_group + "/namespaces/{namespace}/templateinstances/{name}"));
  const auto v2 = body_of(views.ask("eve", "GET", "/openapi/v2"));
  CHECK(v2["definitions"].contains("io.example.tenancy.v1alpha1.AccountList"));
}

TEST_CASE("a kind has the verbs of its row and no others") {
  Views views;
  const auto refused = views.ask("jane", "POST", k_group + "/accounts", "{}", {k_json});
  CHECK(refused.status == 405);
  CHECK(refused.headers.get("Allow") == "GET");
  CHECK(views.ask("jane", "DELETE", k_group + "/accounts/x").status == 405);
  CHECK(views.ask("jane", "DELETE", k_spaces).status == 405);
  CHECK(views.ask("jane", "GET", k_spaces + "/x/status").status == 404);
  CHECK(views.ask("jane", "GET", k_group + "/spacs").body.find("did you mean") !=
        std::string::npos);
  CHECK(views.ask("jane", "GET", "/apis/tenancy.example.io/v2/spaces").status == 404);
  CHECK(views.ask("jane", "GET", k_group + "/namespaces/x/spaces").body.find("no namespace") !=
        std::string::npos);
  CHECK(views.ask("jane", "GET", k_group + "/namespaces/x/templateinstances").status == 200);
  CHECK(views.ask("jane", "GET", k_group + "/templateinstances").status == 200);
}

TEST_CASE("a kind of the core group is served below /api") {
  Views views;
  furnish(views);
  const std::string all = "/api/v1/namespaces";
  const auto list = body_of(views.ask("jane", "GET", all));
  CHECK(list["kind"] == "NamespaceList");
  CHECK(list["apiVersion"] == "v1");
  REQUIRE(list["items"].size() == 2);
  CHECK(views.ask("jane", "GET", all + "/a").status == 200);
  CHECK(views.ask("jane", "GET", all + "/b").status == 404);
  CHECK(views.ask("jane", "POST", all, "{}", {k_json}).status == 405);
  const auto watch = views.ask("jane", "GET", all + "?watch=true&resourceVersion=107");
  REQUIRE(watch.watch);
  CHECK(Watching(watch.watch).told() == Lines{});

  const auto sub = views.ask("jane", "GET", all + "/a/pods");
  CHECK(sub.status == 404);
  const auto version = views.ask("jane", "GET", "/api/v2/namespaces");
  CHECK(version.status == 404);
  const auto resource = body_of(views.ask("jane", "GET", "/api/v1/nodes"));
  CHECK(resource["message"] == "the server could not find the requested resource: this API has no "
                               "resource \"nodes\"");
}

TEST_CASE("discovery tells of the core group apart, and OpenAPI not at all") {
  Views views;
  CHECK(body_of(views.ask("jane", "GET", "/api"))["versions"] == json::array({"v1"}));
  const auto resources = body_of(views.ask("jane", "GET", "/api/v1"));
  CHECK(resources["groupVersion"] == "v1");
  CHECK(resources["resources"][0]["name"] == "namespaces");
  CHECK(body_of(views.ask("jane", "GET", "/apis"))["groups"].size() == 1);
  const http::Header aggregated{
      "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"};
  const auto core = body_of(views.ask("jane", "GET", "/api", "", {aggregated}));
  REQUIRE(core["items"].size() == 1);
  CHECK(core["items"][0]["metadata"]["name"] == "");
  CHECK(core["items"][0]["versions"][0]["resources"][0]["resource"] == "namespaces");
  CHECK(body_of(views.ask("jane", "GET", "/apis", "", {aggregated}))["items"].size() == 1);
  CHECK(body_of(views.ask("jane", "GET", "/openapi/v3"))["paths"].size() == 1);
  CHECK_FALSE(
      body_of(views.ask("jane", "GET", "/openapi/v2"))["definitions"].contains("v1.Namespace"));
}
