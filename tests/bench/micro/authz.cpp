// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy.hpp"
#include "daemon/authz/rights.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "tests/bench/micro/allocations.hpp"

#include <fmt/format.h>
#include <malloc.h>

namespace {

using namespace zoo::authz;

/// So many roles of ten rules, each bound to a user of its own, and one that all have.
PolicyPtr policy(std::size_t count) {
  Policy::Objects objects;
  std::string rules;
  for (int i = 0; i < 10; ++i) {
    rules += fmt::format(
        R"({}{{"verbs":["get","list","watch"],"apiGroups":["","apps"],"resources":["r{}","r{}/status"]}})",
        i == 0 ? "" : ",", i, i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto role = fmt::format(
        R"({{"metadata":{{"name":"role-{}","namespace":"team"}},"rules":[{}]}})", i, rules);
    const auto binding = fmt::format(
        R"({{"metadata":{{"name":"b-{0}","namespace":"team"}},"roleRef":{{"kind":"Role","name":"role-{0}"}},"subjects":[{{"kind":"User","name":"user-{0}"}},{{"kind":"Group","name":"all"}}]}})",
        i);
    const auto role_tree = zoo::translate::JsonTree::parse(role);
    const auto binding_tree = zoo::translate::JsonTree::parse(binding);
    if (!role_tree || !binding_tree) std::abort();
    objects.roles.push_back(std::make_shared<const Role>(read_role(role_tree->root())));
    objects.bindings.push_back(std::make_shared<const Binding>(read_binding(binding_tree->root())));
  }
  return Policy::build(objects);
}

void decide(benchmark::State& state, const char* verb) {
  const auto built = policy(static_cast<std::size_t>(state.range(0)));
  User user;
  user.name = "user-0";
  user.groups = {"developers", "system:authenticated"};
  Attributes attributes;
  attributes.verb = verb;
  attributes.group = "apps";
  attributes.version = "v1";
  attributes.resource = "r9";
  attributes.name_space = "team";
  attributes.name = "x";
  const zoo::bench::Meter meter(state, 0);
  for ([[maybe_unused]] auto turn : state)
    benchmark::DoNotOptimize(built->decide(user, attributes));
}

void authorize_allowed(benchmark::State& state) { decide(state, "get"); }
BENCHMARK(authorize_allowed)->Arg(10)->Arg(1'000);

void authorize_refused(benchmark::State& state) { decide(state, "delete"); }
BENCHMARK(authorize_refused)->Arg(10)->Arg(1'000);

/// Bytes that the process has taken of its heap.
std::size_t held() {
  const auto all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

/// Upstream's rights with so many RoleBindings, ten in each namespace: one of a person, the others
/// of groups; 200 groups and one person have 50 namespaces between them.
struct Cluster {
  explicit Cluster(std::size_t bindings) {
    Role role;
    role.name = "admin";
    role.rules = {{{"get", "list", "watch"}, {"", "apps"}, {"namespaces", "pods"}, {}, {}}};
    const auto before = held();
    table.put(std::make_shared<const Role>(std::move(role)));
    for (std::size_t i = 0; i < bindings; ++i)
      table.put(binding(i, "zoo:account"));
    published = table.publish();
    bytes = held() - before;
    user.name = "user-0";
    for (int i = 0; i < 200; ++i)
      user.groups.push_back(fmt::format("group-{}", i));
  }
  static std::shared_ptr<const Binding> binding(std::size_t i, std::string_view name) {
    Binding out;
    out.name_space = fmt::format("space-{}", i / 10);
    out.name = fmt::format("{}-{}", name, i % 10);
    out.role_kind = "ClusterRole";
    out.role_name = "admin";
    const bool person = i % 10 == 0;
    // Each group is bound in few namespaces; the first 200 of them meet in the first 50.
    out.subjects = {
        {person ? "User" : "Group", fmt::format("{}-{}", person ? "user" : "group", i), ""}};
    if (!person && i < 500) out.subjects.front().name = fmt::format("group-{}", i % 200);
    return std::make_shared<const Binding>(std::move(out));
  }
  RightsTable table;
  RightsTable::Published published;
  std::size_t bytes = 0;
  User user;
};

void rights_change(benchmark::State& state) {
  Cluster cluster(static_cast<std::size_t>(state.range(0)));
  std::size_t turn = 0;
  const zoo::bench::Meter meter(state, 0);
  for ([[maybe_unused]] auto each : state) {
    const auto i = turn++ / 2 * 7'919 % static_cast<std::size_t>(state.range(0));
    if (turn % 2 == 1) {
      cluster.table.put(Cluster::binding(i, "more"));
    } else {
      cluster.table.remove_binding(fmt::format("space-{}", i / 10), fmt::format("more-{}", i % 10));
    }
    cluster.published = cluster.table.publish();
  }
  state.counters["bytes_a_binding"] =
      static_cast<double>(cluster.bytes) / static_cast<double>(state.range(0));
}
BENCHMARK(rights_change)->Arg(1'000)->Arg(100'000);

void rights_namespaces(benchmark::State& state) {
  const Cluster cluster(static_cast<std::size_t>(state.range(0)));
  Attributes wanted;
  wanted.verb = "get";
  wanted.resource = "namespaces";
  const zoo::bench::Meter meter(state, 0);
  std::size_t found = 0;
  for ([[maybe_unused]] auto turn : state)
    found = cluster.published.rights->namespaces_of(cluster.user, wanted).namespaces.size();
  state.counters["namespaces"] = static_cast<double>(found);
}
BENCHMARK(rights_namespaces)->Arg(1'000)->Arg(100'000);

void rights_decide(benchmark::State& state) {
  const Cluster cluster(static_cast<std::size_t>(state.range(0)));
  Attributes wanted;
  wanted.verb = "get";
  wanted.resource = "namespaces";
  wanted.name_space = wanted.name = "space-49";
  const zoo::bench::Meter meter(state, 0);
  for ([[maybe_unused]] auto turn : state)
    benchmark::DoNotOptimize(cluster.published.rights->decide(cluster.user, wanted));
}
BENCHMARK(rights_decide)->Arg(1'000)->Arg(100'000);

} // namespace
