// SPDX-License-Identifier: Apache-2.0
// Rights on random RBAC, of few names so that they meet: the answers must be those of an evaluator
// that looks at every binding, whatever the order in which objects came and went.
#include "daemon/authz/rights.hpp"
#include "tests/unit/authz/rights_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace zoo::authz;
using namespace zoo::test;

namespace {

using Key = std::pair<std::string, std::string>; ///< namespace, name

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  std::size_t below(std::size_t bound) { return engine() % bound; }
  bool once_in(std::size_t turns) { return below(turns) == 0; }
  std::string one_of(const std::vector<std::string>& words) { return words[below(words.size())]; }
  std::vector<std::string> some_of(const std::vector<std::string>& words) {
    std::vector<std::string> out;
    for (auto count = 1 + below(2); count > 0; --count)
      out.push_back(one_of(words));
    return out;
  }
  std::mt19937 engine;
};

std::vector<std::string> numbered(const std::string& word, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i)
    out.push_back(word + std::to_string(i));
  return out;
}

const std::vector<std::string> k_spaces = numbered("s", 40), k_names = numbered("r", 30);
const std::vector<std::string> k_few_spaces = numbered("s", 4);
const std::vector<std::string> k_verbs{"get", "list", "*"};
const std::vector<std::string> k_groups{"", "apps", "*"};
const std::vector<std::string> k_resources{"namespaces", "pods", "pods/log", "*/log",
                                           "namespaces", "pods", "*"};
const std::vector<std::string> k_people{"jane", "joe", "max", "system:serviceaccount:s1:robot"};
const std::vector<std::string> k_teams{"devs", "ops", "system:authenticated"};

std::vector<Rule> random_rules(Random& random) {
  std::vector<Rule> out;
  for (auto count = random.below(3); count > 0; --count) {
    Rule rule{
        random.some_of(k_verbs), random.some_of(k_groups), random.some_of(k_resources), {}, {}};
    if (!random.once_in(3)) rule.names = random.some_of(k_few_spaces);
    if (random.once_in(8)) rule = {{"get"}, {}, {}, {}, random.some_of({"/x", "/x/*", "/y"})};
    if (random.once_in(20)) rule.names.push_back("");
    out.push_back(std::move(rule));
  }
  return out;
}

Subject random_subject(Random& random) {
  switch (random.below(4)) {
  case 0:
    return {"Group", random.one_of(k_teams), ""};
  case 1:
    return {"ServiceAccount", "robot", random.once_in(2) ? "" : random.one_of(k_few_spaces)};
  case 2:
    return {random.once_in(8) ? "Robot" : "User", random.one_of(k_people), ""};
  default:
    return {"User", random.one_of(k_people), ""};
  }
}

User random_user(Random& random) {
  User out{random.one_of(k_people), "", {}, {}};
  for (const auto& team : k_teams) {
    if (random.once_in(2)) out.groups.push_back(team);
  }
  if (random.once_in(100)) out.groups.emplace_back("system:masters");
  return out;
}

Attributes random_question(Random& random) {
  auto out =
      question(random.one_of({"get", "list"}), random.one_of({"namespaces", "pods"}),
               random.once_in(5) ? "" : random.one_of(k_spaces),
               random.once_in(2) ? "" : random.one_of(k_spaces), random.one_of({"", "", "apps"}));
  if (random.once_in(4)) out.subresource = "log";
  if (random.once_in(10)) {
    out.resource_request = false;
    out.path = random.one_of({"/x", "/x/y", "/y/z"});
  }
  return out;
}

/// The objects, and an evaluator that looks at all of them.
struct World {
  std::map<Key, std::shared_ptr<const Role>> roles;
  std::map<Key, std::shared_ptr<const Binding>> bindings;

  static bool applies(const Subject& subject, const Binding& binding, const User& user) {
    if (subject.kind == "User") return subject.name == user.name;
    if (subject.kind == "Group")
      return std::find(user.groups.begin(), user.groups.end(), subject.name) != user.groups.end();
    if (subject.kind != "ServiceAccount") return false;
    const auto& own = subject.name_space.empty() ? binding.name_space : subject.name_space;
    return !own.empty() && user.name == "system:serviceaccount:" + own + ":" + subject.name;
  }

  bool decide(const User& user, const Attributes& wanted) const {
    if (user.in_group("system:masters")) return true;
    return std::any_of(bindings.begin(), bindings.end(), [&](const auto& entry) {
      const auto& binding = *entry.second;
      const bool cluster = binding.name_space.empty();
      if (!cluster && (!wanted.resource_request || binding.name_space != wanted.name_space))
        return false;
      if (std::none_of(binding.subjects.begin(), binding.subjects.end(),
                       [&](const Subject& each) { return applies(each, binding, user); }))
        return false;
      if (binding.role_kind == "Role" && cluster) return false;
      const auto role = roles.find(
          {binding.role_kind == "ClusterRole" ? "" : binding.name_space, binding.role_name});
      return role != roles.end() &&
             std::any_of(role->second->rules.begin(), role->second->rules.end(),
                         [&](const Rule& rule) { return allows(rule, wanted); });
    });
  }
};

/// Changes both alike.
void change(Random& random, World& world, RightsTable& table) {
  const Key key{random.once_in(8) ? "" : random.one_of(k_spaces), random.one_of(k_names)};
  const bool goes = random.once_in(3);
  if (random.once_in(2)) {
    if (goes) {
      world.roles.erase(key);
      table.remove_role(key.first, key.second);
    } else {
      const auto role = make_role(key.first, key.second, random_rules(random));
      world.roles[key] = role;
      table.put(role);
    }
    return;
  }
  if (goes) {
    world.bindings.erase(key);
    table.remove_binding(key.first, key.second);
    return;
  }
  std::vector<Subject> subjects;
  for (auto count = random.below(4); count > 0; --count)
    subjects.push_back(random_subject(random));
  const auto binding =
      make_binding(key.first, key.second, random.once_in(2) ? "Role" : "ClusterRole",
                   random.one_of(k_names), std::move(subjects));
  world.bindings[key] = binding;
  table.put(binding);
}

RightsTable::Published from_scratch(const World& world) {
  RightsTable table;
  for (const auto& [key, binding] : world.bindings)
    table.put(binding);
  for (const auto& [key, role] : world.roles)
    table.put(role);
  return table.publish();
}

void check_reach(const Rights& rights, const User& user, const Attributes& wanted) {
  const auto reach = rights.namespaces_of(user, wanted);
  CHECK(std::is_sorted(reach.namespaces.begin(), reach.namespaces.end()));
  auto spaces = k_spaces;
  spaces.emplace_back("of-nobody-yet");
  for (const auto& space : spaces) {
    auto there = wanted;
    there.name_space = space;
    if (wanted.group.empty() && wanted.resource == "namespaces") there.name = space;
    const bool reached = reach.everywhere || std::binary_search(reach.namespaces.begin(),
                                                                reach.namespaces.end(), space);
    CAPTURE(space);
    CHECK(reached == rights.decide(user, there).allowed);
  }
}

} // namespace

TEST_CASE("on random RBAC the answers are those of one who looks at everything") {
  int asked = 0, allowed = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    World world;
    RightsTable table;
    for (int round = 0; round < 10; ++round) {
      const auto before = world;
      const auto published_before = table.publish();
      for (auto count = random.below(2'000); count > 0; --count)
        change(random, world, table);
      const auto published = table.publish();
      const auto anew = from_scratch(world);
      for (int i = 0; i < 25; ++i) {
        const auto user = random_user(random);
        const auto wanted = random_question(random);
        CAPTURE(user.name);
        CAPTURE(wanted.verb);
        CAPTURE(wanted.resource);
        CAPTURE(wanted.name_space);
        const auto decision = published.rights->decide(user, wanted);
        CHECK(decision.allowed == world.decide(user, wanted));
        ++asked;
        allowed += decision.allowed ? 1 : 0;
        CHECK(decision.reason == anew.rights->decide(user, wanted).reason);
        const auto was = published_before.rights->decide(user, wanted);
        CHECK(was.allowed == before.decide(user, wanted));
        check_reach(*published.rights, user, wanted);
        const auto rules =
            published.rights->rules_for(user, wanted.resource_request ? wanted.name_space : "");
        CHECK(decision.allowed ==
              std::any_of(rules.rules.begin(), rules.rules.end(),
                          [&](const Rule& rule) { return allows(rule, wanted); }));
        // Whoever may do what he could not, or no more what he could, was told of.
        if (was.allowed == decision.allowed || published.touched.everybody) continue;
        const auto& open = published.touched.open_namespaces;
        if (std::binary_search(open.begin(), open.end(), wanted.name_space)) continue;
        const auto keys = subject_keys(user);
        const auto& touched = published.touched.subjects;
        CHECK(std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
          return std::binary_search(touched.begin(), touched.end(), key);
        }));
      }
    }
  }
  // Else the questions would prove little.
  CHECK(allowed > asked / 5);
  CHECK(allowed < asked * 4 / 5);
}

TEST_CASE("thousands of bindings of a few subjects are kept in order") {
  Random random(7);
  World world;
  RightsTable table;
  world.roles[{"", "reader"}] = make_role("", "reader", {{{"get"}, {""}, {"pods"}, {}, {}}});
  table.put(world.roles.begin()->second);
  const auto check = [&] {
    const auto rights = table.publish().rights;
    for (const auto* group : {"devs", "ops"}) {
      const User user{"jane", "", {group}, {}};
      std::set<std::string> expected;
      for (const auto& [key, binding] : world.bindings) {
        if (binding->subjects.front().name == group) expected.insert(key.first);
      }
      const auto reach = rights->namespaces_of(user, question("get", "pods"));
      CHECK(reach.namespaces == std::vector<std::string>(expected.begin(), expected.end()));
    }
  };
  for (int i = 0; i < 6'000; ++i) {
    const Key key{"s" + std::to_string(random.below(2'000)), std::to_string(random.below(3))};
    if (random.once_in(4)) {
      world.bindings.erase(key);
      table.remove_binding(key.first, key.second);
    } else {
      world.bindings[key] = make_binding(key.first, key.second, "ClusterRole", "reader",
                                         {{"Group", random.one_of({"devs", "ops"}), ""}});
      table.put(world.bindings[key]);
    }
    if (i % 500 == 0) check();
  }
  check();
  while (!world.bindings.empty()) {
    const auto key = world.bindings.begin()->first;
    table.remove_binding(key.first, key.second);
    world.bindings.erase(key);
    if (world.bindings.size() % 500 == 0) check();
  }
}
