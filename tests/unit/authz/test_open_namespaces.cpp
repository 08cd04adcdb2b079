// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/namespace_budget.hpp"
#include "daemon/authz/open_namespaces.hpp"

#include <doctest/doctest.h>

using namespace zoo::authz;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const Binding> bound(const char* name, std::vector<Subject> subjects) {
  return std::make_shared<const Binding>(
      Binding{"a", name, "ClusterRole", "reader", std::move(subjects)});
}
const Subject k_all{"Group", "system:authenticated", ""}, k_joe{"User", "joe", ""};

} // namespace

TEST_CASE("a namespace that changes what everybody may too often is restless until it rests") {
  OpenNamespaces open;
  OpenNamespaces::Clock::time_point now{1h};
  const auto binding = bound("x", {k_all, k_joe});
  CHECK(open.put(binding) == binding);
  CHECK(open.has("a", "x"));
  for (unsigned i = 0; i < OpenNamespaces::k_most_changes; ++i)
    CHECK(open.changed("a", now += 1s).empty());
  const auto without = open.changed("a", now += 1s);
  REQUIRE(without.size() == 1);
  CHECK(without[0]->subjects == std::vector<Subject>{k_joe});
  CHECK(open.restless() == 1);
  CHECK(open.put(bound("y", {k_all}))->subjects.empty());
  CHECK(open.changed("a", now += 59s).empty());
  CHECK(open.settle(now += 59s).empty()); // the last change was not so long ago
  CHECK(open.settle(now += 1s).size() == 2);
  CHECK(open.restless() == 0);
  CHECK(open.put(binding) == binding);
}

TEST_CASE("a namespace that changes it now and then is not, and others are not kept") {
  OpenNamespaces open;
  OpenNamespaces::Clock::time_point now{1h};
  open.put(bound("x", {k_all}));
  for (int i = 0; i < 100; ++i)
    CHECK(open.changed("a", now += 10s).empty());
  open.put(bound("other", {k_joe}));
  CHECK_FALSE(open.has("a", "other"));
  CHECK_FALSE(open.remove("a", "other"));
  CHECK(open.put(bound("x", {k_joe}))->subjects.size() == 1); // everybody is out of it
  CHECK_FALSE(open.open("a"));
  open.settle(now += 61s);
  CHECK_FALSE(open.any());
}

TEST_CASE("what a namespace has no room for is counted until it goes") {
  NamespaceBudget budget(100);
  CHECK(budget.take("", 1'000));
  CHECK(budget.take("a", 60));
  CHECK(budget.take("b", 100));
  CHECK_FALSE(budget.take("a", 60));
  CHECK_FALSE(budget.may_have_room()); // nothing has gone
  CHECK(budget.crowded().count == 1);
  CHECK(budget.crowded().some == std::vector<std::string>{"a"});
  budget.give_back("a", 60, true);
  CHECK(budget.may_have_room());
  budget.looks_again();
  CHECK_FALSE(budget.may_have_room());
  budget.give_back("a", 60, false);
  CHECK(budget.crowded().count == 0);
  CHECK_FALSE(budget.take("b", 1));
  CHECK_FALSE(budget.may_have_room());
  budget.give_back("b", 100, true);
  CHECK(budget.may_have_room());
}
