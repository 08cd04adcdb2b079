// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/accounts/world.hpp"

#include <algorithm>

using namespace zoo;
using namespace zoo::accounts;
using namespace zoo::accounts::test;
using nlohmann::json;
using resources::Verb;

namespace {

/// Accounts `a` (john) and `b` (jane), each with a space of its own: `of-a` and `of-b`.
struct Spaces : World {
  Spaces() {
    put_account(cluster, "a", {"john"}, {{"limit", 2}});
    put_account(cluster, "b", {"jane"}, {{"limit", 1}, {"clusterRole", "edit"}});
    must(zood.spaces->create(who("john"), a_space("of-a", "a"), options()));
  }
  json as_stored(const std::string& name) {
    auto metadata = cluster.at(FakeCluster::space(name))["metadata"];
    auto labels = metadata.value("labels", json::object());
    auto out = a_space(name, labels.value("kiosk.sh/account", ""));
    labels.erase("kiosk.sh/account");
    metadata["labels"] = labels;
    out["metadata"] = metadata;
    out["spec"]["finalizers"] = {"kubernetes"};
    return out;
  }
  Result<resources::Written> write(const std::string& user, const json& space) {
    return zood.spaces->update(who(user), space, options());
  }
  Zood zood{cluster};
};

std::string refusal_of(const Result<resources::Written>& result, Code code) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code() == code);
  return result.error().message();
}

} // namespace

TEST_CASE("SP9 a member changes labels and annotations of his space, and nothing else") {
  Spaces at;
  auto space = at.as_stored("of-a");
  space["metadata"]["labels"]["mine"] = "yes";
  space["metadata"]["annotations"]["note"] = "hello";
  const auto changed = must(at.write("john", space));
  CHECK((*changed.object)["metadata"]["labels"]["mine"] == "yes");
  CHECK(at.cluster.at(FakeCluster::space("of-a"))["metadata"]["labels"] ==
        json{{"kiosk.sh/account", "a"}, {"mine", "yes"}});

  auto more = at.as_stored("of-a");
  more["metadata"]["finalizers"] = {"example.com/mine"};
  CHECK(refusal_of(at.write("john", more), Code::forbidden).find("labels and annotations") !=
        std::string::npos);
  more = at.as_stored("of-a");
  more["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "privileged";
  CHECK(refusal_of(at.write("john", more), Code::forbidden)
            .find("pod-security.kubernetes.io/enforce") != std::string::npos);
}

TEST_CASE("SP9 to who has no right a space is no more than a name") {
  Spaces at;
  auto space = at.as_stored("of-a");
  space["metadata"]["labels"]["mine"] = "yes";
  const auto there = refusal_of(at.write("bob", space), Code::forbidden);
  auto none = a_space("nowhere", "a");
  auto absent = refusal_of(at.write("bob", none), Code::forbidden);
  absent.replace(absent.find("nowhere"), 7, "of-a");
  CHECK(there == absent);
  CHECK(refusal_of(at.write("admin", none), Code::not_found) ==
        "spaces.tenancy.kiosk.sh \"nowhere\" not found");
  for (const auto verb : {Verb::update, Verb::patch, Verb::remove}) {
    CHECK(at.zood.spaces->admit(who("bob"), verb, "of-a").error().code() == Code::forbidden);
    CHECK(at.zood.spaces->admit(who("bob"), verb, "nowhere").error().code() == Code::forbidden);
    CHECK(at.zood.spaces->admit(who("admin"), verb, "nowhere"));
  }
  CHECK(at.zood.spaces->admit(who("john"), Verb::patch, "of-a"));
  // A tenant's namespace is no space, whatever one may do with namespaces.
  at.cluster.put(FakeCluster::space("barbar-x"),
                 {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "barbar"}}}}}});
  CHECK(refusal_of(at.write("admin", a_space("barbar-x")), Code::not_found) ==
        "spaces.tenancy.kiosk.sh \"barbar-x\" not found");
}

TEST_CASE("a write is on the version that was judged") {
  Spaces at;
  auto space = at.as_stored("of-a");
  space["metadata"]["labels"]["mine"] = "yes";
  auto old = space;
  old["metadata"]["resourceVersion"] = "1";
  CHECK(at.write("john", old).error().code() == Code::conflict);
  auto other = space;
  other["metadata"].erase("resourceVersion");
  other["metadata"]["uid"] = "another";
  CHECK(at.write("john", other).error().code() == Code::conflict);
  space["metadata"].erase("resourceVersion");
  CHECK(at.write("john", space));
}

TEST_CASE("N7 the owner changes by who may update both accounts, and access with it") {
  Spaces at;
  auto space = at.as_stored("of-a");
  space["spec"]["account"] = "b";
  CHECK(refusal_of(at.write("john", space), Code::forbidden).find("both accounts") !=
        std::string::npos);
  at.cluster.allow("john", "update", "config.kiosk.sh", "accounts", "a");
  CHECK(refusal_of(at.write("john", space), Code::forbidden).find("both accounts") !=
        std::string::npos);
  at.cluster.allow("john", "update", "config.kiosk.sh", "accounts", "b");
  CHECK(refusal_of(at.write("john", space), Code::forbidden).find("create rolebindings") !=
        std::string::npos);
  at.cluster.allow("john", "create", "rbac.authorization.k8s.io", "rolebindings");
  const auto moved = must(at.write("john", space));
  CHECK((*moved.object)["spec"]["account"] == "b");
  const auto binding = at.cluster.at(FakeCluster::binding("of-a"));
  CHECK(binding["subjects"] == json::array({user("jane")}));
  CHECK(binding["roleRef"]["name"] == "edit");
  CHECK(at.cluster.names("/apis/rbac.authorization.k8s.io/v1/namespaces/of-a/rolebindings") ==
        std::vector<std::string>{"zoo:account"});
  CHECK_FALSE(at.cluster.at(FakeCluster::account("b"))["status"].contains("pending"));
  at.zood.settle();
  CHECK(at.cluster.at(FakeCluster::account("a"))["status"]["namespaces"] == json::array());
  CHECK(at.cluster.at(FakeCluster::account("b"))["status"]["namespaces"] ==
        json::array({{{"name", "of-a"}}}));
}

TEST_CASE("the limit of the account that a space moves to holds") {
  Spaces at;
  must(at.zood.spaces->create(who("jane"), a_space("of-b", "b"), options()));
  auto space = at.as_stored("of-a");
  space["spec"]["account"] = "b";
  CHECK(refusal_of(at.write("admin", space), Code::forbidden)
            .find("space limit of 1 reached for account b") == 0);
  CHECK(at.cluster.at(FakeCluster::space("of-a"))["metadata"]["labels"]["kiosk.sh/account"] == "a");
  space["spec"]["account"] = "x";
  CHECK(refusal_of(at.write("admin", space), Code::not_found) ==
        "accounts.config.kiosk.sh \"x\" not found");
}

TEST_CASE("what is in a space must fit into the quotas of the account that it moves to") {
  Spaces at;
  at.zood.parts.room = [](const std::string& account, const std::string& space) -> Result<void> {
    return fail(Code::forbidden, "account \"{}\" has no room for {}", account, space);
  };
  auto space = at.as_stored("of-a");
  space["spec"]["account"] = "b";
  CHECK(refusal_of(at.write("admin", space), Code::forbidden) ==
        "account \"b\" has no room for of-a");
  CHECK(at.cluster.at(FakeCluster::space("of-a"))["metadata"]["labels"]["kiosk.sh/account"] == "a");
  CHECK_FALSE(at.cluster.at(FakeCluster::account("b"))["status"].contains("pending"));
  space["spec"]["account"] = "";
  must(at.write("admin", space)); // nobody has no quota
}

TEST_CASE("a namespace of nobody is adopted, and a space is let go") {
  Spaces at;
  at.cluster.put(FakeCluster::space("old"), {});
  auto space = at.as_stored("old");
  space["spec"]["account"] = "a";
  must(at.write("admin", space));
  CHECK(at.cluster.at(FakeCluster::binding("old"))["subjects"] == json::array({user("john")}));
  space = at.as_stored("old");
  space["spec"]["account"] = "";
  must(at.write("admin", space));
  CHECK_FALSE(at.cluster.has(FakeCluster::binding("old")));
  CHECK_FALSE(
      at.cluster.at(FakeCluster::space("old"))["metadata"]["labels"].contains("kiosk.sh/account"));
}

TEST_CASE("SP10 who may delete the namespace deletes the space; a member is told who may") {
  Spaces at;
  const auto remove = [&](const std::string& user, const std::string& name,
                          const resources::Preconditions& expected = {}, bool dry = false) {
    return at.zood.spaces->remove(who(user), {"", name}, expected, options(dry));
  };
  CHECK(refusal_of(remove("john", "of-a"), Code::forbidden) ==
        "user \"john\" cannot delete space \"of-a\": account \"a\" binds \"admin\"; "
        "\"kiosk-space-admin\" may");
  auto there = refusal_of(remove("bob", "of-a"), Code::forbidden);
  const auto absent = refusal_of(remove("bob", "nowhere"), Code::forbidden);
  there.replace(there.find("of-a"), 4, "nowhere");
  CHECK(there == absent);
  CHECK(refusal_of(remove("admin", "nowhere"), Code::not_found) ==
        "spaces.tenancy.kiosk.sh \"nowhere\" not found");
  CHECK(remove("admin", "of-a", {"another", ""}).error().code() == Code::conflict);
  CHECK(remove("admin", "of-a", {"", "1"}).error().code() == Code::conflict);
  must(remove("admin", "of-a", {}, true));
  CHECK(at.cluster.has(FakeCluster::space("of-a")));
  at.cluster.hold_namespaces(true);
  const auto gone = must(remove("admin", "of-a"));
  REQUIRE(gone.object != nullptr);
  CHECK((*gone.object)["kind"] == "Space");
  CHECK((*gone.object)["status"]["phase"] == "Terminating");
}

TEST_CASE("who gives the members of an account a role may bind it") {
  World world;
  Zood zood(world.cluster);
  world.cluster.allow("keeper", "*", "tenancy.kiosk.sh", "accounts");
  world.cluster.allow("keeper", "bind", "rbac.authorization.k8s.io", "clusterroles", "view");
  json account = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                  {"kind", "Account"},
                  {"metadata", {{"name", "team"}}},
                  {"spec", {{"subjects", json::array({user("keeper")})}}}};
  const auto as = [&](const char* role) {
    account["spec"]["space"]["clusterRole"] = role;
    return zood.accounts->create(who("keeper"), account, options(true));
  };
  CHECK(refusal_of(as("cluster-admin"), Code::forbidden).find("verb bind") != std::string::npos);
  must(as("view"));
  must(as(""));
  account["spec"].erase("space"); // the default is admin
  CHECK(refusal_of(zood.accounts->create(who("keeper"), account, options()), Code::forbidden)
            .find("\"admin\"") != std::string::npos);
  must(zood.accounts->create(who("admin"), account, options()));
  auto live = world.cluster.at(FakeCluster::account("team"));
  live["metadata"]["labels"]["a"] = "b";
  must(zood.accounts->update(who("keeper"), live, options())); // gives nobody anything
  live["spec"]["subjects"].push_back(user("bob"));
  CHECK(refusal_of(zood.accounts->update(who("keeper"), live, options()), Code::forbidden)
            .find("verb bind") != std::string::npos);
}

TEST_CASE("A5 A6 V4 accounts are written by who may, in the group in which they are kept") {
  World world;
  Zood zood(world.cluster);
  const json wanted = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                       {"kind", "Account"},
                       {"metadata", {{"name", "team"}}},
                       {"spec", {{"subjects", json::array({user("john")})}}}};
  const auto refused = zood.accounts->create(who("john"), wanted, options());
  CHECK(refusal_of(refused, Code::forbidden).find("group tenancy.kiosk.sh") != std::string::npos);
  must(zood.accounts->create(who("admin"), wanted, options()));
  CHECK(world.cluster.at(FakeCluster::account("team"))["apiVersion"] == "config.kiosk.sh/v1alpha1");
  const auto again = zood.accounts->create(who("admin"), wanted, options());
  CHECK(refusal_of(again, Code::already_exists) ==
        "accounts.tenancy.kiosk.sh \"team\" already exists");

  auto change = world.cluster.at(FakeCluster::account("team"));
  change["apiVersion"] = "tenancy.kiosk.sh/v1alpha1";
  change["metadata"]["labels"]["a"] = "b";
  const auto changed = must(zood.accounts->update(who("admin"), change, options()));
  CHECK((*changed.object)["apiVersion"] == "tenancy.kiosk.sh/v1alpha1");
  CHECK((*changed.object)["metadata"]["labels"] == json{{"a", "b"}});
  change = *changed.object;
  change["status"]["namespaces"] = json::array({{{"name", "x"}}});
  CHECK(refusal_of(zood.accounts->update(who("admin"), change, options()), Code::invalid)
            .find("status: field is immutable") == 0);

  CHECK(zood.accounts->remove(who("john"), {"", "team"}, {}, options()).error().code() ==
        Code::forbidden);
  CHECK(zood.accounts->remove(who("admin"), {"", "team"}, {"another", ""}, options())
            .error()
            .code() == Code::conflict);
  must(zood.accounts->remove(who("admin"), {"", "team"}, {}, options()));
  CHECK_FALSE(world.cluster.has(FakeCluster::account("team")));
}

TEST_CASE(
    "an applied space is merged upstream, judged, and written on the version that was judged") {
  Spaces at;
  const auto apply = [&](json space, const char* by = "john") {
    return at.zood.spaces->apply(who(by), "of-a", std::move(space), {false, "kubectl", true});
  };
  auto wanted = a_space("of-a");
  wanted["metadata"]["labels"]["team"] = "x";
  at.cluster.forget_requests();
  CHECK_FALSE(must(apply(wanted)).created);
  const auto stored = [&] {
    return at.cluster.at(FakeCluster::space("of-a"))["metadata"]["labels"];
  };
  CHECK(stored()["team"] == "x");
  const auto requests = at.cluster.requests();
  CHECK(std::count(requests.begin(), requests.end(), "PATCH /api/v1/namespaces/of-a") == 2);
  CHECK(std::count(requests.begin(), requests.end(), "PUT /api/v1/namespaces/of-a") == 0);

  auto more = wanted;
  more["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "privileged";
  CHECK(refusal_of(apply(more), Code::forbidden).find("pod-security.kubernetes.io/enforce") !=
        std::string::npos);
  CHECK_FALSE(stored().contains("pod-security.kubernetes.io/enforce"));
  refusal_of(apply(wanted, "jane"), Code::forbidden);
  refusal_of(apply(a_space("of-a", "b")), Code::forbidden);
  auto old = wanted;
  old["metadata"]["resourceVersion"] = "1";
  refusal_of(apply(old), Code::conflict);
}

TEST_CASE("no apply sets by what zood knows a space, or a tenant") {
  Spaces at;
  at.cluster.allow("jane", "update", "", "namespaces", "of-a");
  at.cluster.put(FakeCluster::space("free"),
                 {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "free"}}}});
  at.cluster.allow("jane", "update", "", "namespaces", "free");
  for (const auto& [member, key] :
       {std::pair{"annotations", "kiosk.sh/initializing"},
        std::pair{"annotations", "zoo.kubezoo.io/space-request"},
        std::pair{"labels", "kiosk.sh/account"}, std::pair{"labels", "tenant.kubezoo.io/id"}}) {
    CAPTURE(key);
    for (const char* name : {"of-a", "free"}) {
      CAPTURE(name);
      const auto stored = at.cluster.at(FakeCluster::space(name))["metadata"];
      auto wanted = a_space(name);
      wanted["metadata"][member][key] = "true";
      CHECK(refusal_of(at.zood.spaces->apply(who("jane"), name, wanted, {false, "kubectl", true}),
                       Code::forbidden)
                .find(key) != std::string::npos);
      CHECK(at.cluster.at(FakeCluster::space(name))["metadata"] == stored);
    }
  }
  const json tenants{{"apiVersion", "v1"},
                     {"kind", "Namespace"},
                     {"metadata", {{"labels", {{"tenant.kubezoo.io/id", "abc123"}}}}}};
  for (const char* name : {"of-a", "free"})
    CHECK(refusal_of(
              at.zood.spaces->apply_namespace(who("jane"), name, tenants, {false, "kubectl", true}),
              Code::forbidden)
              .find("tenant.kubezoo.io/id") != std::string::npos);
}

TEST_CASE("a space that is applied and not there is made, and its fields are owned by that") {
  Spaces at;
  at.cluster.allow("john", "create", "tenancy.kiosk.sh", "spaces");
  auto wanted = a_space("new", "a");
  wanted["metadata"]["labels"]["team"] = "x";
  CHECK(must(at.zood.spaces->apply(who("john"), "new", wanted, {false, "kubectl", false})).created);
  const auto owners = at.cluster.at(FakeCluster::space("new"))["metadata"]["managedFields"];
  REQUIRE(owners.size() == 1);
  CHECK(owners[0]["manager"] == "kubectl");
  CHECK(owners[0]["operation"] == "Apply");
  CHECK(owners[0]["fieldsV1"]["f:metadata"]["f:labels"].contains("f:team"));

  const json name_space{{"apiVersion", "v1"}, {"kind", "Namespace"}};
  refusal_of(at.zood.spaces->apply_namespace(who("john"), "third", name_space, options()),
             Code::forbidden); // the limit of account a is 2
  CHECK(at.zood.spaces->admit_apply(who("john"), "third"));
  CHECK(at.zood.spaces->admit_apply(who("john"), "of-a"));
  CHECK_FALSE(at.zood.spaces->admit_apply(who("jane"), "of-a"));
  CHECK_FALSE(at.zood.spaces->admit_apply(who("eve"), "third"));
  must(at.zood.spaces->apply_namespace(who("jane"), "janes", name_space, options()));
  CHECK(at.cluster.at(FakeCluster::space("janes"))["metadata"]["labels"]["kiosk.sh/account"] ==
        "b");
}

TEST_CASE("what a member adds to a space is neither a finalizer nor an owner of it") {
  World world;
  put_account(world.cluster, "team", {"john"});
  Zood zood(world.cluster);
  json space = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                {"kind", "Space"},
                {"metadata",
                 {{"name", "s"},
                  {"labels", {{"a", "b"}}},
                  {"finalizers", json::array({"example.com/never"})},
                  {"ownerReferences", json::array({{{"kind", "Node"}, {"name", "n"}}})}}},
                {"spec", {{"account", "team"}}}};
  must(zood.spaces->create(who("john"), space, options()));
  const auto made = world.cluster.at(FakeCluster::space("s"));
  CHECK(made["metadata"]["labels"]["a"] == "b");
  CHECK_FALSE(made["metadata"].contains("finalizers"));
  CHECK_FALSE(made["metadata"].contains("ownerReferences"));
}

TEST_CASE("tenants' namespaces count in no account, and go with none") {
  World world;
  put_account(world.cluster, "team", {"john"});
  Zood zood(world.cluster);
  world.cluster.put(
      FakeCluster::space("abc123-x"),
      {{"apiVersion", "v1"},
       {"kind", "Namespace"},
       {"metadata",
        {{"name", "abc123-x"},
         {"labels", {{"kiosk.sh/account", "team"}, {"tenant.kubezoo.io/id", "abc123"}}}}}});
  const auto api = world.cluster.connect();
  CHECK(must(namespaces_of(*api, "team")).empty());
}
