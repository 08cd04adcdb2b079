// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/deployer.hpp"
#include "tests/unit/templates/fake_upstream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <utility>

using namespace zoo;
using namespace zoo::templates;
using namespace zoo::templates::test;
using nlohmann::json;

namespace {

const std::string k_instance = "/apis/config.kiosk.sh/v1alpha1/namespaces/web/templateinstances/i";
const std::string k_template = "/apis/config.kiosk.sh/v1alpha1/templates/t";

std::string map_at(const std::string& name) { return "/api/v1/namespaces/web/configmaps/" + name; }

json map(const std::string& name, json annotations = json::object()) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"annotations", std::move(annotations)}}}};
}

template <class... Objects>
json all(Objects... each) {
  auto out = json::array();
  (out.push_back(std::move(each)), ...);
  return out;
}

/// Template t, and its instance i in namespace web.
struct World {
  FakeUpstream upstream;
  Surroundings at{"web", "team", "", {}, {}, {{"tier", "gold"}}, {}};
  std::optional<Result<std::string>> chart;
  Deployer deployer{{[this] { return upstream.connect(); }, [] { return 1'800'000'000; },
                     [this](upstream::ControlApi&, const ChartWish&, std::chrono::milliseconds) {
                       return *chart;
                     }}};

  explicit World(json manifests, json instance_labels = json::object()) {
    set_template(std::move(manifests));
    upstream.put(k_instance, {{"metadata",
                               {{"name", "i"},
                                {"namespace", "web"},
                                {"uid", "u1"},
                                {"generation", 1},
                                {"labels", std::move(instance_labels)}}},
                              {"spec", {{"template", "t"}}}});
  }
  void set_template(json manifests, json more = json::object()) {
    json object = {{"metadata", {{"name", "t"}}},
                   {"resources", {{"manifests", std::move(manifests)}}}};
    object.update(more);
    upstream.put(k_template, std::move(object));
  }
  Result<Outcome> attempt() {
    const auto api = upstream.connect();
    return deployer.deploy(*api, upstream.objects.at(k_instance), at,
                           std::chrono::steady_clock::now() + std::chrono::seconds(10), {});
  }
  Outcome deploy() {
    auto done = attempt();
    if (!done) FAIL(done.error().text());
    return *std::move(done);
  }
  json status() { return upstream.objects.at(k_instance)["status"]; }
  bool has(const std::string& path) const { return upstream.objects.contains(path); }
};

} // namespace

TEST_CASE("T1 an instance's objects are made by a user who is let into its namespace alone") {
  World world(all(map("a"), map("b")));
  const auto done = world.deploy();
  CHECK(done.deployed);
  CHECK(done.applied.size() == 2);
  const auto a = world.upstream.objects.at(map_at("a"));
  CHECK(a["metadata"]["labels"]["zoo.kubezoo.io/template-instance"] == "i");
  CHECK_FALSE(a["metadata"]["labels"].contains("zoo.kubezoo.io/managed"));
  CHECK(a["metadata"]["ownerReferences"][0]["uid"] == "u1");
  CHECK(world.upstream.group == "zoo:templates:u1");
  const auto binding = world.upstream.objects.at(
      "/apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings/zoo:template:i");
  CHECK(binding["roleRef"]["name"] == "zoo:templates");
  CHECK(binding["subjects"] == json::array({{{"apiGroup", "rbac.authorization.k8s.io"},
                                             {"kind", "Group"},
                                             {"name", "zoo:templates:u1"}}}));
  CHECK(world.status()["status"] == "Deployed");
  CHECK(world.status()["observedGeneration"] == 1);
  CHECK(world.status()["objects"].size() == 2);
  CHECK(world.status()["conditions"][0]["status"] == "True");
  // None of the objects was touched as zood.
  for (const auto& request : world.upstream.requests)
    if (request.find("configmaps") != std::string::npos)
      CHECK_MESSAGE(request.find(" as zoo:templates") != std::string::npos, request);
}

TEST_CASE("an instance that is kept marks its objects, one without owner owns none") {
  World world(all(map("a")), {{"zoo.kubezoo.io/managed", "true"}});
  world.upstream.objects.at(k_instance)["metadata"]["annotations"][std::string(k_no_owner)] =
      "true";
  world.deploy();
  const auto a = world.upstream.objects.at(map_at("a"));
  CHECK(a["metadata"]["labels"]["zoo.kubezoo.io/managed"] == "true");
  CHECK_FALSE(a["metadata"].contains("ownerReferences"));
  CHECK(world.status()["kept"] == true);
}

TEST_CASE("T3 a failure is told and leaves nothing") {
  World world(all(map("a"), map("b")));
  world.upstream.fault = [](const std::string& method, const std::string& path,
                            const std::string&) -> std::optional<std::pair<int, std::string>> {
    if (method == "PATCH" && path == map_at("b")) return std::pair(422, "b is wrong");
    return {};
  };
  const auto done = world.deploy();
  CHECK_FALSE(done.deployed);
  CHECK(done.reason == "ApplyManifests");
  CHECK(done.message == "ConfigMap \"b\": b is wrong");
  CHECK_FALSE(world.has(map_at("a")));
  CHECK(world.status()["status"] == "Failed");
  CHECK(world.status()["reason"] == "ApplyManifests");
  CHECK(world.status()["objects"].empty());
  world.upstream.fault = {};
  CHECK(world.deploy().deployed);
  CHECK_FALSE(world.status().contains("reason"));
  // What was there before stays, when a later attempt fails.
  world.set_template(all(map("a"), map("b"), map("c")));
  world.upstream.fault = [](const std::string& method, const std::string& path,
                            const std::string&) -> std::optional<std::pair<int, std::string>> {
    if (method == "PATCH" && path == map_at("c")) return std::pair(403, "no");
    return {};
  };
  CHECK_FALSE(world.deploy().deployed);
  CHECK(world.has(map_at("a")));
  CHECK(world.status()["objects"].size() == 2);
}

TEST_CASE("a failure that passes is no failure of the instance") {
  World world(all(map("a")));
  world.upstream.fault = [](const std::string& method, const std::string& path,
                            const std::string&) -> std::optional<std::pair<int, std::string>> {
    if (method == "PATCH" && path == map_at("a")) return std::pair(503, "later");
    return {};
  };
  const auto done = world.attempt();
  REQUIRE_FALSE(done);
  CHECK(done.error().code() == Code::unavailable);
  CHECK(world.status()["status"] == "");
  CHECK(world.status()["conditions"][0]["reason"] == "Applying");
}

TEST_CASE("upstream hears of a new binding a moment later") {
  World world(all(map("a")));
  int refused = 0;
  world.upstream.fault = [&](const std::string& method, const std::string& path,
                             const std::string&) -> std::optional<std::pair<int, std::string>> {
    if (method == "PATCH" && path == map_at("a") && ++refused < 4)
      return std::pair(
          403, "configmaps \"a\" is forbidden: User \"zoo:templates\" cannot patch resource");
    return {};
  };
  CHECK(world.deploy().deployed);
  CHECK(refused == 4);
}

TEST_CASE("N15 what a template does not have any more goes, unless it is kept or another's") {
  World world(
      {map("a"), map("gone"), map("stays", {{"helm.sh/resource-policy", "keep"}}), map("other")});
  world.deploy();
  world.upstream.objects.at(
      map_at("other"))["metadata"]["labels"]["zoo.kubezoo.io/template-instance"] = "j";
  world.set_template(all(map("a")));
  world.deploy();
  CHECK(world.has(map_at("a")));
  CHECK_FALSE(world.has(map_at("gone")));
  CHECK(world.has(map_at("stays")));
  CHECK(world.has(map_at("other")));
  CHECK(world.status()["objects"].size() == 1);
}

TEST_CASE("N15 an attempt that changes nothing writes nothing") {
  World world(all(map("a")));
  world.deploy();
  const auto before = world.status();
  const auto version = world.upstream.objects.at(k_instance)["metadata"]["resourceVersion"];
  CHECK(world.deploy().deployed);
  CHECK(world.upstream.objects.at(k_instance)["metadata"]["resourceVersion"] == version);
  CHECK(world.status() == before);
}

TEST_CASE("two instances do not take an object from each other, but one that is kept takes it") {
  for (const bool kept : {false, true}) {
    World world(all(map("a")), kept ? json{{"zoo.kubezoo.io/managed", "true"}} : json::object());
    int refusals = 0;
    world.upstream.fault = [&](const std::string& method, const std::string& path,
                               const std::string&) -> std::optional<std::pair<int, std::string>> {
      if (method == "PATCH" && path == map_at("a") && ++refusals == 1)
        return std::pair(409,
                         "Apply failed with 1 conflict: conflict with \"zoo-template-j\": .data");
      return {};
    };
    const auto done = world.deploy();
    CHECK(done.deployed == kept);
    if (!kept)
      CHECK(done.message.starts_with("ConfigMap \"a\" is made by another instance already"));
  }
}

TEST_CASE("an instance that is not kept takes nothing that somebody else has made") {
  for (const char* mark : {"", "j", "i"}) {
    CAPTURE(mark);
    World world(all(map("a"), map("b")));
    auto there = map("b");
    there["data"] = {{"by", "hand"}};
    if (*mark != 0) there["metadata"]["labels"] = {{"zoo.kubezoo.io/template-instance", mark}};
    world.upstream.put(map_at("b"), there);
    const auto before = world.upstream.objects.at(map_at("b"));
    const auto done = world.deploy();
    const bool own = std::string_view(mark) == "i";
    CHECK(done.deployed == own);
    if (own) continue;
    CHECK(done.reason == "ApplyManifests");
    CHECK(done.message == fmt::format("ConfigMap \"b\" is {}: delete it, or give the template's "
                                      "another name",
                                      *mark == 0 ? "there already, and somebody else has made it"
                                                 : "made by another instance already"));
    CHECK(world.upstream.objects.at(map_at("b")) == before);
    CHECK_FALSE(world.has(map_at("a")));
  }
  World kept(all(map("a")), {{"zoo.kubezoo.io/managed", "true"}});
  kept.upstream.put(map_at("a"), map("a"));
  CHECK(kept.deploy().deployed);
}

TEST_CASE("all names are looked at before any object is touched") {
  World world(all(map("a"), map("b"), map("c")));
  world.upstream.put(map_at("c"), map("c"));
  const auto done = world.deploy();
  CHECK(done.message.starts_with("ConfigMap \"c\" is there already"));
  CHECK(world.status()["objects"].empty());
  for (const auto& request : world.upstream.requests)
    CHECK_MESSAGE(!request.starts_with("PATCH /api/v1/namespaces/web/configmaps/"), request);
  // What others may do with as they like is not in the way of a repair.
  World ignored(all(map("a", {{"zoo.kubezoo.io/drift", "ignore"}}), map("b")));
  ignored.deploy();
  ignored.upstream.put(map_at("a"), map("a"));
  CHECK(ignored.deploy().deployed);
}

TEST_CASE("who takes a name after it was looked at keeps his fields") {
  for (const bool kept : {false, true}) {
    CAPTURE(kept);
    World world(all(map("a")), kept ? json{{"zoo.kubezoo.io/managed", "true"}} : json::object());
    bool came = false;
    world.upstream.fault = [&](const std::string& method, const std::string& path,
                               const std::string&) -> std::optional<std::pair<int, std::string>> {
      if (method != "PATCH" || path != map_at("a") || std::exchange(came, true)) return {};
      world.upstream.put(map_at("a"), map("a"));
      return std::pair(409, "Apply failed with 1 conflict: conflict with \"kubectl\": .data");
    };
    const auto done = world.deploy();
    CHECK(done.deployed == kept);
    if (!kept) CHECK(done.message.starts_with("ConfigMap \"a\" is there already"));
  }
}

TEST_CASE("what the template's role may not read is left alone, too") {
  World world(all(map("a")));
  world.upstream.put(map_at("a"), map("a"));
  world.upstream.fault = [](const std::string& method, const std::string& path,
                            const std::string& user) -> std::optional<std::pair<int, std::string>> {
    if (method == "GET" && path == map_at("a") && !user.empty())
      return std::pair(403, "configmaps \"a\" is forbidden: User \"zoo:templates\" cannot get");
    return {};
  };
  CHECK(world.deploy().message.starts_with("ConfigMap \"a\" is there already"));
}

TEST_CASE("a RoleBinding that somebody has put in the place of an instance's gives way") {
  const std::string path =
      "/apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings/zoo:template:i";
  for (const bool posing : {false, true}) {
    CAPTURE(posing);
    World world(all(map("a")));
    json planted = {{"metadata", {{"name", "zoo:template:i"}, {"finalizers", {"x.io/hold"}}}},
                    {"roleRef", {{"name", "view"}}}};
    if (posing) { // ours, but that it is not kept
      world.deploy();
      planted = world.upstream.objects.at(path);
      planted["metadata"].erase("labels");
      planted["metadata"]["finalizers"] = {"x.io/hold"};
    }
    world.upstream.put(path, planted);
    CHECK(world.deploy().deployed);
    const auto now = world.upstream.objects.at(path);
    CHECK(now["roleRef"]["name"] == "zoo:templates");
    CHECK(now["metadata"]["labels"]["zoo.kubezoo.io/managed"] == "true");
    CHECK_FALSE(now["metadata"].contains("finalizers"));
  }
}

TEST_CASE("whose turn it is for a chart is an account's, a tenant's or a namespace's") {
  std::vector<std::string> whose;
  World world(all());
  world.set_template(all(), {{"resources", {{"helm", {{"chart", {{"inline", "eA=="}}}}}}}});
  Deployer deployer{{[&] { return world.upstream.connect(); }, [] { return 1'800'000'000; },
                     [&](upstream::ControlApi&, const ChartWish& wish, std::chrono::milliseconds) {
                       whose.push_back(wish.whose);
                       return Result<std::string>(fail(Code::invalid, "no"));
                     }}};
  const auto api = world.upstream.connect();
  const auto ask = [&](const char* account, const char* tenant) {
    world.at.account = account;
    world.at.tenant = tenant;
    CHECK(deployer.deploy(*api, world.upstream.objects.at(k_instance), world.at,
                          std::chrono::steady_clock::now() + std::chrono::seconds(10), {}));
  };
  ask("team", "");
  ask("team", "foofoo");
  ask("", "foofoo");
  ask("", "");
  CHECK(whose == std::vector<std::string>{"team", "team", "tenant/foofoo", "namespace/web"});
}

TEST_CASE("an object whose drift is ignored is made once for each template") {
  World world(all(map("a", {{"zoo.kubezoo.io/drift", "ignore"}}), map("b")));
  CHECK(world.deploy().applied.size() == 2);
  world.upstream.objects.erase(map_at("a"));
  world.upstream.objects.erase(map_at("b"));
  CHECK(world.deploy().applied.size() == 1);
  CHECK_FALSE(world.has(map_at("a")));
  CHECK(world.has(map_at("b")));
  world.set_template(all(map("a", {{"zoo.kubezoo.io/drift", "ignore"}}), map("b"), map("c")));
  world.deploy();
  CHECK(world.has(map_at("a")));
}

TEST_CASE("what cannot be made is refused before anything is written") {
  const auto reason_of = [](json manifests, json more = json::object()) {
    World world(all());
    world.set_template(std::move(manifests), std::move(more));
    const auto done = world.deploy();
    CHECK_FALSE(done.deployed);
    CHECK(world.upstream.objects.size() == 2);
    CHECK(world.status()["message"] == done.message);
    return done.reason;
  };
  auto elsewhere = map("a");
  elsewhere["metadata"]["namespace"] = "kube-system";
  CHECK(reason_of(all(elsewhere)) == "ErrorConvertingManifest");
  CHECK(reason_of(json::array()) == "ErrorConvertingManifest");
  CHECK(reason_of(all(
            json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "x"}}}})) ==
        "FindObjectMapping");
  CHECK(
      reason_of(all(json{{"apiVersion", "v1"}, {"kind", "Wolf"}, {"metadata", {{"name", "x"}}}})) ==
      "FindObjectMapping");
  CHECK(reason_of(all(map("${tenant}"))) == "ErrorReplaceParameters");
  CHECK(reason_of(all(map("a")), {{"parameters", {{{"name", "X"}, {"required", true}}}}}) ==
        "ErrorValidatingParameters");
  CHECK(reason_of(all(map("a")), {{"accounts", {{"matchLabels", {{"tier", "lead"}}}}}}) ==
        "AccountNotSelected");
  World world(all());
  world.upstream.objects.erase(k_template);
  CHECK(world.deploy().reason == "TemplateNotFound");
}

TEST_CASE("T2 a chart's objects are made, and one that takes long is a phase") {
  World world(all());
  world.set_template(all(), {{"resources", {{"helm", {{"chart", {{"inline", "eA=="}}}}}}}});
  world.chart = fail(Code::timeout, "chart t is being rendered");
  const auto waits = world.deploy();
  CHECK(waits.waits);
  CHECK(world.status()["status"] == "");
  CHECK(world.status()["conditions"][0]["reason"] == "Rendering");
  CHECK(world.status()["conditions"][0]["message"] == "chart t is being rendered");
  world.chart = std::string("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n");
  CHECK(world.deploy().deployed);
  CHECK(world.has(map_at("a")));
  world.chart = fail(Code::invalid, "no such value");
  CHECK(world.deploy().reason == "ErrorHelm");
  CHECK(world.has(map_at("a")));
  world.chart = std::string("- a\n");
  CHECK(world.deploy().reason == "ErrorHelm");
}

TEST_CASE("in a tenant's namespace objects are rendered in its words, stored in upstream's, and "
          "made as its user") {
  World world(all(map("${namespace}-of-${tenant}")));
  world.at.name_space = "inner";
  world.at.tenant = "foofoo";
  std::string rendered_for;
  Deployer deployer{{[&] { return world.upstream.connect(); },
                     [] { return 1'800'000'000; },
                     {},
                     [&](const std::string& tenant, const json& object) -> Result<json> {
                       rendered_for =
                           tenant + " " + object["metadata"]["namespace"].get<std::string>();
                       auto stored = object;
                       stored["metadata"]["namespace"] = "web";
                       return stored;
                     }}};
  const auto api = world.upstream.connect();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto done =
      deployer.deploy(*api, world.upstream.objects.at(k_instance), world.at, until, {});
  REQUIRE(done);
  REQUIRE_MESSAGE(done->deployed, done->message);
  CHECK(rendered_for == "foofoo inner");
  CHECK(world.upstream.groups == std::vector<std::string>{"zoo:tenants", "zoo:templates:u1"});
  REQUIRE(world.has(map_at("inner-of-foofoo")));
  CHECK_FALSE(
      world.upstream.objects.at(map_at("inner-of-foofoo"))["metadata"].contains("ownerReferences"));
  for (const auto& request : world.upstream.requests)
    if (request.find("configmaps") != std::string::npos)
      CHECK_MESSAGE(request.ends_with(" as zoo:foofoo"), request);
  // Nothing owns them there: whoever removes the instance takes them away first.
  REQUIRE(deployer.clear(*api, world.upstream.objects.at(k_instance), world.at, until));
  CHECK_FALSE(world.has(map_at("inner-of-foofoo")));
}

TEST_CASE("what reaches out of the tenant fails the instance, and nothing was made") {
  World world(all(map("a"), map("b")));
  world.at.name_space = "inner";
  world.at.tenant = "foofoo";
  Deployer deployer{{[&] { return world.upstream.connect(); },
                     [] { return 1'800'000'000; },
                     {},
                     [](const std::string&, const json& object) -> Result<json> {
                       if (object["metadata"]["name"] == "b")
                         return fail(Code::forbidden, "metadata.x is another's");
                       return object;
                     }}};
  const auto api = world.upstream.connect();
  const auto done =
      deployer.deploy(*api, world.upstream.objects.at(k_instance), world.at,
                      std::chrono::steady_clock::now() + std::chrono::seconds(10), {});
  REQUIRE(done);
  CHECK(done->reason == "ErrorConvertingManifest");
  CHECK(done->message == "ConfigMap \"b\": metadata.x is another's");
  CHECK_FALSE(world.has(map_at("a")));
}
