// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy_source.hpp"
#include "daemon/authz/system_roles.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/target.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace zoo::authz;
using zoo::translate::Mapping;

namespace {

const Mapping& foofoo() {
  static const Mapping mapping("foofoo", std::make_shared<const zoo::translate::SharedNames>());
  return mapping;
}

/// As upstream stores what the tenant wrote.
std::string stored(std::string_view kind, std::string_view object, std::string_view name_space) {
  zoo::translate::RewriteContext context{foofoo(), zoo::translate::Direction::inward, name_space};
  std::string out;
  const auto done = zoo::translate::rewrite(
      zoo::translate::root_of("rbac.authorization.k8s.io", kind), context, object, out);
  REQUIRE(done);
  return out;
}

} // namespace

TEST_CASE("the names of system roles are those of the table, and no others") {
  // Made anew by roles/generate.py, the table has other names: put them into
  // daemon/translate/system_roles.cpp, in byte order.
  std::vector<std::string_view> names;
  for (const auto& role : system_objects().roles)
    names.push_back(role->name);
  std::sort(names.begin(), names.end());
  const auto known = zoo::translate::system_roles();
  CHECK(std::equal(names.begin(), names.end(), known.begin(), known.end()));
  CHECK(zoo::translate::system_role("system:node"));
  CHECK(zoo::translate::system_role("view"));
  CHECK_FALSE(zoo::translate::system_role("system:vpa-actor"));
  CHECK_FALSE(zoo::translate::system_role("system:"));
}

TEST_CASE("a role comes back from its inert form") {
  const auto text = stored("Role", R"({"metadata":{"name":"r","namespace":"team"},"rules":[
    {"verbs":["get"],"apiGroups":["","*","apps","example.com"],"resources":["a"]}]})",
                           "team");
  CHECK(text.find("zoo:get") != std::string::npos);
  const auto found = decode_role(foofoo(), "Role", text).role;
  REQUIRE(found);
  CHECK(found->name == "r");
  CHECK(found->name_space == "team");
  REQUIRE(found->rules.size() == 1);
  CHECK(found->rules[0] == Rule{{"get"}, {"", "*", "apps", "example.com"}, {"a"}, {}, {}});
}

TEST_CASE("a ClusterRole keeps its aggregation") {
  const auto text = stored("ClusterRole", R"({"metadata":{"name":"r","labels":
    {"rbac.authorization.k8s.io/aggregate-to-view":"true"}},"aggregationRule":
    {"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]},"rules":[]})",
                           "");
  const auto found = decode_role(foofoo(), "ClusterRole", text).role;
  REQUIRE(found);
  CHECK(found->name == "r");
  CHECK(found->name_space.empty());
  CHECK(found->aggregated);
  CHECK(found->aggregation.size() == 1);
  CHECK(found->labels.contains("rbac.authorization.k8s.io/aggregate-to-view"));
}

TEST_CASE("what was not written through zood grants nothing") {
  const auto found = decode_role(foofoo(), "Role", R"({"metadata":{"name":"r","namespace":
    "foofoo-team"},"rules":[{"verbs":["get","zoo:list"],"apiGroups":[""],"resources":["pods"]},
    {"verbs":["zoo:get"],"apiGroups":["barbar-example.com"],"resources":["pods"]}]})")
                         .role;
  REQUIRE(found);
  REQUIRE(found->rules.size() == 1);
  CHECK(found->rules[0].verbs == std::vector<std::string>{"list"});
  CHECK_FALSE(decode_role(foofoo(), "ClusterRole", R"({"metadata":{"name":"barbar-r"}})").role);
}

TEST_CASE("bindings of both kinds come back") {
  const auto plain = stored("RoleBinding", R"({"metadata":{"name":"b","namespace":"team"},
    "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
    "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"},
    {"kind":"ServiceAccount","name":"robot"}]})",
                            "team");
  const auto found = decode_binding(foofoo(), plain).binding;
  REQUIRE(found);
  CHECK(found->name_space == "team");
  CHECK(found->role_name == "view");
  REQUIRE(found->subjects.size() == 2);
  CHECK(found->subjects[0].name == "jane");
  CHECK(found->subjects[1].name_space == "team");

  const auto wide = stored("ClusterRoleBinding", R"({"kind":"ClusterRoleBinding",
    "metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",
    "kind":"ClusterRole","name":"own"},"subjects":[{"kind":"Group","name":"developers"}]})",
                           "");
  CHECK(wide.find("zoo:crb:b") != std::string::npos);
  const auto cluster = decode_binding(foofoo(), wide).binding;
  REQUIRE(cluster);
  CHECK(cluster->name == "b");
  CHECK(cluster->name_space.empty());
  CHECK(cluster->role_name == "own");
  CHECK(cluster->subjects.at(0).name == "developers");
}

TEST_CASE("zood's own bindings and strangers' subjects are not the tenant's") {
  CHECK_FALSE(decode_binding(foofoo(), R"({"metadata":{"name":"zoo-tenant","namespace":
    "foofoo-team"},"roleRef":{"kind":"ClusterRole","name":"zoo:tenant"},
    "subjects":[{"kind":"User","name":"zoo:foofoo"}]})")
                  .binding);
  // Only where zood writes them do such names mean ClusterRoleBindings.
  CHECK_FALSE(decode_binding(foofoo(), R"({"metadata":{"name":"zoo:crb:b","namespace":
    "foofoo-team"},"roleRef":{"kind":"ClusterRole","name":"foofoo-own"}})")
                  .binding);
  const auto found = decode_binding(foofoo(), R"({"metadata":{"name":"b","namespace":
    "foofoo-team"},"roleRef":{"kind":"Role","name":"r"},"subjects":[
    {"kind":"User","name":"jane"},{"kind":"User","name":"zoo:inert:barbar:jane"},
    {"kind":"ServiceAccount","name":"robot","namespace":"foofoo-team"}]})")
                         .binding;
  REQUIRE(found);
  CHECK(found->subjects.empty());
}
