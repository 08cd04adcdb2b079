// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy.hpp"
#include "daemon/authz/system_roles.hpp"

#include <doctest/doctest.h>

using namespace zoo::authz;

namespace {

std::shared_ptr<const Role> role(std::string_view json) {
  const auto tree = zoo::translate::JsonTree::parse(json);
  REQUIRE(tree);
  return std::make_shared<const Role>(read_role(tree->root()));
}

std::shared_ptr<const Binding> binding(std::string_view json) {
  const auto tree = zoo::translate::JsonTree::parse(json);
  REQUIRE(tree);
  return std::make_shared<const Binding>(read_binding(tree->root()));
}

PolicyPtr world() {
  Policy::Objects objects;
  objects.roles = {
      role(R"({"metadata":{"name":"reader","namespace":"team"},
        "rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}]})"),
      role(R"({"metadata":{"name":"nodes"},
        "rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["nodes"]}]})"),
      role(R"({"metadata":{"name":"monitor"},"aggregationRule":{"clusterRoleSelectors":[
        {"matchLabels":{"part":"monitor"}},
        {"matchExpressions":[{"key":"tier","operator":"In","values":["x","y"]}]}]},
        "rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})"),
      role(R"({"metadata":{"name":"monitor-services","labels":{"part":"monitor"}},
        "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["services"]}]})"),
      role(R"({"metadata":{"name":"monitor-more","labels":{"tier":"y"}},"aggregationRule":
        {"clusterRoleSelectors":[{"matchLabels":{"deep":"yes"}},{"matchLabels":{"part":"monitor"}}]}})"),
      role(R"({"metadata":{"name":"deep","labels":{"deep":"yes"}},
        "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["endpoints"]},
                 {"verbs":["get"],"apiGroups":[""],"resources":["services"]}]})"),
      role(R"({"metadata":{"name":"crontabs","labels":
        {"rbac.authorization.k8s.io/aggregate-to-view":"true"}},
        "rules":[{"verbs":["get"],"apiGroups":["example.com"],"resources":["crontabs"]}]})"),
      role(R"({"metadata":{"name":"cluster-admin"},"rules":[]})"),
  };
  objects.bindings = {
      binding(R"({"metadata":{"name":"readers","namespace":"team"},
        "roleRef":{"kind":"Role","name":"reader"},
        "subjects":[{"kind":"User","name":"jane"},{"kind":"Group","name":"developers"},
                    {"kind":"ServiceAccount","name":"robot"}]})"),
      binding(R"({"metadata":{"name":"nodes"},"roleRef":{"kind":"ClusterRole","name":"nodes"},
        "subjects":[{"kind":"ServiceAccount","name":"robot","namespace":"team"}]})"),
      binding(R"({"metadata":{"name":"all-robots"},"roleRef":{"kind":"ClusterRole","name":"view"},
        "subjects":[{"kind":"Group","name":"system:serviceaccounts:team"}]})"),
      binding(R"({"metadata":{"name":"gone","namespace":"team"},
        "roleRef":{"kind":"Role","name":"gone"},"subjects":[{"kind":"User","name":"joe"}]})"),
      binding(R"({"metadata":{"name":"gone-too","namespace":"team"},
        "roleRef":{"kind":"ClusterRole","name":"gone"},"subjects":[{"kind":"User","name":"joe"}]})"),
      binding(R"({"metadata":{"name":"mon"},"roleRef":{"kind":"ClusterRole","name":"monitor"},
        "subjects":[{"kind":"User","name":"mona"}]})"),
  };
  return Policy::build(objects);
}

const User k_jane{"jane", "", {"system:authenticated"}, {}};
const User k_robot{
    "system:serviceaccount:team:robot",
    "",
    {"system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"},
    {}};

Decision ask(const User& user, std::string verb, std::string resource, std::string name_space,
             std::string group = "") {
  Attributes attributes;
  attributes.verb = std::move(verb);
  attributes.group = std::move(group);
  attributes.resource = std::move(resource);
  attributes.name_space = std::move(name_space);
  return world()->decide(user, attributes);
}

Decision ask_path(const User& user, std::string path) {
  Attributes attributes;
  attributes.resource_request = false;
  attributes.verb = "get";
  attributes.path = std::move(path);
  return world()->decide(user, attributes);
}

} // namespace

TEST_CASE("a binding in a namespace holds there") {
  const auto allowed = ask(k_jane, "list", "pods", "team");
  CHECK(allowed.allowed);
  CHECK(allowed.reason ==
        R"(RBAC: allowed by RoleBinding "readers/team" of Role "reader" to User "jane")");
  CHECK_FALSE(ask(k_jane, "list", "pods", "other").allowed);
  CHECK_FALSE(ask(k_jane, "list", "pods", "").allowed);
  CHECK_FALSE(ask(k_jane, "delete", "pods", "team").allowed);
  CHECK(ask(k_jane, "delete", "pods", "team").reason == "");
  CHECK(ask({"max", "", {"developers"}, {}}, "get", "pods", "team").reason ==
        R"(RBAC: allowed by RoleBinding "readers/team" of Role "reader" to Group "developers")");
}

TEST_CASE("a ServiceAccount is a subject of its own, a user, and a member of its groups") {
  CHECK(
      ask(k_robot, "get", "pods", "team").reason ==
      R"(RBAC: allowed by ClusterRoleBinding "all-robots" of ClusterRole "view" to Group "system:serviceaccounts:team")");
  const User bare{k_robot.name, "", {}, {}};
  CHECK(
      ask(bare, "get", "pods", "team").reason ==
      R"(RBAC: allowed by RoleBinding "readers/team" of Role "reader" to ServiceAccount "robot/team")");
  CHECK(
      ask(bare, "get", "nodes", "").reason ==
      R"(RBAC: allowed by ClusterRoleBinding "nodes" of ClusterRole "nodes" to ServiceAccount "robot/team")");
  CHECK_FALSE(ask({"system:serviceaccount:other:robot", "", {}, {}}, "get", "nodes", "").allowed);
}

TEST_CASE("a role that does not exist is told, and stops nothing") {
  const User joe{"joe", "", {}, {}};
  CHECK(ask(joe, "get", "pods", "team").reason ==
        R"(RBAC: [role.rbac.authorization.k8s.io "gone" not found, )"
        R"(clusterrole.rbac.authorization.k8s.io "gone" not found])");
  const User both{"joe", "", {"developers"}, {}};
  CHECK(ask(both, "get", "pods", "team").allowed);
}

TEST_CASE("an aggregated role has the rules that it gathers, and no others") {
  const User mona{"mona", "", {}, {}};
  CHECK(ask(mona, "get", "services", "").allowed);
  CHECK(ask(mona, "get", "endpoints", "").allowed);
  CHECK_FALSE(ask(mona, "get", "secrets", "").allowed);
  CHECK_FALSE(ask(mona, "delete", "services", "").allowed);
  CHECK(world()->rules_of("ClusterRole", "monitor", "")->size() == 2);
}

TEST_CASE("a role whose rules are too many to gather is not taken for one without rules") {
  std::string names;
  for (int i = 0; i < 300'000; ++i)
    names += names.empty() ? R"("")" : R"(,"")";
  Policy::Objects objects;
  for (int i = 0; i < 20; ++i)
    objects.roles.push_back(role(
        R"({"metadata":{"name":"r)" + std::to_string(i) +
        R"(","labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}},"rules":[{"verbs":["get)" +
        std::to_string(i) + R"("],"apiGroups":[""],"resources":["pods"],"resourceNames":[)" +
        names + "]}]}"));
  const auto policy = Policy::build(objects);
  REQUIRE(policy->rules_of("ClusterRole", "edit", ""));
  CHECK(policy->rules_of("ClusterRole", "edit", "")->empty());
  CHECK(policy->too_large("edit"));
  CHECK_FALSE(policy->too_large("r0"));
  CHECK_FALSE(world()->too_large("edit"));
}

TEST_CASE("what is bound a thousand times is read once, and what is copied is bounded") {
  Policy::Objects objects;
  const auto large = [&](const std::string& name) {
    objects.roles.push_back(role(
        R"({"metadata":{"name":")" + name +
        R"(","namespace":"team","labels":{"k":"x"}},"rules":[{"verbs":["get"],"apiGroups":[""],)"
        R"("resources":["pods"],"resourceNames":[")" +
        std::string(1'000'000, 'x') + R"("]}]})"));
  };
  large("large");
  const auto bind = [&](const std::string& name, const std::string& to) {
    objects.bindings.push_back(
        binding(R"({"metadata":{"name":")" + name +
                R"(","namespace":"team"},"roleRef":{"kind":"Role","name":")" + to +
                R"("},"subjects":[{"kind":"User","name":"jane"}]})"));
  };
  for (int i = 0; i < 1000; ++i)
    bind("b" + std::to_string(i), "large");
  const auto once = Policy::build(objects)->rules_for({"jane", "", {}, {}}, "team");
  CHECK(once.rules.size() == 1);
  CHECK(once.errors.empty());
  CHECK_FALSE(once.truncated);
  for (int i = 0; i < 6; ++i) {
    large("large" + std::to_string(i));
    bind("c" + std::to_string(i), "large" + std::to_string(i));
  }
  const auto most = Policy::build(objects)->rules_for({"jane", "", {}, {}}, "team");
  CHECK(most.rules.size() == 4);
  CHECK(most.truncated);
  REQUIRE(most.errors.size() == 1);
  CHECK(most.errors[0].find("more than 4194304 bytes") != std::string::npos);
  // Of aggregated roles each has a copy.
  for (int i = 0; i < 2000; ++i)
    objects.roles.push_back(
        role(R"({"metadata":{"name":"a)" + std::to_string(i) +
             R"("},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"k":"y"}}]}})"));
  objects.roles.push_back(role(
      R"({"metadata":{"name":"y","labels":{"k":"y"}},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":[")" +
      std::string(1'000'000, 'x') + R"("]}]})"));
  const auto policy = Policy::build(objects);
  std::size_t copies = 0;
  for (int i = 0; i < 2000; ++i)
    copies += policy->rules_of("ClusterRole", "a" + std::to_string(i), "")->size();
  CHECK(copies > 10);
  CHECK(copies < 100);
}

TEST_CASE("the platform's roles gather the tenant's") {
  CHECK(ask(k_robot, "get", "crontabs", "any", "example.com").allowed);
  CHECK_FALSE(ask(k_robot, "get", "secrets", "any").allowed);
  const auto policy = world();
  const auto* view = policy->rules_of("ClusterRole", "view", "");
  const auto* edit = policy->rules_of("ClusterRole", "edit", "");
  const auto* admin = policy->rules_of("ClusterRole", "admin", "");
  REQUIRE(view);
  REQUIRE(edit);
  REQUIRE(admin);
  CHECK(view->size() > 5);
  CHECK(edit->size() > view->size());
  CHECK(admin->size() > edit->size());
}

TEST_CASE("system roles cannot be replaced, and their bindings hold") {
  CHECK(ask({"root", "", {"system:masters"}, {}}, "delete", "nodes", "").allowed);
  CHECK(ask(k_jane, "create", "selfsubjectaccessreviews", "", "authorization.k8s.io").allowed);
  CHECK(ask_path(k_jane, "/apis/apps").allowed);
  CHECK(ask_path(k_jane, "/openapi/v3").allowed);
  CHECK_FALSE(ask_path(k_jane, "/metrics").allowed);
  CHECK(ask_path({"system:anonymous", "", {"system:unauthenticated"}, {}}, "/version").allowed);
  CHECK_FALSE(ask_path({"system:anonymous", "", {"system:unauthenticated"}, {}}, "/api").allowed);
  CHECK(ask_path(k_robot, "/openid/v1/jwks").allowed);
  CHECK(system_binding("cluster-admin"));
  CHECK_FALSE(system_binding("mine"));
}

TEST_CASE("rules are listed for a user and a namespace") {
  const auto rules = world()->rules_for(k_jane, "team");
  CHECK(rules.errors.empty());
  CHECK(rules.rules.back() == Rule{{"get", "list"}, {""}, {"pods"}, {}, {}});
  CHECK(world()->rules_for({"joe", "", {}, {}}, "team").errors.size() == 2);
}

TEST_CASE("nobody grants what he does not hold") {
  const auto policy = world();
  CHECK(policy->confirm_no_escalation(k_jane, "team", {{{"get"}, {""}, {"pods"}, {}, {}}}));
  const auto refused = policy->confirm_no_escalation(
      k_jane, "team", {{{"get", "delete"}, {""}, {"pods", "secrets"}, {}, {}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == zoo::Code::forbidden);
  CHECK(refused.error().message() ==
        "user \"jane\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions "
        "not currently held:\n"
        "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}\n"
        "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}");
  CHECK_FALSE(policy->confirm_no_escalation(k_jane, "", {{{"get"}, {""}, {"pods"}, {}, {}}}));
}

TEST_CASE("selectors of aggregation read as Kubernetes' do") {
  const auto matches = [](std::string_view selector,
                          std::map<std::string, std::string, std::less<>> labels) {
    const auto json =
        R"({"aggregationRule":{"clusterRoleSelectors":[)" + std::string(selector) + R"(]}})";
    const auto found = role(json)->aggregation;
    REQUIRE(found.size() == 1);
    return found.front().matches(labels);
  };
  CHECK(matches("{}", {}));
  CHECK(matches(R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})", {{"a", ""}}));
  CHECK_FALSE(
      matches(R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})", {{"a", ""}}));
  CHECK(matches(R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]}]})", {}));
  CHECK_FALSE(matches(R"({"matchExpressions":[{"key":"a","operator":"In","values":["x"]}]})", {}));
  CHECK_FALSE(matches(R"({"matchExpressions":[{"key":"a","operator":"Like"}]})", {{"a", "x"}}));
  CHECK_FALSE(matches(R"({"matchLabels":{"a":"x"}})", {{"a", "y"}}));
}

TEST_CASE("rules are written as they were read") {
  const std::string text =
      R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]},)"
      R"({"verbs":["get"],"nonResourceURLs":["/x\"*"]}])";
  const auto tree = zoo::translate::JsonTree::parse(text);
  REQUIRE(tree);
  CHECK(write_rules(read_rules(tree->root())) == text);
}
