// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/aggregated_door.hpp"
#include "tests/unit/accounts/front_proxies.hpp"

#include <map>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using nlohmann::json;

namespace {

/// Spaces of which everybody sees the one that has his name.
class OwnSpace final : public resources::Backing {
public:
  Result<resources::ObjectPtr> get(const resources::Who& caller,
                                   const resources::Key& key) override {
    if (key.name != caller.name) return fail(Code::not_found, "spaces \"{}\" not found", key.name);
    return resources::make_object({{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                                   {"kind", "Space"},
                                   {"metadata", {{"name", key.name}, {"resourceVersion", "7"}}}});
  }
  Result<resources::Page> list(const resources::Who& caller, std::string_view,
                               const resources::Key&, std::size_t) override {
    resources::Page out;
    out.items.push_back(*get(caller, {{}, caller.name}));
    out.revision = 7;
    return out;
  }
  Result<std::unique_ptr<resources::Subscription>>
  watch(const resources::Who&, std::int64_t,
        std::function<void(const resources::Change&)>) override {
    return std::make_unique<resources::Subscription>();
  }
};

resources::KindPtr spaces() {
  auto kind = std::make_shared<resources::Kind>();
  kind->group = "tenancy.kiosk.sh";
  kind->version = "v1alpha1";
  kind->resource = "spaces";
  kind->kind = "Space";
  kind->singular = "space";
  kind->verbs = {resources::Verb::get, resources::Verb::list, resources::Verb::watch};
  kind->metadata = resources::standard_metadata();
  kind->backing = std::make_shared<OwnSpace>();
  return kind;
}

/// What a user may do: "john" -> "list spaces".
class Rights final : public authz::Rights {
public:
  authz::Decision decide(const authz::User& user, const authz::Attributes& wanted) const override {
    asked = wanted;
    if (user.in_group("system:masters")) return {true, ""};
    const auto found = may.find(user.name);
    const bool allowed = found != may.end() && found->second == wanted.verb + " " + wanted.resource;
    return {allowed, allowed ? "" : "no rule"};
  }
  Reach namespaces_of(const authz::User&, authz::Attributes) const override { return {}; }
  authz::Policy::Rules rules_for(const authz::User&, std::string_view) const override { return {}; }
  std::map<std::string, std::string, std::less<>> may;
  mutable authz::Attributes asked;
};

struct World {
  Authority authority{"front-proxy-ca"};
  FrontProxyTermsPtr terms =
      std::make_shared<const FrontProxyTerms>(terms_of(config_map(authority.certificate.to_pem())));
  std::shared_ptr<Rights> rights = std::make_shared<Rights>();
  bool rights_known = true;
  std::string missing;
  http::ConnectionInfo proxy = shows(authority.issue("front-proxy"));
  std::shared_ptr<resources::Door> door;

  World() {
    AggregatedDoorParts parts;
    parts.kinds = {spaces()};
    parts.terms = [this] { return terms; };
    parts.rights = [this]() -> Result<authz::RightsPtr> {
      if (!rights_known) return fail(Code::unavailable, "not read yet");
      return authz::RightsPtr(rights);
    };
    parts.of_tenant = [](std::string_view name_space) { return name_space == "foofoo-team"; };
    parts.not_ready = [this] { return missing; };
    parts.later = [](auto job) { job(); };
    door = make_aggregated_door(std::move(parts));
  }

  static resources::Request request(const std::string& target, const std::string& method,
                                    const http::Headers& headers = {}) {
    http::RequestHead head;
    head.method = method;
    head.target = target;
    head.headers = headers;
    return must(resources::parse_request(head));
  }
  resources::Answer ask(const std::string& user, const std::string& target,
                        const std::string& method = "GET") {
    auto wanted = request(target, method, {{"X-Remote-User", user}});
    wanted.who = must(door->identify(proxy, wanted));
    return door->handle(wanted);
  }
};

} // namespace

TEST_CASE("what the door serves, and nothing else") {
  World world;
  for (const auto* path :
       {"/apis", "/apis/tenancy.kiosk.sh", "/apis/tenancy.kiosk.sh/v1alpha1", "/openapi/v2",
        "/openapi/v3", "/openapi/v3/apis/tenancy.kiosk.sh/v1alpha1"}) {
    CAPTURE(path);
    CHECK(world.ask("nobody-special", path).status == 200);
  }
  for (const auto* path :
       {"/", "/api", "/api/v1/namespaces", "/version", "/metrics", "/zoo/v1/status",
        "/apis/apps/v1", "/apis/apps/v1/deployments", "/openapi", "/logs"}) {
    CAPTURE(path);
    CHECK(world.ask("root", path).status == 404);
  }
}

TEST_CASE("discovery is as kube-apiserver wants it, and needs no rights") {
  World world;
  world.rights_known = false;
  world.missing = "everything";
  auto wanted = World::request(
      "/apis", "GET",
      {{"X-Remote-User", "system:kube-aggregator"},
       {"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"}});
  wanted.who = must(world.door->identify(world.proxy, wanted));
  const auto answer = world.door->handle(wanted);
  CHECK(answer.status == 200);
  CHECK(answer.content_type == "application/json;g=apidiscovery.k8s.io;v=v2;"
                               "as=APIGroupDiscoveryList");
  const auto list = json::parse(answer.body);
  CHECK(list["kind"] == "APIGroupDiscoveryList");
  CHECK(list["items"][0]["metadata"]["name"] == "tenancy.kiosk.sh");
  CHECK(list["items"][0]["versions"][0]["resources"][0]["resource"] == "spaces");
}

TEST_CASE("a verb needs the right to it, by upstream's RBAC") {
  World world;
  const std::string spaces = "/apis/tenancy.kiosk.sh/v1alpha1/spaces";
  world.rights->may["john"] = "list spaces";
  CHECK(world.ask("john", spaces).status == 200);

  const auto refused = world.ask("john", spaces + "/john");
  CHECK(refused.status == 403);
  const auto status = json::parse(refused.body);
  CHECK(status["message"] ==
        "spaces.tenancy.kiosk.sh \"john\" is forbidden: User \"john\" cannot get resource "
        "\"spaces\" in API group \"tenancy.kiosk.sh\" at the cluster scope: no rule");
  CHECK(status["details"]["group"] == "tenancy.kiosk.sh");
  CHECK(world.ask("jane", spaces).status == 403);
  CHECK(world.ask("jane", spaces, "POST").status == 403);
  CHECK(world.ask("jane", spaces + "/jane/status", "PATCH").status == 403);
  CHECK(world.ask("jane", "/apis/tenancy.kiosk.sh/v1alpha1/nothing").status == 403);

  world.rights_known = false;
  CHECK(world.ask("john", spaces).status == 503);
}

TEST_CASE("what is asked of RBAC") {
  World world;
  const auto asked = [&](const std::string& method, const std::string& rest) {
    static_cast<void>(world.ask("jane", "/apis/tenancy.kiosk.sh/v1alpha1/" + rest, method));
    const auto& got = world.rights->asked;
    return got.verb + " " + got.name_space + "/" + got.resource + "/" + got.name + "/" +
           got.subresource;
  };
  CHECK(asked("GET", "spaces") == "list /spaces//");
  CHECK(asked("GET", "spaces?watch=1") == "watch /spaces//");
  CHECK(asked("GET", "spaces?watch=true&fieldSelector=metadata.name%3Da") == "watch /spaces/a/");
  CHECK(asked("GET", "spaces?fieldSelector=metadata.name!%3Da") == "list /spaces//");
  CHECK(asked("GET", "spaces/a") == "get /spaces/a/");
  CHECK(asked("HEAD", "spaces/a") == "get /spaces/a/");
  CHECK(asked("GET", "spaces/a?watch=true") == "get /spaces/a/");
  CHECK(asked("POST", "spaces") == "create /spaces//");
  CHECK(asked("PUT", "spaces/a") == "update /spaces/a/");
  CHECK(asked("PATCH", "spaces/a/status") == "patch /spaces/a/status");
  CHECK(asked("DELETE", "spaces/a") == "delete /spaces/a/");
  CHECK(asked("DELETE", "spaces") == "deletecollection /spaces//");
  CHECK(asked("GET", "namespaces/n/templateinstances/t") == "get n/templateinstances/t/");
}

TEST_CASE("nobody comes in but by a front proxy, whatever his headers say") {
  World world;
  const http::Headers forged{{"X-Remote-User", "root"}, {"X-Remote-Group", "system:masters"}};
  const auto wanted = World::request("/apis", "GET", forged);
  for (const auto& peer :
       {http::ConnectionInfo{}, shows(world.authority.issue("front-proxy"), false),
        shows(world.authority.issue("another")),
        shows(Authority("front-proxy-ca").issue("front-proxy"))}) {
    const auto stranger = world.door->stranger(peer);
    REQUIRE(stranger.has_value());
    CHECK(stranger->code() == Code::unauthorized);
    const auto who = world.door->identify(peer, wanted);
    REQUIRE_FALSE(who.has_value());
    CHECK(who.error().code() == Code::unauthorized);
  }
  CHECK_FALSE(world.door->stranger(world.proxy).has_value());
}

TEST_CASE("the terms are asked at each request: what is no more trusted is refused") {
  World world;
  CHECK_FALSE(world.door->stranger(world.proxy).has_value());
  const Authority next("next");
  world.terms =
      std::make_shared<const FrontProxyTerms>(terms_of(config_map(next.certificate.to_pem())));
  CHECK(world.door->stranger(world.proxy).has_value());
}

TEST_CASE("ServiceAccounts of tenants are nobody here") {
  World world;
  const auto who = [&](const std::string& user) {
    return world.door->identify(world.proxy,
                                World::request("/apis", "GET", {{"X-Remote-User", user}}));
  };
  const auto refused = who("system:serviceaccount:foofoo-team:default");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == Code::unauthorized);
  CHECK(who("system:serviceaccount:team:default"));
}

TEST_CASE("health is told to whoever connects") {
  World world;
  const auto is = [&](const std::string& path, const std::string& method = "GET") {
    return world.door->is_at_once(World::request(path, method));
  };
  for (const auto* path : {"/healthz", "/livez", "/readyz"})
    CHECK(is(path));
  CHECK_FALSE(is("/readyz", "POST"));
  CHECK_FALSE(is("/readyz/ping"));
  CHECK_FALSE(is("/apis"));
  world.missing = "upstream's rights are not read yet";
  const auto ready = World::request("/readyz", "GET");
  CHECK(world.door->at_once(ready).status == 503);
  CHECK(world.door->at_once(ready).body == "not ready: upstream's rights are not read yet\n");
  CHECK(world.door->at_once(World::request("/livez", "GET")).status == 200);
  world.missing.clear();
  CHECK(world.door->at_once(ready).body == "ok");
}

TEST_CASE("slow work is counted by the user that the front proxy names") {
  World world;
  const auto whose = [&](const std::string& user) {
    return world.door->whose(world.proxy,
                             World::request("/apis", "POST", {{"X-Remote-User", user}}));
  };
  CHECK(whose("john") == "john");
  CHECK(whose("").empty());
  CHECK(whose("system:serviceaccount:foofoo-team:default").empty()); // nobody here
}
