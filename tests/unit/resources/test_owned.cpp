// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/resources/views.hpp"

#include <doctest/doctest.h>

using nlohmann::json;
using namespace zoo;
using namespace zoo::resources;
using namespace zoo::resources::test;

namespace {

/// jane may do everything.
struct Owned : Views {
  Owned() {
    spaces->may_create("jane");
    spaces->may_write("jane");
  }
  Answer apply(const std::string& manager, const json& spec, const std::string& query = "") {
    const json object{{"apiVersion", "tenancy.example.io/v1alpha1"},
                      {"kind", "Space"},
                      {"metadata", {{"name", "s"}}},
                      {"spec", spec}};
    return ask("jane", "PATCH", k_spaces + "/s?fieldManager=" + manager + query, object.dump(),
               {k_apply});
  }
  json live() { return body_of(ask("jane", "GET", k_spaces + "/s")); }
  std::string managers() {
    std::string out;
    const auto object = live();
    for (const auto& entry : object["metadata"]["managedFields"])
      out +=
          entry["manager"].get<std::string>() + ":" + entry["operation"].get<std::string>() + " ";
    return out;
  }
};

} // namespace

TEST_CASE("an applied object has owners, and a field of somebody else's is a conflict") {
  Owned views;
  CHECK(views.apply("one", {{"account", "a"}, {"note", "x"}}).status == 201);
  CHECK(views.managers() == "one:Apply ");
  CHECK(views.apply("one", {{"account", "a"}, {"note", "x"}}).status == 200);
  const auto before = views.live();
  const auto refused = views.apply("two", {{"note", "y"}});
  CHECK(refused.status == 409);
  CHECK(body_of(refused)["message"] == "Apply failed with 1 conflict: conflict with \"one\" using "
                                       "tenancy.example.io/v1alpha1: .spec.note");
  CHECK(views.live() == before);
  CHECK(views.apply("two", {{"note", "y"}}, "&force=true").status == 200);
  CHECK(views.live()["spec"] == json{{"account", "a"}, {"note", "y"}});
  CHECK(views.managers() == "one:Apply two:Apply ");
  // What an owner leaves out, and nobody else has, goes.
  CHECK(views.apply("two", json::object()).status == 200);
  CHECK(views.live()["spec"] == json{{"account", "a"}});
  // An empty object that is no longer applied takes nothing of others' along.
  CHECK(views
            .ask("jane", "PATCH", k_spaces + "/s?fieldManager=two",
                 R"({"metadata":{"labels":{"x":"y"}}})", {k_apply})
            .status == 200);
  CHECK(views.live()["spec"] == json{{"account", "a"}});
  CHECK(views.live()["metadata"]["labels"]["x"] == "y");
}

TEST_CASE("elements of a keyed list have owners of their own") {
  Owned views;
  const auto binding = [](const char* name) { return json{{"name", name}, {"role", "view"}}; };
  const auto bound = [&](json list) { return json{{"bindings", std::move(list)}}; };
  CHECK(views.apply("one", bound(json::array({binding("a")}))).status == 201);
  CHECK(views.apply("two", bound(json::array({binding("b")}))).status == 200);
  CHECK(views.live()["spec"]["bindings"].size() == 2);
  CHECK(views.apply("one", bound(json::array())).status == 200);
  CHECK(views.live()["spec"]["bindings"] == json::array({binding("b")}));
  CHECK(views
            .ask("jane", "PATCH", k_spaces + "/s",
                 R"({"spec":{"bindings":[{"name":"b","role":"edit"},{"name":"c"}]}})",
                 {k_strategic})
            .status == 200);
  CHECK(views.live()["spec"]["bindings"] ==
        json::parse(R"([{"name":"b","role":"edit"},{"name":"c"}])"));
}

TEST_CASE("updates and patches own what they change, and nothing else of the server's") {
  Owned views;
  CHECK(views.apply("one", {{"account", "a"}, {"note", "x"}}).status == 201);
  auto object = views.live();
  object["spec"]["note"] = "z";
  object["metadata"]["uid"] = "uid-s";
  object["metadata"]["creationTimestamp"] = "1999-01-01T00:00:00Z";
  object["status"] = {{"phase", "Lost"}};
  CHECK(
      views.ask("jane", "PUT", k_spaces + "/s?fieldManager=edit", object.dump(), {k_json}).status ==
      200);
  CHECK(views.managers() == "one:Apply edit:Update ");
  CHECK(views.live()["status"]["phase"] == "Active");
  CHECK(views.live()["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z");
  CHECK(views.apply("one", {{"account", "a"}, {"note", "x"}}).status == 409);
  // The version that was read is the one that is replaced.
  CHECK(views.ask("jane", "PUT", k_spaces + "/s", object.dump(), {k_json}).status == 409);
  object["metadata"]["uid"] = "other";
  CHECK(views.ask("jane", "PUT", k_spaces + "/s", object.dump(), {k_json}).status == 409);
  // A patch that changes nothing writes nothing.
  const auto revision = views.spaces->revision();
  CHECK(views.ask("jane", "PATCH", k_spaces + "/s", R"({"spec":{"note":"z"}})", {k_merge}).status ==
        200);
  CHECK(views.spaces->revision() == revision);
}

TEST_CASE("a write that meets another one is tried again on what is there now") {
  Owned views;
  CHECK(views.apply("one", {{"account", "a"}}).status == 201);
  const auto meanwhile = [&] {
    CHECK(views
              .ask("jane", "PATCH", k_spaces + "/s", R"({"metadata":{"labels":{"x":"y"}}})",
                   {k_merge})
              .status == 200);
  };
  views.spaces->before_write(meanwhile);
  CHECK(views.ask("jane", "PATCH", k_spaces + "/s", R"({"spec":{"note":"n"}})", {k_merge}).status ==
        200);
  CHECK(views.live()["spec"]["note"] == "n");
  CHECK(views.live()["metadata"]["labels"]["x"] == "y");
  views.spaces->before_write(
      [&] { CHECK(views.apply("two", {{"note", "m"}}, "&force=true").status == 200); });
  CHECK(views.apply("three", {{"bindings", json::array({{{"name", "q"}}})}}).status == 200);
  CHECK(views.live()["spec"]["note"] == "m");
  CHECK(views.live()["spec"]["bindings"].size() == 1);
}

TEST_CASE("rights are asked for before it is said whether there is something") {
  Owned views;
  views.spaces->may_write("bob"); // but not create
  CHECK(views.ask("bob", "PATCH", k_spaces + "/s?fieldManager=m", "{}", {k_apply}).status == 403);
  CHECK(views.ask("bob", "POST", k_spaces, R"({"metadata":{"name":"s"}})", {k_json}).status == 403);
}

TEST_CASE("a create gets the strategy's defaults, judgement and a name") {
  Owned views;
  const auto made =
      views.ask("jane", "POST", k_spaces,
                R"({"metadata":{"generateName":"team-"},"spec":{"nope":1}})", {k_json});
  CHECK(made.status == 201);
  CHECK(body_of(made)["spec"]["account"] == "janes-account");
  CHECK(text_at(body_of(made), "metadata.name").size() == 10);
  CHECK(made.warnings == std::vector<std::string>{"unknown field \"spec.nope\", did you mean "
                                                  "\"spec.note\"?",
                                                  "the space is being made"});
  CHECK(views.ask("jane", "POST", k_spaces, R"({"metadata":{}})", {k_json}).status == 422);
  const auto judged =
      views.ask("jane", "POST", k_spaces,
                R"({"metadata":{"name":"s"},"spec":{"account":"nobodys"}})", {k_json});
  CHECK(judged.status == 422);
  CHECK(body_of(judged)["details"]["causes"][0]["field"] == "spec.account");
  const auto dry =
      views.ask("jane", "POST", k_spaces + "?dryRun=All", R"({"metadata":{"name":"s"}})", {k_json});
  CHECK(dry.status == 201);
  CHECK(views.ask("jane", "GET", k_spaces + "/s").status == 404);
}

TEST_CASE("a body is what the schema says, or the field is named") {
  Owned views;
  const auto posted = [&](const char* body) {
    return views.ask("jane", "POST", k_spaces, body, {k_json});
  };
  CHECK(posted(R"([])").status == 400);
  CHECK(posted(R"({"kind":"Account","metadata":{"name":"s"}})").status == 400);
  CHECK(posted(R"({"apiVersion":"v1","metadata":{"name":"s"}})").status == 400);
  const auto told = [&](const char* body) {
    const auto answer = posted(body);
    CHECK(answer.status == 422);
    return body_of(answer)["details"]["causes"][0]["field"].get<std::string>();
  };
  CHECK(told(R"({"metadata":{"name":"s"},"spec":{"note":7}})") == "spec.note");
  CHECK(told(R"({"metadata":{"name":"s"},"spec":{"bindings":[{"name":"a"},{"name":{}}]}})") ==
        "spec.bindings[1].name");
  CHECK(told(R"({"metadata":{"name":"s","labels":{"a":1}}})") == "metadata.labels");
  CHECK(posted(R"({"metadata":{"name":"s","annotations":null},"spec":{"note":null}})").status ==
        201);
  CHECK(views.live()["kind"] == "Space");
  const http::Header json_patch{"Content-Type", "application/json-patch+json"};
  CHECK(views
            .ask("jane", "PATCH", k_spaces + "/s", R"([{"op":"replace","path":"","value":7}])",
                 {json_patch})
            .status == 400);
  CHECK(views.ask("jane", "PATCH", k_spaces + "/s", R"({"metadata":"x"})", {k_merge}).status ==
        422);
}

TEST_CASE("a deletion of what goes at once is answered with a Status") {
  Owned views;
  CHECK(views.apply("one", {{"account", "a"}}).status == 201);
  CHECK(views.ask("jane", "DELETE", k_spaces + "/s", R"({"preconditions":{"uid":"x"}})", {k_json})
            .status == 409);
  const auto gone = views.ask("jane", "DELETE", k_spaces + "/s");
  CHECK(gone.status == 200);
  CHECK(body_of(gone)["status"] == "Success");
  CHECK(views.ask("jane", "GET", k_spaces + "/s").status == 404);
}
