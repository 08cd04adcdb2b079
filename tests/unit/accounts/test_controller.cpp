// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/reservations.hpp"
#include "tests/unit/accounts/world.hpp"

#include <algorithm>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using nlohmann::json;
using std::chrono::seconds;

namespace {

constexpr const char* k_definition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/accounts.config.kiosk.sh";

/// Account `team` of john with two spaces, all of which the controller has seen to.
struct Kept : World {
  explicit Kept(const std::string& policy = "Orphan", json space = json::object()) {
    put_account(cluster, "team", {"john"}, std::move(space), policy);
    for (const std::string name : {"one", "two"})
      must(zood.spaces->create(who("john"), a_space(name, "team"), options()));
    zood.settle();
  }
  /// As an administrator changes the Account.
  void change(const std::function<void(json&)>& with) {
    auto account = cluster.at(FakeCluster::account("team"));
    with(account);
    const auto api = cluster.connect();
    must(api->update(FakeCluster::account("team"), account));
    zood.settle();
  }
  json status() { return cluster.at(FakeCluster::account("team"))["status"]; }
  json condition(const std::string& type) {
    const auto now = status();
    for (const auto& one : now["conditions"])
      if (one["type"] == type) return one;
    return {};
  }
  json binding(const std::string& space) { return cluster.at(FakeCluster::binding(space)); }
  json space(const std::string& name) { return cluster.at(FakeCluster::space(name)); }
  Zood zood{cluster};
};

} // namespace

TEST_CASE("A7 the status names the spaces, and what is wrong") {
  Kept at("Orphan", {{"limit", 2}});
  CHECK(at.status()["namespaces"] == json::array({{{"name", "one"}}, {{"name", "two"}}}));
  CHECK(at.condition("Ready")["status"] == "True");
  CHECK(at.condition("OverLimit")["status"] == "False");
  CHECK(at.status()["observedGeneration"] ==
        at.cluster.at(FakeCluster::account("team"))["metadata"]["generation"]);
  at.change([](json& account) { account["spec"]["space"]["limit"] = 1; });
  CHECK(at.condition("OverLimit")["status"] == "True");
  CHECK(at.condition("OverLimit")["message"].get<std::string>().find(
            "the account owns 2 spaces, and may have 1") == 0);
  at.cluster.remove(FakeCluster::space("two"));
  at.zood.settle();
  CHECK(at.status()["namespaces"] == json::array({{{"name", "one"}}}));
  CHECK(at.condition("OverLimit")["status"] == "False");
}

TEST_CASE("A8 what is as it should be is not written") {
  Kept at;
  at.zood.pass(seconds(2));
  at.cluster.forget_requests();
  at.zood.pass(seconds(2 * 3'600)); // looked at again, since something may be unheard
  const auto requests = at.cluster.requests();
  CHECK_FALSE(requests.empty());
  for (const auto& request : requests)
    CHECK(request.find("GET ") == 0);
}

TEST_CASE("N6 members come and go in all spaces") {
  Kept at;
  at.change([](json& account) {
    account["spec"]["subjects"] = json::array({user("jane")});
    account["spec"]["subjects"].push_back(
        {{"kind", "ServiceAccount"}, {"name", "ci"}, {"namespace", "tools"}});
  });
  for (const std::string name : {"one", "two"}) {
    CHECK(at.binding(name)["subjects"] ==
          json::array({user("jane"),
                       {{"kind", "ServiceAccount"}, {"name", "ci"}, {"namespace", "tools"}}}));
  }
  at.change([](json& account) { account["spec"]["subjects"] = json::array(); });
  CHECK_FALSE(at.cluster.has(FakeCluster::binding("one")));
}

TEST_CASE("N6 members with a role of their own have a binding of it, and are members") {
  Kept at;
  const auto names = [&] {
    return at.cluster.names("/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings");
  };
  const auto give = [&](json roles) {
    at.change([&](json& account) { account["spec"]["space"]["bindings"] = std::move(roles); });
  };
  const auto some = [](const char* role, const char* name) {
    return json{{"clusterRole", role}, {"subjects", json::array({user(name)})}};
  };
  give(json::array({some("view", "bob"), some("edit", "eve"), some("view", "ann")}));
  REQUIRE(names().size() == 3);
  CHECK(at.binding("one")["subjects"] == json::array({user("john")}));
  const auto seen = [&] {
    std::string out;
    for (const auto& name : names()) {
      const auto one = at.cluster.at(FakeCluster::binding("one", name));
      if (name == "zoo:account") continue;
      for (const auto& subject : one["subjects"])
        out += one["roleRef"]["name"].get<std::string>() + ":" +
               subject["name"].get<std::string>() + " ";
    }
    return out;
  };
  CHECK((seen() == "view:bob view:ann edit:eve " || seen() == "edit:eve view:bob view:ann "));
  const auto state = at.cluster.state();
  CHECK(state->is_member({"eve", {}, {}, {}}, *state->accounts.find("team")));
  give(json::array({some("edit", "bob")}));
  CHECK(seen() == "edit:bob ");
  at.change([](json& account) { account["spec"]["space"]["clusterRole"] = ""; });
  CHECK(names().size() == 1); // who has no role of his own is let in by none
  CHECK(seen() == "edit:bob ");
  give(nullptr);
  CHECK(names().empty());
}

TEST_CASE("another role is bound before the old one goes, whatever happens in between") {
  for (int death = 0; death < 12; ++death) {
    CAPTURE(death);
    Kept at;
    auto account = at.cluster.at(FakeCluster::account("team"));
    account["spec"]["space"]["clusterRole"] = "edit";
    must(at.cluster.connect()->update(FakeCluster::account("team"), account));
    int writes = 0;
    try {
      Zood dying(at.cluster, {}, [&](const std::string& request) {
        if (request.find("rolebindings") == std::string::npos) return;
        // The members have a binding at each moment.
        const auto names =
            at.cluster.names("/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings");
        CHECK_FALSE(names.empty());
        if (request.find("GET ") != 0 && writes++ == death) throw Crash();
      });
      dying.settle();
    } catch (const Crash&) {
    }
    Zood next(at.cluster);
    next.settle();
    for (const std::string name : {"one", "two"}) {
      CHECK(at.binding(name)["roleRef"]["name"] == "edit");
      CHECK(at.cluster.names("/apis/rbac.authorization.k8s.io/v1/namespaces/" + name +
                             "/rolebindings") == std::vector<std::string>{"zoo:account"});
    }
  }
}

TEST_CASE("a binding that somebody deletes or changes is put back") {
  Kept at;
  at.cluster.remove(FakeCluster::binding("one"));
  auto changed = at.binding("two");
  changed["subjects"].push_back(user("bob"));
  must(at.cluster.connect()->update(FakeCluster::binding("two"), changed));
  at.zood.settle();
  CHECK(at.binding("one")["subjects"] == json::array({user("john")}));
  CHECK(at.binding("two")["subjects"] == json::array({user("john")}));
  // One that somebody added under our label.
  auto extra = at.binding("one");
  extra["subjects"] = json::array({user("bob")});
  at.cluster.put(FakeCluster::binding("one", "extra"), extra);
  at.zood.settle();
  CHECK_FALSE(at.cluster.has(FakeCluster::binding("one", "extra")));
}

TEST_CASE("many spaces have their bindings read in one request") {
  World world;
  put_account(world.cluster, "team", {"john"});
  for (int i = 0; i < 40; ++i)
    world.cluster.put(FakeCluster::space(fmt::format("s{}", i)),
                      {{"metadata", {{"labels", {{"kiosk.sh/account", "team"}}}}}});
  Zood zood(world.cluster);
  zood.settle();
  for (int i = 0; i < 40; ++i)
    CHECK(world.cluster.has(FakeCluster::binding(fmt::format("s{}", i))));
  zood.pass(seconds(2));
  world.cluster.forget_requests();
  zood.pass(seconds(2 * 3'600));
  const auto requests = world.cluster.requests();
  CHECK(std::count(requests.begin(), requests.end(),
                   "GET /apis/rbac.authorization.k8s.io/v1/rolebindings") == 1);
  CHECK(requests.size() < 6);
}

TEST_CASE("N10 the template is kept on spaces that exist, unless the account says not to") {
  Kept at;
  const auto tier = [&] { return at.space("one")["metadata"]["labels"].value("tier", ""); };
  at.change([](json& account) {
    account["spec"]["space"] = {
        {"reconcile", false}, {"spaceTemplate", {{"metadata", {{"labels", {{"tier", "gold"}}}}}}}};
  });
  CHECK(tier() == "");
  at.change([](json& account) { account["spec"]["space"]["reconcile"] = true; });
  CHECK(tier() == "gold");
  auto space = at.space("one");
  space["metadata"]["labels"]["tier"] = "lead";
  must(at.cluster.connect()->update(FakeCluster::space("one"), space));
  at.zood.settle();
  CHECK(tier() == "gold");
}

TEST_CASE("A8 N7 a label that an administrator changes upstream moves access and status") {
  Kept at;
  put_account(at.cluster, "other", {"jane"});
  const auto label = [&](const json& owner) {
    must(at.cluster.connect()->merge_patch(
        FakeCluster::space("one"), {{"metadata", {{"labels", {{"kiosk.sh/account", owner}}}}}}));
    at.zood.settle();
  };
  label("other");
  CHECK(at.binding("one")["subjects"] == json::array({user("jane")}));
  CHECK(at.status()["namespaces"] == json::array({{{"name", "two"}}}));
  CHECK(at.cluster.at(FakeCluster::account("other"))["status"]["namespaces"] ==
        json::array({{{"name", "one"}}}));
  label(nullptr);
  CHECK_FALSE(at.cluster.has(FakeCluster::binding("one")));
  // An account that is not there lets nobody in, and the old one's members are out.
  label("team");
  CHECK(at.cluster.has(FakeCluster::binding("one")));
  label("nowhere");
  CHECK_FALSE(at.cluster.has(FakeCluster::binding("one")));
}

TEST_CASE("nobody is let in or out by what was read before the space had another owner") {
  Kept at;
  put_account(at.cluster, "other", {"jane"});
  const auto label = [&](const json& owner) {
    must(at.cluster.connect()->merge_patch(
        FakeCluster::space("one"), {{"metadata", {{"labels", {{"kiosk.sh/account", owner}}}}}}));
  };
  const auto of_jane = json::array({user("jane")});
  at.zood.lagging = at.cluster.state();
  label("other");
  Zood(at.cluster).settle();
  REQUIRE(at.binding("one")["subjects"] == of_jane);
  at.zood.pass(seconds(2 * 3'600)); // a look at account team
  CHECK(at.binding("one")["subjects"] == of_jane);
  Touched heard;
  heard.spaces = {"one"};
  at.zood.controller->touched(at.zood.lagging, at.zood.lagging, heard);
  at.zood.pass(seconds(1));
  CHECK(at.binding("one")["subjects"] == of_jane);

  // It was nobody's when it was read.
  label(nullptr);
  at.zood.lagging = at.cluster.state();
  label("other");
  Zood(at.cluster).settle();
  const auto before = at.cluster.state();
  REQUIRE(at.binding("one")["subjects"] == of_jane);
  at.zood.controller->touched(before, at.zood.lagging, heard);
  at.zood.pass(seconds(1));
  CHECK(at.binding("one")["subjects"] == of_jane);
  // When it reads on, nothing is left to do.
  at.zood.lagging = nullptr;
  at.zood.settle();
  CHECK(at.binding("one")["subjects"] == of_jane);
}

TEST_CASE("kiosk's annotation names the owner where no label does, within the limit") {
  Kept at("Orphan", {{"limit", 3}});
  const json wish = {{"metadata", {{"annotations", {{"kiosk.sh/account", "team"}}}}}};
  at.cluster.put(FakeCluster::space("adopted"), wish);
  at.zood.settle();
  CHECK(at.space("adopted")["metadata"]["labels"]["kiosk.sh/account"] == "team");
  CHECK(at.cluster.has(FakeCluster::binding("adopted")));
  CHECK_FALSE(at.status().contains("pending"));
  at.cluster.put(FakeCluster::space("more"), wish);
  at.zood.settle();
  CHECK_FALSE(at.space("more")["metadata"].contains("labels"));
  REQUIRE(at.status()["failedSpaces"].size() == 1);
  CHECK(at.status()["failedSpaces"][0]["message"].get<std::string>().find(
            "space limit of 3 reached for account team") == 0);
}

TEST_CASE("N8 an account that is deleted lets its spaces go") {
  Kept at;
  at.cluster.remove(FakeCluster::account("team"));
  REQUIRE(at.cluster.has(FakeCluster::account("team"))); // held until its spaces are seen to
  at.zood.settle();
  CHECK_FALSE(at.cluster.has(FakeCluster::account("team")));
  for (const std::string name : {"one", "two"}) {
    CHECK_FALSE(at.cluster.has(FakeCluster::binding(name)));
    CHECK_FALSE(at.space(name)["metadata"]["labels"].contains("kiosk.sh/account"));
    CHECK(at.space(name)["metadata"]["annotations"]["zoo.kubezoo.io/orphaned-from"] == "team");
  }
}

TEST_CASE("N8 an account that takes its spaces along waits for them, and says so") {
  Kept at("Delete");
  at.cluster.hold_namespaces(true);
  at.cluster.remove(FakeCluster::account("team"));
  at.zood.settle();
  CHECK(at.status()["waitingFor"] == "2 spaces (one, two)");
  CHECK(at.space("one")["status"]["phase"] == "Terminating");
  at.cluster.let_go();
  at.zood.pass(seconds(3));
  CHECK_FALSE(at.cluster.has(FakeCluster::account("team")));
}

TEST_CASE("a deletion that has waited for long goes on soon after one failure") {
  Kept at("Delete");
  at.cluster.hold_namespaces(true);
  at.cluster.remove(FakeCluster::account("team"));
  at.zood.settle();
  for (int look = 0; look < 30; ++look)
    at.zood.pass(seconds(2));
  int failures = 0;
  at.cluster.set_fault([&](const std::string& request) -> std::optional<http_client::Response> {
    if (request != "GET " + FakeCluster::account("team")) return {};
    ++failures;
    return refusal(503, "ServiceUnavailable", "away");
  });
  at.zood.pass(seconds(2));
  REQUIRE(failures == 1);
  at.cluster.set_fault({});
  at.cluster.let_go();
  at.zood.pass(seconds(1));
  CHECK_FALSE(at.cluster.has(FakeCluster::account("team")));
}

TEST_CASE("N8 an account that refuses stays while it has spaces") {
  Kept at("Refuse");
  at.cluster.remove(FakeCluster::account("team"));
  at.zood.settle();
  CHECK(at.condition("Ready")["message"] ==
        "account \"team\" owns 2 spaces (one, two): delete or transfer them");
  CHECK(at.cluster.has(FakeCluster::binding("one")));
  at.cluster.remove(FakeCluster::space("one"));
  at.cluster.remove(FakeCluster::space("two"));
  at.zood.settle();
  CHECK_FALSE(at.cluster.has(FakeCluster::account("team")));
}

TEST_CASE("a deletion that ends anywhere is ended by the next zood") {
  for (const std::string policy : {"Orphan", "Delete"}) {
    bool died = true;
    for (int request = 0; died; ++request) {
      CAPTURE(request);
      CAPTURE(policy);
      Kept at(policy);
      at.cluster.remove(FakeCluster::account("team"));
      int count = 0;
      died = false;
      try {
        Zood dying(at.cluster, {}, [&](const std::string&) {
          if (count++ >= request) throw Crash();
        });
        dying.settle();
        dying.pass(seconds(3));
      } catch (const Crash&) {
        died = true;
      }
      Zood next(at.cluster);
      next.settle();
      next.pass(seconds(3));
      CHECK_FALSE(at.cluster.has(FakeCluster::account("team")));
      CHECK(at.cluster.has(FakeCluster::space("one")) == (policy == "Orphan"));
      CHECK_FALSE(at.cluster.has(FakeCluster::binding("one")));
    }
  }
}

TEST_CASE("when the kind itself is deleted the spaces stay as they are") {
  Kept at("Delete");
  auto definition = at.cluster.at(k_definition);
  definition["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  definition["metadata"]["finalizers"] = {"customresourcecleanup.apiextensions.k8s.io"};
  at.cluster.put(k_definition, definition);
  at.cluster.remove(FakeCluster::account("team"));
  at.zood.settle();
  CHECK_FALSE(at.cluster.has(FakeCluster::account("team")));
  CHECK(at.space("one")["metadata"]["labels"]["kiosk.sh/account"] == "team");
  CHECK(at.space("one")["status"]["phase"] == "Active");
}

TEST_CASE("an account that cannot be read is not taken for deleted") {
  Kept at;
  at.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request.find("/config.kiosk.sh/") != std::string::npos)
      return http_client::Response{404, {}, "404 page not found"};
    return {};
  });
  at.zood.pass(seconds(2 * 3'600));
  auto space = at.space("one");
  space["metadata"]["labels"]["x"] = "y";
  must(at.cluster.connect()->update(FakeCluster::space("one"), space));
  at.zood.settle();
  at.zood.trouble = true;
  at.zood.pass(seconds(2 * 3'600));
  CHECK(at.cluster.has(FakeCluster::binding("one")));
  CHECK(at.space("one")["metadata"]["labels"]["kiosk.sh/account"] == "team");
}

TEST_CASE("an answer that is no list is not taken for an empty one") {
  Kept at("Delete", {{"limit", 2}});
  const auto answered = [&](const std::string& path) {
    at.cluster.set_fault([=](const std::string& request) -> std::optional<http_client::Response> {
      if (request == "GET " + path) return http_client::Response{200, {}, "{}"};
      return {};
    });
  };
  answered("/api/v1/namespaces");
  const auto api = at.cluster.connect();
  CHECK(namespaces_of(*api, "team").error().code() == Code::unavailable);
  // Nobody may have more for it, and nothing goes before the spaces are gone.
  const auto more = at.zood.spaces->create(who("john"), a_space("three", "team"), options());
  REQUIRE_FALSE(more.has_value());
  CHECK(more.error().code() == Code::unavailable);
  at.cluster.hold_namespaces(true);
  at.cluster.remove(FakeCluster::account("team"));
  at.zood.settle();
  CHECK(at.cluster.has(FakeCluster::account("team")));

  answered("/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings");
  CHECK(bindings_in(*api, "one").error().code() == Code::unavailable);
}

TEST_CASE("changes of everybody's rights that come together are looked at together") {
  Kept at;
  at.zood.pass(seconds(10));
  at.cluster.forget_requests();
  Touched everybody;
  everybody.rights.everybody = true;
  const auto now = at.cluster.state();
  for (int change = 0; change < 3; ++change) {
    at.zood.controller->touched(now, now, everybody);
    at.zood.pass(seconds(0));
  }
  CHECK(at.cluster.requests().empty());
  at.zood.pass(seconds(1));
  const auto requests = at.cluster.requests();
  CHECK(std::count(requests.begin(), requests.end(),
                   "GET /apis/rbac.authorization.k8s.io/v1/rolebindings") == 1);
  // However often they change.
  at.cluster.forget_requests();
  for (int second = 0; second < 9; ++second) {
    at.zood.controller->touched(now, now, everybody);
    at.zood.pass(seconds(1));
  }
  CHECK(at.cluster.requests().empty());
  Touched open;
  open.rights.open_namespaces = {"nobodys"};
  at.zood.controller->touched(now, now, open);
  at.zood.pass(seconds(1));
  const auto more = at.cluster.requests();
  CHECK(std::none_of(more.begin(), more.end(), [](const auto& request) {
    return request.find("/namespaces/nobodys/") != std::string::npos;
  }));
}

TEST_CASE("a binding that has changed costs a look at its namespace, and none at the others") {
  Kept at;
  at.zood.pass(seconds(2));
  at.cluster.remove(FakeCluster::binding("one"));
  at.cluster.forget_requests();
  Touched heard;
  heard.rights.subjects = {"u:john"};
  heard.rights.namespaces = {"nobodys", "one"};
  const auto now = at.cluster.state();
  at.zood.controller->touched(now, now, heard);
  at.zood.pass(seconds(1));
  CHECK(at.cluster.has(FakeCluster::binding("one")));
  for (const auto& request : at.cluster.requests()) {
    CHECK(request.find("/namespaces/two") == std::string::npos);
    CHECK(request.find("/v1/rolebindings") == std::string::npos);
  }
}

TEST_CASE("one broken account fails alone, and says so") {
  Kept at;
  put_account(at.cluster, "broken", {"jane"}, {{"clusterRole", "no/name"}});
  at.cluster.put(FakeCluster::space("b"),
                 {{"metadata", {{"labels", {{"kiosk.sh/account", "broken"}}}}}});
  at.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request.find("POST") == 0 && request.find("/namespaces/b/") != std::string::npos)
      return refusal(422, "Invalid", "roleRef.name: Invalid value: \"no/name\"");
    return {};
  });
  at.zood.settle();
  at.change([](json& account) { account["spec"]["subjects"] = json::array({user("jane")}); });
  CHECK(at.binding("one")["subjects"] == json::array({user("jane")}));
  CHECK(at.condition("Ready")["status"] == "True");
  const auto conditions = at.cluster.at(FakeCluster::account("broken"))["status"]["conditions"];
  const auto ready = std::find_if(conditions.begin(), conditions.end(),
                                  [](const json& one) { return one["type"] == "Ready"; });
  REQUIRE(ready != conditions.end());
  CHECK((*ready)["status"] == "False");
  CHECK((*ready)["message"].get<std::string>().find("roleRef.name") == 0);
}

TEST_CASE("a binding that somebody has put in the way gives way, with its finalizers") {
  const auto planted = [](const char* role) {
    return json{{"metadata", {{"finalizers", {"x.io/hold"}}}},
                {"roleRef", {{"kind", "ClusterRole"}, {"name", role}}},
                {"subjects", json::array({user("john")})}};
  };
  const auto names = [](const Kept& at) {
    return at.cluster.names("/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings");
  };
  for (const char* role : {"edit", "view"}) { // another role, and the one that is coming
    CAPTURE(role);
    Kept at;
    at.cluster.put(FakeCluster::binding("one", "zoo:account-next"), planted(role));
    at.change([](json& account) { account["spec"]["space"]["clusterRole"] = "view"; });
    CHECK(at.binding("one")["roleRef"]["name"] == "view");
    CHECK(names(at) == std::vector<std::string>{"zoo:account"});
    CHECK(at.condition("Ready")["status"] == "True");
  }
  // Of members with a role of their own; and a transfer, which is another account's.
  Kept at;
  at.change([](json& account) {
    account["spec"]["space"]["bindings"] =
        json::array({{{"clusterRole", "view"}, {"subjects", json::array({user("bob")})}}});
  });
  const auto all = names(at);
  REQUIRE(all.size() == 2);
  at.cluster.put(FakeCluster::binding("one", all[1]), planted("edit"));
  at.change([](json& account) { account["spec"]["subjects"] = json::array({user("jane")}); });
  CHECK(at.binding("one")["subjects"] == json::array({user("jane")}));
  const auto others = at.cluster.at(FakeCluster::binding("one", all[1]));
  CHECK(others["roleRef"]["name"] == "view");
  CHECK(others["subjects"] == json::array({user("bob")}));
  CHECK_FALSE(others["metadata"].contains("finalizers"));
}

TEST_CASE("where the next binding cannot be made the old one goes all the same, and that is told") {
  Kept at;
  at.cluster.set_fault([](const std::string& request) -> std::optional<http_client::Response> {
    if (request == "POST /apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings")
      return refusal(403, "Forbidden", "none is made here");
    return {};
  });
  at.change([](json& account) { account["spec"]["space"]["clusterRole"] = "view"; });
  CHECK_FALSE(at.cluster.has(FakeCluster::binding("one"))); // nobody keeps the role of before
  CHECK(at.binding("two")["roleRef"]["name"] == "view");
  CHECK(at.condition("Ready")["status"] == "False");
  CHECK(at.condition("Ready")["message"].get<std::string>().find("none is made here") !=
        std::string::npos);
  at.cluster.set_fault({});
  for (int i = 0; i < 10; ++i)
    at.zood.pass(seconds(60));
  CHECK(at.binding("one")["roleRef"]["name"] == "view");
  CHECK(at.condition("Ready")["status"] == "True");
}

TEST_CASE("an account whose role is not there says so, until it is") {
  Kept at;
  at.cluster.gone_roles = {"gone", "admin"};
  at.change([](json& account) {
    account["spec"]["space"]["bindings"] =
        json::array({{{"clusterRole", "gone"}, {"subjects", json::array({user("bob")})}}});
  });
  CHECK(at.condition("Ready")["status"] == "False");
  CHECK(at.condition("Ready")["reason"] == "RoleNotFound");
  CHECK(
      at.condition("Ready")["message"] ==
      "there is no ClusterRole \"admin\" and no \"gone\": who is bound to it has no rights in the "
      "spaces");
  at.cluster.gone_roles.clear();
  at.zood.pass(seconds(20));
  CHECK(at.condition("Ready")["status"] == "True");
  CHECK(at.condition("Ready")["reason"] == "Kept");
}

TEST_CASE("what does not fit into the quotas of an account is not adopted, and that is told") {
  Kept at;
  at.zood.parts.room = [](const std::string& account, const std::string& space) -> Result<void> {
    if (space != "full") return {};
    return fail(Code::forbidden, "account \"{}\" has no room", account);
  };
  for (const char* name : {"full", "fits"})
    at.cluster.put(FakeCluster::space(name),
                   {{"metadata", {{"annotations", {{"kiosk.sh/account", "team"}}}}}});
  at.zood.settle();
  CHECK(at.space("fits")["metadata"]["labels"]["kiosk.sh/account"] == "team");
  CHECK_FALSE(at.space("full")["metadata"].contains("labels"));
  CHECK(at.status()["failedSpaces"][0]["message"] == "account \"team\" has no room");
}
