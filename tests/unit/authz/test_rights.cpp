// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rights.hpp"
#include "tests/unit/authz/rights_world.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo::authz;
using namespace zoo::test;

namespace {

using Names = std::vector<std::string>;

const Subject k_jane_subject{"User", "jane", ""};
const Subject k_devs_subject{"Group", "devs", ""};
const User k_jane{"jane", "", {"devs", "system:authenticated"}, {}};
const User k_robot{"system:serviceaccount:team:robot", "", {"system:serviceaccounts"}, {}};

const std::vector<Rule> k_reads_pods{{{"get", "list"}, {""}, {"pods"}, {}, {}}};

Names reach(const RightsTable::Published& published, const User& user, const Attributes& wanted) {
  const auto out = published.rights->namespaces_of(user, wanted);
  return out.everywhere ? Names{"*"} : out.namespaces;
}

bool may(const RightsTable::Published& published, const User& user, const Attributes& wanted) {
  return published.rights->decide(user, wanted).allowed;
}

} // namespace

TEST_CASE("U1 U2 U4 subjects are found by their keys, a ServiceAccount as the user that it is") {
  CHECK(subject_key(k_jane_subject, "team") == "u:jane");
  CHECK(subject_key(k_devs_subject, "") == "g:devs");
  const Subject robot{"ServiceAccount", "robot", ""};
  CHECK(subject_key(robot, "team") == "u:system:serviceaccount:team:robot");
  CHECK(subject_key(robot, "") == "");
  CHECK(subject_key({"ServiceAccount", "robot", "other"}, "team") ==
        "u:system:serviceaccount:other:robot");
  CHECK(subject_key({"Robot", "robot", ""}, "team") == "");
  CHECK(subject_keys(k_jane) == Names{"u:jane", "g:devs", "g:system:authenticated"});
}

TEST_CASE("before anything is put in nobody may do anything, but for system:masters") {
  RightsTable table;
  const auto published = table.publish();
  REQUIRE(published.rights);
  CHECK(published.touched.empty());
  CHECK_FALSE(may(published, k_jane, question("get", "pods", "team")));
  CHECK(reach(published, k_jane, question("get", "pods")).empty());
  CHECK(published.rights->rules_for(k_jane, "team").rules.empty());
  const User root{"root", "", {"system:masters"}, {}};
  CHECK(may(published, root, question("delete", "nodes")));
  CHECK(reach(published, root, question("get", "pods")) == Names{"*"});
  Attributes path;
  path.resource_request = false;
  path.verb = "get";
  path.path = "/metrics";
  CHECK(may(published, root, path));
  CHECK_FALSE(may(published, k_jane, path));
  const auto rules = published.rights->rules_for(root, "").rules;
  CHECK(std::any_of(rules.begin(), rules.end(),
                    [&](const Rule& rule) { return allows(rule, path); }));
  CHECK(std::any_of(rules.begin(), rules.end(),
                    [&](const Rule& rule) { return allows(rule, question("delete", "nodes")); }));
}

TEST_CASE("rights hold where their binding is, and say by which one") {
  RightsTable table;
  table.put(make_role("team", "reader", k_reads_pods));
  table.put(make_role("", "reader", k_reads_pods));
  table.put(make_binding("team", "b", "Role", "reader", {k_jane_subject}));
  table.put(make_binding("team", "a", "Role", "gone", {k_jane_subject}));
  table.put(make_binding("other", "a", "Role", "reader", {k_jane_subject}));
  table.put(make_binding("group", "a", "ClusterRole", "reader", {k_devs_subject}));
  table.put(make_binding("", "wrong", "Role", "reader", {k_jane_subject}));
  const auto published = table.publish();
  const auto allowed = published.rights->decide(k_jane, question("get", "pods", "team"));
  CHECK(allowed.allowed);
  CHECK(allowed.reason ==
        R"(RBAC: allowed by RoleBinding "b/team" of Role "reader" to User "jane")");
  CHECK(published.rights->decide(k_jane, question("get", "pods", "group")).reason ==
        R"(RBAC: allowed by RoleBinding "a/group" of ClusterRole "reader" to Group "devs")");
  const auto refused = published.rights->decide(k_jane, question("get", "pods", "other"));
  CHECK_FALSE(refused.allowed);
  CHECK(refused.reason == R"(RBAC: role.rbac.authorization.k8s.io "reader" not found)");
  CHECK_FALSE(may(published, k_jane, question("get", "pods")));
  CHECK_FALSE(may(published, k_robot, question("get", "pods", "team")));
  CHECK(reach(published, k_jane, question("list", "pods")) == Names{"group", "team"});
  CHECK(reach(published, k_jane, question("delete", "pods")).empty());
  const auto rules = published.rights->rules_for(k_jane, "team");
  CHECK(rules.rules == k_reads_pods);
  CHECK(rules.errors.size() == 2);
}

TEST_CASE("U3 a ServiceAccount without namespace is the binding's, and nobody in a whole cluster") {
  RightsTable table;
  table.put(make_role("", "reader", k_reads_pods));
  const Subject bare{"ServiceAccount", "robot", ""};
  table.put(make_binding("team", "a", "ClusterRole", "reader", {bare}));
  table.put(make_binding("other", "a", "ClusterRole", "reader", {bare}));
  table.put(make_binding("", "a", "ClusterRole", "reader", {bare}));
  const auto before = table.publish();
  CHECK(before.rights->decide(k_robot, question("get", "pods", "team")).reason ==
        R"(RBAC: allowed by RoleBinding "a/team" of ClusterRole "reader" to )"
        R"(ServiceAccount "robot/team")");
  CHECK(reach(before, k_robot, question("get", "pods")) == Names{"team"});
  table.put(make_binding("", "a", "ClusterRole", "reader", {{"ServiceAccount", "robot", "team"}}));
  CHECK(reach(table.publish(), k_robot, question("get", "pods")) == Names{"*"});
}

TEST_CASE("namespaces by name are reached one by one, and each asks for itself") {
  RightsTable table;
  table.put(make_role("", "two", {{{"get"}, {""}, {"namespaces"}, {"b", "a", "b", ""}, {}}}));
  table.put(make_role("", "any", {{{"get"}, {"*"}, {"*"}, {}, {}}}));
  table.put(make_role("own", "self", {{{"get"}, {""}, {"namespaces"}, {"own"}, {}}}));
  table.put(make_role("own", "others", {{{"list"}, {""}, {"namespaces"}, {"a"}, {}}}));
  table.put(make_binding("", "two", "ClusterRole", "two", {k_jane_subject}));
  table.put(make_binding("own", "self", "Role", "self", {k_jane_subject}));
  table.put(make_binding("own", "others", "Role", "others", {k_jane_subject}));
  table.put(make_binding("c", "two", "ClusterRole", "two", {k_devs_subject}));
  auto published = table.publish();
  CHECK(reach(published, k_jane, question("get", "namespaces")) == Names{"a", "b", "own"});
  CHECK(may(published, k_jane, question("get", "namespaces", "a", "a")));
  CHECK_FALSE(may(published, k_jane, question("get", "namespaces", "c", "c")));
  CHECK(reach(published, k_jane, question("list", "namespaces")).empty());
  // Of any other kind the names are those of its own objects.
  CHECK(reach(published, k_jane, question("get", "pods", "", "a")).empty());
  CHECK(reach(published, k_jane, question("get", "namespaces", "", "a", "example.com")).empty());
  table.put(make_binding("c", "any", "ClusterRole", "any", {k_jane_subject}));
  published = table.publish();
  CHECK(reach(published, k_jane, question("get", "namespaces")) == Names{"a", "b", "c", "own"});
  CHECK(reach(published, k_jane, question("get", "pods")) == Names{"c"});
}

TEST_CASE("names of objects and subresources count as upstream counts them") {
  RightsTable table;
  table.put(make_role(
      "", "one",
      {{{"get"}, {"apps"}, {"deployments"}, {"web"}, {}}, {{"*"}, {"apps"}, {"*/scale"}, {}, {}}}));
  table.put(make_binding("team", "a", "ClusterRole", "one", {k_jane_subject}));
  const auto published = table.publish();
  CHECK(reach(published, k_jane, question("get", "deployments", "", "web", "apps")) ==
        Names{"team"});
  CHECK(reach(published, k_jane, question("get", "deployments", "", "", "apps")).empty());
  auto scale = question("update", "deployments", "", "db", "apps");
  scale.subresource = "scale";
  CHECK(reach(published, k_jane, scale) == Names{"team"});
  scale.subresource = "status";
  CHECK(reach(published, k_jane, scale).empty());
}

TEST_CASE("URLs that are no resource's are the whole cluster's") {
  RightsTable table;
  const std::vector<Rule> rules{{{"get"}, {}, {}, {}, {"/metrics", "/logs/*"}}};
  table.put(make_role("", "urls", rules));
  table.put(make_binding("team", "a", "ClusterRole", "urls", {k_jane_subject}));
  Attributes path;
  path.resource_request = false;
  path.verb = "get";
  path.path = "/logs/x";
  path.name_space = "team";
  auto published = table.publish();
  CHECK_FALSE(may(published, k_jane, path));
  CHECK(reach(published, k_jane, path).empty());
  table.put(make_binding("", "a", "ClusterRole", "urls", {k_jane_subject}));
  published = table.publish();
  CHECK(may(published, k_jane, path));
  CHECK(reach(published, k_jane, path) == Names{"*"});
  CHECK_FALSE(may(published, k_robot, path));
}

TEST_CASE("what was published stays as it was") {
  RightsTable table;
  table.put(make_role("", "reader", k_reads_pods));
  table.put(make_binding("team", "a", "ClusterRole", "reader", {k_jane_subject}));
  const auto first = table.publish();
  table.put(make_binding("other", "a", "ClusterRole", "reader", {k_jane_subject}));
  const auto second = table.publish();
  table.remove_binding("team", "a");
  const auto third = table.publish();
  table.remove_role("", "reader");
  const auto fourth = table.publish();
  const auto pods = question("get", "pods");
  CHECK(reach(first, k_jane, pods) == Names{"team"});
  CHECK(reach(second, k_jane, pods) == Names{"other", "team"});
  CHECK(reach(third, k_jane, pods) == Names{"other"});
  CHECK(reach(fourth, k_jane, pods).empty());
  CHECK(table.publish().rights == fourth.rights);
}

TEST_CASE("who is touched is told by subject, once, and nobody by what changes nothing") {
  RightsTable table;
  const auto touched = [&] { return table.publish().touched; };
  const auto binding = [](std::vector<Subject> subjects) {
    return make_binding("team", "a", "Role", "reader", std::move(subjects));
  };
  table.put(binding({k_devs_subject, k_jane_subject, k_jane_subject}));
  const auto first = touched();
  CHECK(first.subjects == Names{"g:devs", "u:jane"});
  CHECK(first.namespaces == Names{"team"});
  CHECK(touched().empty());
  table.put(make_role("team", "reader", k_reads_pods));
  const auto of_role = touched();
  CHECK(of_role.subjects == Names{"g:devs", "u:jane"});
  CHECK(of_role.namespaces.empty());
  table.put(make_role("team", "reader", k_reads_pods));
  table.put(make_role("", "reader", k_reads_pods));
  table.put(make_role("other", "reader", k_reads_pods));
  table.put(binding({k_devs_subject, k_jane_subject, k_jane_subject}));
  table.remove_binding("team", "b");
  table.remove_role("team", "b");
  CHECK(touched().empty());
  table.put(binding({k_jane_subject, {"User", "joe", ""}})); // jane has what she had
  CHECK(touched().subjects == Names{"g:devs", "u:joe"});
  table.put(make_binding("team", "a", "ClusterRole", "reader", {k_jane_subject}));
  CHECK(touched().subjects == Names{"u:jane", "u:joe"});
  table.put(make_role("team", "reader", {}));
  CHECK(touched().empty());
  table.put(make_role("", "reader", {}));
  CHECK(touched().subjects == Names{"u:jane"});
  table.remove_role("", "reader");
  table.remove_binding("team", "a");
  const auto last = touched();
  CHECK(last.subjects == Names{"u:jane"});
  CHECK(last.namespaces == Names{"team"});
  table.put(make_binding("", "a", "ClusterRole", "reader", {k_jane_subject}));
  CHECK(touched().namespaces.empty());
}

TEST_CASE("what touches very many touches everybody, but of one namespace that namespace alone") {
  RightsTable table;
  table.put(make_role("", "reader", k_reads_pods));
  for (int i = 0; i < 1'024; ++i)
    table.put(make_binding("team", std::to_string(i), "ClusterRole", "reader",
                           {{"User", std::to_string(i), ""}}));
  auto touched = table.publish().touched;
  CHECK_FALSE(touched.everybody);
  CHECK(touched.subjects.size() == 1'024);
  table.put(make_binding("team", "more", "ClusterRole", "reader", {{"User", "more", ""}}));
  CHECK(table.publish().touched.subjects == Names{"u:more"});
  table.put(make_role("", "reader", {}));
  touched = table.publish().touched;
  CHECK_FALSE(touched.everybody);
  CHECK(touched.open_namespaces == Names{"team"});
  std::vector<Subject> many;
  for (int i = 0; i < 1'100; ++i)
    many.push_back({"User", "u" + std::to_string(i), ""});
  table.put(make_binding("team", "many", "ClusterRole", "reader", many));
  touched = table.publish().touched;
  CHECK_FALSE(touched.everybody);
  CHECK(touched.subjects.size() == 1'024);
  CHECK(touched.open_namespaces == Names{"team"});
  CHECK(touched.replaced_bytes > 1'100 * 100);
  table.put(make_binding("", "many", "ClusterRole", "reader", many));
  touched = table.publish().touched;
  CHECK(touched.everybody);
  CHECK(touched.subjects.empty());
  CHECK_FALSE(touched.empty());
  CHECK(table.publish().rights->has_cluster_role("reader"));
  CHECK_FALSE(table.publish().rights->has_cluster_role("writer"));
  CHECK(table.publish().touched.empty());
  for (const auto* group : {"system:authenticated", "system:unauthenticated"}) {
    table.put(make_binding("", "all", "ClusterRole", "reader", {{"Group", group, ""}}));
    CHECK(table.publish().touched.everybody);
  }
}
