// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/admin/world.hpp"

#include <doctest/doctest.h>

using nlohmann::json;
using namespace zoo;
using namespace zoo::admin;
using namespace zoo::admin::test;

namespace {

const http::Header k_json{"Content-Type", "application/json"};
const http::Header k_yaml{"Content-Type", "application/yaml"};
const http::Header k_merge{"Content-Type", "application/merge-patch+json"};
const http::Header k_json_patch{"Content-Type", "application/json-patch+json"};
const http::Header k_apply{"Content-Type", "application/apply-patch+yaml"};

std::string message(const Talk& talk) { return talk.json()["message"]; }

} // namespace

TEST_CASE("create, from JSON and YAML, with IDs that look like numbers") {
  World world;
  auto made = world.ask("POST", k_tenants, manifest("foofoo", {{"displayName", "Foo"}}), {k_json});
  CHECK(made->status() == 201);
  CHECK(made->json()["spec"]["displayName"] == "Foo");
  CHECK(made->json()["metadata"]["uid"] == "uid-100");
  const std::string yaml =
      "apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\nmetadata:\n  name: ";
  CHECK(world.ask("POST", k_tenants, yaml + "\"1e1000\"\nspec: {id: 0}\nstatus: {}\n", {k_yaml})
            ->status() == 201);
  auto number = world.ask("POST", k_tenants, yaml + "123456\n", {k_yaml});
  CHECK(number->status() == 422);
  CHECK(message(*number).find("quote") != std::string::npos);

  auto twice = world.ask("POST", k_tenants, manifest("foofoo"), {k_json});
  CHECK(twice->status() == 409);
  CHECK(twice->json()["reason"] == "AlreadyExists");
  CHECK(twice->json()["details"]["name"] == "foofoo");
  CHECK(twice->json()["details"]["kind"] == "tenants");
}

TEST_CASE("what is wrong with a new tenant is said") {
  World world;
  struct Case {
    std::string body;
    int status;
    const char* words;
  };
  for (const auto& each :
       {Case{"", 400, "no body"}, Case{"{", 400, "not valid JSON"}, Case{"[]", 400, ""},
        Case{manifest("foo"), 422, "six characters"},
        Case{R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"foofoo"}})", 400, ""},
        Case{manifest("foofoo", {{"suspended", "yes"}}), 422, "spec.suspended"},
        Case{R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",
                                    "metadata":{"generateName":"foo"}})",
             422, "does not make one up"},
        Case{R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",
                                    "metadata":{"name":"foofoo","labels":{"a b":"c"}}})",
             422, "label key"}}) {
    CAPTURE(each.body);
    auto talk = world.ask("POST", k_tenants, each.body, {k_json});
    CHECK(talk->status() == each.status);
    CHECK(talk->json()["kind"] == "Status");
    CHECK(message(*talk).find(each.words) != std::string::npos);
  }
  CHECK(
      world
          .ask("POST", k_tenants, "k8s", {{"Content-Type", "application/vnd.kubernetes.protobuf"}})
          ->status() == 415);
  CHECK(world.ask("GET", k_tenants)->json()["items"].empty());
}

TEST_CASE("unknown fields warn, or are refused by fieldValidation=Strict") {
  World world;
  const auto body = manifest("foofoo", {{"displayNam", "x"}});
  auto strict = world.ask("POST", k_tenants + "?fieldValidation=Strict", body, {k_json});
  CHECK(strict->status() == 400);
  CHECK(message(*strict).find("strict decoding error: unknown field \"spec.displayNam\"") == 0);
  auto warned = world.ask("POST", k_tenants, body, {k_json});
  CHECK(warned->status() == 201);
  CHECK(warned->stream.head.headers.get("Warning") ==
        "299 - \"unknown field \\\"spec.displayNam\\\", did you mean \\\"spec.displayName\\\"?\"");
  CHECK_FALSE(world
                  .ask("POST", k_tenants + "?fieldValidation=Ignore&dryRun=All",
                       manifest("barbar", {{"x", 1}}), {k_json})
                  ->stream.head.headers.has("Warning"));
  CHECK(world.ask("POST", k_tenants + "?fieldValidation=Loose", body, {k_json})->status() == 400);
}

TEST_CASE("a field that is stored already is no matter of the next write") {
  World world;
  const auto one = k_tenants + "/foofoo", strict = one + "?fieldValidation=Strict";
  const http::Header apply{"Content-Type", "application/apply-patch+yaml"};
  REQUIRE(
      world.ask("POST", k_tenants, manifest("foofoo", {{"suspnded", true}}), {k_json})->status() ==
      201);
  CHECK(world.ask("PATCH", strict, R"({"spec":{"suspended":true}})", {k_merge})
            ->json()["spec"]["suspended"] == true);
  CHECK(world
            .ask("PATCH", strict, R"([{"op":"add","path":"/spec/account","value":"x"}])",
                 {k_json_patch})
            ->status() == 200);
  CHECK(
      world
          .ask("PATCH", strict + "&fieldManager=x", manifest("foofoo", {{"account", "y"}}), {apply})
          ->json()["spec"]["account"] == "y");
  // What is said again, or is new, is judged.
  CHECK(world.ask("PATCH", strict, R"({"spec":{"suspnded":true}})", {k_merge})->status() == 400);
  CHECK(world.ask("PATCH", strict, R"([{"op":"add","path":"/spec/x","value":1}])", {k_json_patch})
            ->status() == 400);
  CHECK(world
            .ask("PATCH", strict + "&fieldManager=x", manifest("foofoo", {{"suspnded", true}}),
                 {apply})
            ->status() == 400);
  // Whoever takes it away may.
  CHECK_FALSE(world.ask("PATCH", strict, R"({"spec":{"suspnded":null}})", {k_merge})
                  ->json()["spec"]
                  .contains("suspnded"));
}

TEST_CASE("a Tenant has no namespace, whatever is said") {
  World world;
  const auto made = world.ask("POST", k_tenants + "?fieldValidation=Strict",
                              R"({"apiVersion":"tenant.kubezoo.io/v1alpha1","kind":"Tenant",
                                  "metadata":{"name":"foofoo","namespace":"team"}})",
                              {k_json});
  CHECK(made->status() == 201);
  CHECK_FALSE(made->json()["metadata"].contains("namespace"));
  const auto read = world.ask("GET", k_tenants + "/foofoo")->json();
  CHECK_FALSE(read["metadata"].contains("namespace"));
}

TEST_CASE("dryRun=All changes nothing") {
  World world;
  world.add("foofoo", "Old");
  const auto one = k_tenants + "/foofoo";
  CHECK(world.ask("POST", k_tenants + "?dryRun=All", manifest("barbar"), {k_json})->status() ==
        201);
  CHECK(world.ask("PATCH", one + "?dryRun=All", R"({"spec":{"displayName":"New"}})", {k_merge})
            ->json()["spec"]["displayName"] == "New");
  CHECK(world.ask("PUT", one + "?dryRun=All", manifest("foofoo"), {k_json})->status() == 200);
  CHECK(world.ask("DELETE", one + "?dryRun=All")->status() == 200);
  CHECK(world.ask("DELETE", one, R"({"dryRun":["All"]})", {k_json})->status() == 200);
  CHECK(world.ask("DELETE", one + "?dryRun=Some")->status() == 400);
  CHECK(world.ask("POST", one + "/kubeconfig?dryRun=All", "{}", {k_json})->status() == 400);
  const auto list = world.ask("GET", k_tenants)->json();
  CHECK(list["items"].size() == 1);
  CHECK(list["items"][0]["spec"]["displayName"] == "Old");
  CHECK_FALSE(list["items"][0]["metadata"].contains("deletionTimestamp"));
}

TEST_CASE("a replacement checks name, uid and resourceVersion") {
  World world;
  world.add("foofoo");
  const auto one = k_tenants + "/foofoo";
  auto object = world.ask("GET", one)->json();
  object["spec"]["displayName"] = "New";
  auto put = world.ask("PUT", one, object.dump(), {k_json});
  CHECK(put->status() == 200);
  CHECK(put->json()["spec"]["displayName"] == "New");
  CHECK(put->stream.body.find("U0VDUkVU") == std::string::npos);
  CHECK(world.ask("GET", k_tenants)->stream.body.find("U0VDUkVU") == std::string::npos);
  auto stale = world.ask("PUT", one, object.dump(), {k_json});
  CHECK(stale->status() == 409);
  CHECK(stale->json()["reason"] == "Conflict");
  object["metadata"].erase("resourceVersion");
  CHECK(world.ask("PUT", one, object.dump(), {k_json})->status() == 200);
  object["metadata"]["uid"] = "another";
  CHECK(world.ask("PUT", one, object.dump(), {k_json})->status() == 409);
  CHECK(world.ask("PUT", one, manifest("barbar"), {k_json})->status() == 400);
  CHECK(world.ask("PUT", k_tenants + "/nobody", manifest("nobody"), {k_json})->status() == 404);
}

TEST_CASE("patches: merge, JSON, and what is neither") {
  World world;
  world.add("foofoo", "Foo", {{"a", "1"}});
  const auto one = k_tenants + "/foofoo";
  auto merged = world.ask("PATCH", one, R"({"metadata":{"labels":{"a":null,"b":"2"}}})", {k_merge});
  CHECK(merged->status() == 200);
  CHECK(merged->json()["metadata"]["labels"] == json{{"b", "2"}});
  auto patched = world.ask("PATCH", one, R"([{"op":"add","path":"/spec/displayName","value":"X"}])",
                           {k_json_patch});
  CHECK(patched->json()["spec"]["displayName"] == "X");
  const auto version = patched->json()["metadata"]["resourceVersion"];
  auto nothing = world.ask("PATCH", one, R"({"spec":{"displayName":"X"}})", {k_merge});
  CHECK(nothing->json()["metadata"]["resourceVersion"] == version);
  auto status = world.ask("PATCH", one, R"({"status":{"phase":"Failed"}})", {k_merge});
  CHECK(status->json()["status"]["phase"] == "Pending");
  CHECK(status->json()["metadata"]["resourceVersion"] == version);

  auto strategic =
      world.ask("PATCH", one, "{}", {{"Content-Type", "application/strategic-merge-patch+json"}});
  CHECK(strategic->status() == 415);
  CHECK(message(*strategic).find("application/merge-patch+json") != std::string::npos);
  CHECK(world.ask("PATCH", one, R"({"metadata":{"name":"barbar"}})", {k_merge})->status() == 400);
  CHECK(world.ask("PATCH", one, R"({"metadata":{"uid":"x"}})", {k_merge})->status() == 409);
  CHECK(world
            .ask("PATCH", one, R"({"metadata":{"resourceVersion":"1"},"spec":{"account":"x"}})",
                 {k_merge})
            ->status() == 409);
  CHECK(world.ask("PATCH", one + "?fieldValidation=Strict", R"({"spec":{"x":1}})", {k_merge})
            ->status() == 400);
  CHECK(world.ask("PATCH", k_tenants + "/nobody", "{}", {k_merge})->status() == 404);
}

TEST_CASE("a patch that meets the controller's write is tried again") {
  World world;
  world.add("foofoo");
  world.tenants.before_write(
      [&] { world.tenants.touch("foofoo", [](auto& tenant) { tenant.labels["by"] = "other"; }); });
  auto patched =
      world.ask("PATCH", k_tenants + "/foofoo", R"({"spec":{"account":"a"}})", {k_merge});
  CHECK(patched->status() == 200);
  CHECK(patched->json()["metadata"]["labels"]["by"] == "other");
  CHECK(patched->json()["spec"]["account"] == "a");
}

TEST_CASE("server-side apply creates, lays over, and leaves alone") {
  World world;
  const auto one = k_tenants + "/foofoo";
  CHECK(world.ask("PATCH", one, manifest("foofoo"), {k_apply})->status() == 400);
  auto made = world.ask("PATCH", one + "?fieldManager=me&force=true",
                        "apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\nmetadata:\n  name: "
                        "foofoo\nspec:\n  displayName: Foo\n",
                        {k_apply});
  CHECK(made->status() == 201);
  auto same = world.ask("PATCH", one + "?fieldManager=me",
                        manifest("foofoo", {{"displayName", "Foo"}}), {k_apply});
  CHECK(same->status() == 200);
  CHECK(same->json()["metadata"]["resourceVersion"] == made->json()["metadata"]["resourceVersion"]);
  auto over = world.ask("PATCH", one + "?fieldManager=me", manifest("foofoo", {{"account", "a"}}),
                        {k_apply});
  CHECK(over->json()["spec"] == json{{"displayName", "Foo"}, {"account", "a"}});
  CHECK(world.ask("PATCH", one + "?fieldManager=me", manifest("barbar"), {k_apply})->status() ==
        400);
}

TEST_CASE("a deletion honours its preconditions") {
  World world;
  world.add("foofoo");
  const auto one = k_tenants + "/foofoo";
  CHECK(world.ask("DELETE", one, R"({"preconditions":{"uid":"x"}})", {k_json})->status() == 409);
  CHECK(world.ask("DELETE", one, R"({"preconditions":{"resourceVersion":"1"}})", {k_json})
            ->status() == 409);
  CHECK(world.ask("DELETE", one, R"({"preconditions":{"uid":7}})", {k_json})->status() == 400);
  auto gone =
      world.ask("DELETE", one,
                R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background",
                            "preconditions":{"uid":"uid-100"}})",
                {k_json});
  CHECK(gone->status() == 200);
  CHECK(gone->json()["kind"] == "Tenant");
  CHECK(gone->json()["metadata"]["deletionTimestamp"] == "2026-01-02T00:00:00Z");
  CHECK(world.ask("DELETE", k_tenants + "/nobody")->status() == 404);
}

TEST_CASE("a deletion's resourceVersion is compared by the write itself") {
  World world;
  world.add("foofoo");
  const auto one = k_tenants + "/foofoo";
  const auto version = world.ask("GET", one)->json()["metadata"]["resourceVersion"];
  const auto options = json{{"preconditions", {{"resourceVersion", version}}}}.dump();
  world.tenants.before_write(
      [&] { world.tenants.touch("foofoo", [](auto& tenant) { tenant.account = "late"; }); });
  CHECK(world.ask("DELETE", one, options, {k_json})->status() == 409);
  CHECK_FALSE(world.ask("GET", one)->json()["metadata"].contains("deletionTimestamp"));
}

TEST_CASE("kubeconfigs: a user asked for is no super-user") {
  World world;
  world.add("foofoo");
  const auto path = k_tenants + "/foofoo/kubeconfig";
  auto made = world.ask("POST", path);
  CHECK(made->status() == 201);
  CHECK(made->json() == json{{"kubeconfig", "kubeconfig of foofoo"}});
  CHECK(world.tenants.last_kubeconfig.administrator);
  world.ask("POST", path,
            R"({"user":"bob","groups":["dev"],"ttlSeconds":60,"server":"https://x:1"})", {k_json});
  const auto& last = world.tenants.last_kubeconfig;
  CHECK_FALSE(last.administrator);
  CHECK(last.user == "bob");
  CHECK(last.groups == std::vector<std::string>{"dev"});
  CHECK(last.ttl == std::chrono::seconds(60));
  CHECK(last.server == "https://x:1");
  for (const char* bad : {R"({"usr":"x"})", R"({"user":1})", R"({"groups":"x"})",
                          R"({"groups":[1]})", R"({"ttlSeconds":"1h"})", R"({"ttlSeconds":-1})",
                          R"({"administrator":"yes"})", "[]", R"({"user":"a","user":"b"})"}) {
    CAPTURE(bad);
    CHECK(world.ask("POST", path, bad, {k_json})->status() == 400);
  }
  CHECK(world.ask("POST", k_tenants + "/nobody/kubeconfig")->status() == 404);
}

TEST_CASE("rotation and revocation are subresources that take a wish each") {
  World world;
  world.add("foofoo");
  const auto rotate = k_tenants + "/foofoo/rotate", revoke = k_tenants + "/foofoo/revoke";
  auto done = world.ask("POST", rotate);
  CHECK(done->status() == 200);
  CHECK(done->json()["kind"] == "Tenant");
  CHECK(world.tenants.last_rotate == false);
  world.ask("POST", rotate, R"({"revokeOld":true})", {k_json});
  CHECK(world.tenants.last_rotate == true);
  world.tenants.last_rotate.reset();
  CHECK(world.ask("POST", rotate + "?dryRun=All")->status() == 200);
  CHECK_FALSE(world.tenants.last_rotate);
  CHECK(world.ask("POST", revoke + "?dryRun=All", R"({"serials":["0a"]})", {k_json})->status() ==
        200);
  CHECK(world.tenants.last_revoke.dry_run);

  CHECK(world.ask("POST", revoke, R"({"serials":["0a","0b"]})", {k_json})->status() == 200);
  CHECK(world.tenants.last_revoke.serials == std::vector<std::string>{"0a", "0b"});
  CHECK_FALSE(world.tenants.last_revoke.all);
  CHECK(world.ask("POST", revoke, R"({"all":true})", {k_json})->status() == 200);
  CHECK(world.tenants.last_revoke.all);
  for (const char* bad : {"", "{}", R"({"all":false})", R"({"all":true,"serials":["0a"]})",
                          R"({"serials":"0a"})", R"({"serial":["0a"]})", R"({"all":"yes"})"}) {
    CAPTURE(bad);
    CHECK(world.ask("POST", revoke, bad, {k_json})->status() == 400);
  }
  CHECK(world.ask("GET", revoke)->status() == 405);
  CHECK(world.ask("POST", k_tenants + "/nobody/revoke", R"({"all":true})", {k_json})->status() ==
        404);

  const auto list = world.ask("GET", k_tenants + "/foofoo/certificates");
  CHECK(list->status() == 200);
  CHECK(list->json()["items"][0]["serial"] == "0a1b");
  CHECK(list->json()["items"][0]["administrator"] == true);
  CHECK(list->json()["items"][0]["revoked"] == false);
}
