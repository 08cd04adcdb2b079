// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "tests/bench/micro/allocations.hpp"

#include <fmt/format.h>

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

} // namespace
