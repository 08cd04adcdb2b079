// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/accounts/world.hpp"

#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using nlohmann::json;

namespace {

struct Refusal {
  Code code;
  std::string text;
};

template <class T>
void check_refused(const Result<T>& result, const Refusal& refusal) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code() == refusal.code);
  CAPTURE(result.error().message());
  CHECK(result.error().message().find(refusal.text) != std::string::npos);
}

} // namespace

TEST_CASE("SP7 N5 a member makes a space of his account, and is let in when it is ready") {
  World world;
  put_account(
      world.cluster, "team", {"john", "jane"},
      {{"limit", 2},
       {"spaceTemplate",
        {{"metadata", {{"labels", {{"tier", "gold"}}}, {"annotations", {{"note", "hello"}}}}}}}});
  Zood zood(world.cluster);
  auto wanted = a_space("one", "team");
  wanted["metadata"]["labels"] = {{"tier", "lead"}, {"mine", "yes"}};
  const auto made = must(zood.spaces->create(who("john"), wanted, options()));
  const auto& space = *made.object;
  CHECK(space["kind"] == "Space");
  CHECK(space["spec"]["account"] == "team");
  CHECK(space["status"]["phase"] == "Active");
  CHECK(space["metadata"]["labels"] == json{{"tier", "gold"}, {"mine", "yes"}});
  CHECK(space["metadata"]["annotations"] == json{{"note", "hello"}});
  CHECK(made.warnings.empty());

  const auto stored = world.cluster.at(FakeCluster::space("one"));
  CHECK(stored["metadata"]["labels"]["kiosk.sh/account"] == "team");
  CHECK(stored["metadata"]["annotations"] == json{{"note", "hello"}});
  const auto binding = world.cluster.at(FakeCluster::binding("one"));
  CHECK(binding["roleRef"]["name"] == "admin");
  CHECK(binding["subjects"] == json::array({user("john"), user("jane")}));
  CHECK(binding["metadata"]["labels"]["zoo.kubezoo.io/managed"] == "true");
  const auto account = world.cluster.at(FakeCluster::account("team"));
  CHECK(binding["metadata"]["ownerReferences"][0]["uid"] == account["metadata"]["uid"]);
  CHECK_FALSE(account["status"].contains("pending"));
}

TEST_CASE("the binding comes after the namespace, and before the marks are taken away") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Zood zood(world.cluster);
  std::vector<std::string> steps;
  zood.parts.on_step = [&](std::string_view step) { steps.emplace_back(step); };
  must(zood.spaces->create(who("john"), a_space("one", "team"), options()));
  CHECK(steps == std::vector<std::string>{"reserve", "namespace", "settle", "furnish", "binding",
                                          "ready", "seen"});
}

TEST_CASE("N8 an account waits for its spaces before the first one is there") {
  World world;
  for (const bool limited : {true, false}) {
    const std::string name = limited ? "limited" : "free";
    CAPTURE(name);
    put_account(world.cluster, name, {"john"}, limited ? json{{"limit", 1}} : json::object());
    auto unseen = world.cluster.at(FakeCluster::account(name));
    unseen["metadata"].erase("finalizers");
    world.cluster.put(FakeCluster::account(name), unseen);
    Zood zood(world.cluster);
    json finalizers;
    zood.parts.on_step = [&](std::string_view step) {
      if (step != "namespace") return;
      CHECK_FALSE(world.cluster.has(FakeCluster::space("of-" + name)));
      finalizers = world.cluster.at(FakeCluster::account(name))["metadata"]["finalizers"];
    };
    must(zood.spaces->create(who("john"), a_space("of-" + name, name), options()));
    CHECK(finalizers == json::array({k_finalizer}));
  }
}

TEST_CASE("N5 the role that members get is the account's, or none") {
  World world;
  put_account(world.cluster, "said", {"john"}, {{"clusterRole", "edit"}});
  put_account(world.cluster, "none", {"john"}, {{"clusterRole", ""}});
  put_account(world.cluster, "default", {"john"});
  Zood zood(world.cluster);
  zood.parts.default_cluster_role = "kiosk-space-admin";
  for (const std::string name : {"said", "none", "default"})
    must(zood.spaces->create(who("john"), a_space("of-" + name, name), options()));
  CHECK(world.cluster.at(FakeCluster::binding("of-said"))["roleRef"]["name"] == "edit");
  CHECK_FALSE(world.cluster.has(FakeCluster::binding("of-none")));
  CHECK(world.cluster.at(FakeCluster::binding("of-default"))["roleRef"]["name"] ==
        "kiosk-space-admin");
}

TEST_CASE("names that are no space's are refused") {
  World world;
  put_account(world.cluster, "team", {"john"});
  Zood zood(world.cluster);
  const auto make = [&](const std::string& name) {
    return zood.spaces->create(who("john"), a_space(name, "team"), options());
  };
  for (const std::string& name :
       std::vector<std::string>{"", "Upper", "a.b", "-a", "a-", std::string(64, 'a')})
    check_refused(make(name), {Code::invalid, "metadata.name: Invalid value: \"" + name + "\""});
  for (const std::string name : {"default", "kube-system", "kube-x", "zoo-system"})
    check_refused(make(name), {Code::forbidden, "the name \"" + name + "\" is reserved"});
  check_refused(make("foofoo-x"), {Code::forbidden, "the prefix \"foofoo-\" belongs to a tenant"});
  must(make("taken"));
  check_refused(make("taken"), {Code::already_exists, "\"taken\" already exists"});
  // A tenant's namespace is no space, and taken all the same.
  world.cluster.put(FakeCluster::space("barbar-x"),
                    {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "barbar"}}}}}});
  check_refused(make("barbar-x"),
                {Code::already_exists, "spaces.tenancy.kiosk.sh \"barbar-x\" already exists"});
  CHECK(world.cluster.names("/api/v1/namespaces") == std::vector<std::string>{"barbar-x", "taken"});
}

TEST_CASE("SP6 SP8 N9 whose space it is") {
  World world;
  put_account(world.cluster, "a", {"john", "jane"});
  put_account(world.cluster, "b", {"jane"});
  put_account(world.cluster, "going", {"john", "jane"});
  Zood zood(world.cluster);
  const auto make = [&](const std::string& user, const std::string& account) {
    return zood.spaces->create(who(user), a_space("s", account), options());
  };
  check_refused(make("john", "x"), {Code::not_found, "accounts.config.kiosk.sh \"x\" not found"});
  check_refused(make("bob", "a"), {Code::forbidden, "user \"bob\" is no member of account \"a\""});
  check_refused(make("bob", ""), {Code::forbidden, "user \"bob\" is a member of no account"});
  check_refused(make("nobody", "a"), {Code::forbidden, "user \"nobody\" cannot create spaces"});
  check_refused(make("jane", ""),
                {Code::bad_request,
                 "spec.account is required: \"jane\" is a member of 3 accounts (a, b, going)"});

  auto going = world.cluster.at(FakeCluster::account("going"));
  going["metadata"]["finalizers"] = {"example.com/stays"};
  world.cluster.put(FakeCluster::account("going"), going);
  world.cluster.remove(FakeCluster::account("going"));
  check_refused(make("jane", "going"), {Code::conflict, "account \"going\" is being deleted"});
  CHECK(world.cluster.names("/api/v1/namespaces").empty());

  world.cluster.put(FakeCluster::account("going"), {});
  const auto made = must(make("john", ""));
  CHECK((*made.object)["spec"]["account"] == "a");
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings[0].find("space \"s\" is made for account \"a\"") == 0);
  zood.parts.single_account_default = false;
  check_refused(
      zood.spaces->create(who("john"), a_space("t"), options()),
      {Code::bad_request, "spec.account is required: \"john\" is a member of 1 account (a)"});
}

TEST_CASE("N9 an administrator makes spaces for an account, and namespaces that are nobody's") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Zood zood(world.cluster);
  must(zood.spaces->create(who("admin"), a_space("theirs", "team"), options()));
  CHECK(world.cluster.has(FakeCluster::binding("theirs")));
  check_refused(zood.spaces->create(who("admin"), a_space("more", "team"), options()),
                {Code::forbidden, "space limit of 1 reached for account team"});
  const auto free = must(zood.spaces->create(who("admin"), a_space("free"), options()));
  CHECK((*free.object)["spec"] == json::object());
  CHECK_FALSE(world.cluster.has(FakeCluster::binding("free")));
}

TEST_CASE("N1 the limit counts what is Terminating, and zero means none") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 2}});
  put_account(world.cluster, "none", {"john"}, {{"limit", 0}});
  put_account(world.cluster, "less", {"john"}, {{"limit", -3}});
  Zood zood(world.cluster);
  const auto make = [&](const std::string& name, const std::string& account) {
    return zood.spaces->create(who("john"), a_space(name, account), options());
  };
  must(make("one", "team"));
  must(make("two", "team"));
  const Refusal full{Code::forbidden, "space limit of 2 reached for account team"};
  check_refused(make("three", "team"), full);
  world.cluster.hold_namespaces(true);
  world.cluster.remove(FakeCluster::space("one"));
  check_refused(make("three", "team"), full);
  world.cluster.let_go();
  must(make("three", "team"));
  check_refused(make("x", "none"), {Code::forbidden, "space limit of 0 reached for account none"});
  check_refused(make("x", "less"), {Code::forbidden, "space limit of 0 reached for account less"});
}

TEST_CASE("N10 reserved labels and annotations are the administrator's") {
  World world;
  put_account(world.cluster, "team", {"john"});
  Zood zood(world.cluster);
  for (const std::string key :
       {"kiosk.sh/account", "kiosk.sh/x", "zoo.kubezoo.io/quota", "tenant.kubezoo.io/id",
        "pod-security.kubernetes.io/enforce", "scheduler.alpha.kubernetes.io/node-selector",
        "resource.kubernetes.io/admin-access"}) {
    for (const std::string map : {"labels", "annotations"}) {
      auto space = a_space("s", "team");
      space["metadata"][map][key] = "x";
      CAPTURE(key);
      check_refused(zood.spaces->create(who("john"), space, options()),
                    {Code::forbidden, "\"" + key + "\""});
    }
  }
  CHECK(world.cluster.names("/api/v1/namespaces").empty());
}

TEST_CASE("a dry run checks everything and writes nothing") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Zood zood(world.cluster);
  for (int i = 0; i < 2; ++i) {
    const auto made =
        must(zood.spaces->create(who("john"), a_space(fmt::format("s{}", i)), options(true)));
    CHECK((*made.object)["spec"]["account"] == "team");
    CHECK((*made.object)["metadata"]["name"] == fmt::format("s{}", i));
  }
  CHECK(world.cluster.names("/api/v1/namespaces").empty());
  CHECK_FALSE(world.cluster.at(FakeCluster::account("team")).contains("status"));
  must(zood.spaces->create(who("john"), a_space("s"), options()));
  check_refused(zood.spaces->create(who("john"), a_space("t"), options(true)),
                {Code::forbidden, "space limit of 1 reached for account team"});
}

TEST_CASE("kubectl create namespace is a creation of a space that answers the namespace") {
  World world;
  put_account(world.cluster, "a", {"john"});
  put_account(world.cluster, "b", {"john"});
  Zood zood(world.cluster);
  const auto make = [&](const std::string& name, json metadata) {
    metadata["name"] = name;
    return zood.spaces->create_namespace(
        who("john"), {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", metadata}},
        options());
  };
  check_refused(make("x", json::object()), {Code::bad_request, "spec.account is required"});
  const auto labelled = must(make("one", {{"labels", {{"kiosk.sh/account", "b"}}}}));
  CHECK((*labelled.object)["kind"] == "Namespace");
  CHECK((*labelled.object)["metadata"]["labels"]["kiosk.sh/account"] == "b");
  const auto annotated = must(make("two", {{"annotations", {{"kiosk.sh/account", "a"}}}}));
  CHECK((*annotated.object)["metadata"]["labels"]["kiosk.sh/account"] == "a");
  CHECK(world.cluster.has(FakeCluster::binding("two")));
}

TEST_CASE("what upstream refuses for good leaves nothing behind, and says why") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Zood zood(world.cluster);
  world.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request.find("POST") == 0 && request.find("rolebindings") != std::string::npos)
      return refusal(403, "Forbidden", "attempting to grant RBAC permissions not held");
    return {};
  });
  check_refused(zood.spaces->create(who("john"), a_space("s", "team"), options()),
                {Code::forbidden, "not held; the space was not created"});
  CHECK_FALSE(world.cluster.has(FakeCluster::space("s")));
  world.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request == "POST /api/v1/namespaces")
      return refusal(422, "Invalid", "namespaces \"s\" is invalid");
    return {};
  });
  check_refused(zood.spaces->create(who("john"), a_space("s", "team"), options()),
                {Code::invalid, "spaces.tenancy.kiosk.sh \"s\" is invalid"});
  world.cluster.set_fault({});
  must(
      zood.spaces->create(who("john"), a_space("s", "team"), options())); // its reservation is gone
}

TEST_CASE("while upstream stumbles the space stays, and the user is told to look") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Zood zood(world.cluster);
  world.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request.find("POST") == 0 && request.find("rolebindings") != std::string::npos)
      return refusal(503, "ServiceUnavailable", "etcd is away");
    return {};
  });
  const auto made = must(zood.spaces->create(who("john"), a_space("s", "team"), options()));
  CHECK((*made.object)["status"]["phase"] == "Initializing");
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings[0].find("space \"s\" is being initialised") == 0);
  world.cluster.set_fault({});
  zood.settle();
  zood.pass(std::chrono::seconds(30));
  CHECK(world.cluster.has(FakeCluster::binding("s")));
  CHECK_FALSE(world.cluster.state()->spaces.find("s")->initializing);
}

TEST_CASE("where upstream is slow the answer comes in time, and the controller goes on") {
  for (const std::string late : {"settle", "binding", "ready"}) {
    CAPTURE(late);
    World world;
    put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
    Zood zood(world.cluster);
    bool over = false;
    std::size_t sent = 0;
    zood.parts.on_step = [&](std::string_view step) {
      if (step == late) {
        zood.clock += std::chrono::seconds(30);
        sent = world.cluster.requests().size();
        over = true;
      }
    };
    const auto made = must(zood.spaces->create(who("john"), a_space("s", "team"), options()));
    REQUIRE(over);
    CHECK(world.cluster.requests().size() == sent);
    CHECK((*made.object)["status"]["phase"] == "Initializing");
    REQUIRE(made.warnings.size() == 1);
    CHECK(made.warnings[0].find("space \"s\" is being initialised") == 0);
    zood.parts.on_step = nullptr;
    zood.settle();
    zood.pass(std::chrono::seconds(30));
    CHECK(world.cluster.has(FakeCluster::binding("s")));
    CHECK_FALSE(world.cluster.state()->spaces.find("s")->initializing);
  }
}

TEST_CASE("who could not even reserve in time has made nothing, and holds no place") {
  World world;
  put_account(world.cluster, "team", {"john"}, {{"limit", 1}});
  Zood* slow = nullptr;
  Zood zood(world.cluster, {}, [&](const std::string& request) {
    if (request == "PUT " + FakeCluster::account("team") + "/status")
      slow->clock += std::chrono::seconds(30);
  });
  slow = &zood;
  check_refused(zood.spaces->create(who("john"), a_space("s", "team"), options()),
                {Code::timeout, "space \"s\" was not created"});
  CHECK_FALSE(world.cluster.has(FakeCluster::space("s")));
  CHECK_FALSE(world.cluster.at(FakeCluster::account("team"))["status"].contains("pending"));
}

namespace {

/// A connection on which each POST and PUT is sent twice, as where a kept one was dead, and the
/// first had been acted on.
class Twice final : public upstream::ControlApi {
public:
  explicit Twice(FakeCluster& cluster) : api_(cluster.connect()) {}
  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view content_type, std::string body,
                                        std::string_view accept) override {
    if (method == "POST" || method == "PUT")
      (void)api_->request(method, path, content_type, body, accept);
    return api_->request(method, path, content_type, std::move(body), accept);
  }

private:
  std::unique_ptr<upstream::ControlApi> api_;
};

} // namespace

TEST_CASE("who makes every user of the cluster a member is warned") {
  World world;
  Zood zood(world.cluster);
  const auto made = [&](const char* name, const char* group) {
    const json account = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                          {"kind", "Account"},
                          {"metadata", {{"name", name}}},
                          {"spec",
                           {{"subjects", json::array({{{"kind", "Group"},
                                                       {"apiGroup", "rbac.authorization.k8s.io"},
                                                       {"name", group}}})}}}};
    return must(zood.accounts->create(who("admin"), account, options())).warnings;
  };
  CHECK(made("a", "devs").empty());
  REQUIRE(made("b", "system:authenticated").size() == 1);
  CHECK(made("c", "system:authenticated")[0] ==
        "group system:authenticated is among the members of account \"c\": every user of the "
        "cluster is one, and has their role in each of its spaces");
  CHECK(made("d", "system:unauthenticated").size() == 1);
}

TEST_CASE("what a user writes is sent once, or compared before he is answered") {
  World world;
  Zood zood(world.cluster);
  zood.parts.connect = [&] { return std::make_unique<Twice>(world.cluster); };
  json account = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                  {"kind", "Account"},
                  {"metadata", {{"name", "team"}}},
                  {"spec", {{"subjects", json::array({user("john")})}, {"space", {{"limit", 2}}}}}};
  account = *must(zood.accounts->create(who("admin"), account, options())).object;
  account["spec"]["space"]["limit"] = 1;
  must(zood.accounts->update(who("admin"), account, options()));
  must(zood.spaces->create(who("admin"), a_space("nobodys"), options()));
  const auto space = must(zood.spaces->create(who("john"), a_space("s", "team"), options()));
  auto labelled = *space.object;
  labelled["metadata"]["labels"]["a"] = "b";
  must(zood.spaces->update(who("john"), labelled, options()));
  CHECK(world.cluster.at(FakeCluster::space("s"))["metadata"]["labels"]["a"] == "b");
  CHECK_FALSE(world.cluster.at(FakeCluster::account("team"))["status"].contains("pending"));
}

TEST_CASE("an upstream without the kind, and a state that is not known, are no refusals") {
  World world;
  put_account(world.cluster, "team", {"john"});
  Zood zood(world.cluster);
  zood.trouble = true;
  check_refused(zood.spaces->create(who("john"), a_space("s", "team"), options()),
                {Code::unavailable, "not read yet"});
  zood.trouble = false;
  world.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request.find("/config.kiosk.sh/") != std::string::npos)
      return http_client::Response{404, {}, "404 page not found"};
    return {};
  });
  check_refused(zood.spaces->create(who("john"), a_space("s", "team"), options()),
                {Code::unavailable, "does not serve accounts.config.kiosk.sh"});
}
