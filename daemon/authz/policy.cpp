// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy.hpp"

#include "common/base/json_text.hpp"
#include "daemon/authz/system_roles.hpp"

#include <set>
#include <tuple>

namespace zoo::authz {

PolicyPtr Policy::build(const Objects& objects) {
  auto out = std::make_shared<Policy>();
  const auto& system = system_objects();
  for (const auto& role : system.roles)
    out->cluster_roles_.emplace(role->name, role);
  for (const auto& role : objects.roles) {
    if (role->name_space.empty()) {
      out->cluster_roles_.emplace(role->name, role);
    } else {
      out->roles_.emplace(role->name_space + "/" + role->name, role);
    }
  }
  std::map<std::string, std::map<std::string, std::shared_ptr<const Binding>>> sorted;
  for (const auto* source : {&system.bindings, &objects.bindings}) {
    for (const auto& binding : *source)
      sorted[binding->name_space].emplace(binding->name, binding);
  }
  for (const auto& [name_space, bindings] : sorted) {
    auto& scope = name_space.empty() ? out->cluster_ : out->scopes_[name_space];
    for (const auto& [name, binding] : bindings)
      out->index(scope, binding);
  }
  out->aggregate_all();
  return out;
}

void Policy::index(Scope& scope, std::shared_ptr<const Binding> binding) {
  const auto at = scope.bindings.size();
  for (const auto& subject : binding->subjects) {
    const auto key = subject_key(subject, binding->name_space);
    if (key.empty()) continue;
    auto& places = scope.by_subject[key];
    if (places.empty() || places.back() != at) places.push_back(at);
  }
  scope.bindings.push_back(std::move(binding));
}

void Policy::aggregate_all() {
  std::size_t steps = 0;
  for (const auto& [name, role] : cluster_roles_) {
    if (!role->aggregated) continue;
    auto rules = aggregate(role->aggregation, name, steps);
    if (!rules) too_large_.insert(name);
    aggregated_[name] = std::move(rules).value_or(std::vector<Rule>());
  }
}

std::vector<Rule> Policy::aggregate(const std::vector<LabelSelector>& selectors,
                                    std::string_view name) const {
  std::size_t steps = 0;
  return aggregate(selectors, name, steps).value_or(std::vector<Rule>());
}

std::optional<std::vector<Rule>> Policy::aggregate(const std::vector<LabelSelector>& selectors,
                                                   std::string_view name,
                                                   std::size_t& steps) const {
  // The controller unions rules step by step until nothing changes; the rules of an aggregated role
  // are nothing but that union, so it ends with the plain roles that can be reached.
  std::vector<Rule> out;
  std::set<std::string_view> seen{name};
  const auto before = [](const Rule* a, const Rule* b) {
    return std::tie(a->verbs, a->groups, a->resources, a->names, a->paths) <
           std::tie(b->verbs, b->groups, b->resources, b->names, b->paths);
  };
  std::set<const Rule*, decltype(before)> known(before);
  std::vector<const std::vector<LabelSelector>*> open{&selectors};
  for (std::size_t at = 0; at < open.size(); ++at) {
    for (const auto& selector : *open[at]) {
      const auto effort = 1 + selector.words();
      for (const auto& [other, role] : cluster_roles_) {
        steps += effort;
        if (steps > k_max_steps) return std::nullopt;
        if (seen.contains(other) || !selector.matches(role->labels)) continue;
        seen.insert(other);
        if (role->aggregated) {
          open.push_back(&role->aggregation);
          continue;
        }
        for (const auto& rule : role->rules) {
          steps += 1 + rule.words() + rule.bytes() / k_bytes_a_step;
          if (steps > k_max_steps) return std::nullopt;
          if (known.insert(&rule).second) out.push_back(rule);
        }
      }
    }
  }
  return out;
}

const std::vector<Rule>* Policy::rules_of(std::string_view role_kind, std::string_view role_name,
                                          std::string_view name_space) const {
  if (role_kind == "Role") {
    const auto found = roles_.find(std::string(name_space) + "/" + std::string(role_name));
    return name_space.empty() || found == roles_.end() ? nullptr : &found->second->rules;
  }
  if (role_kind != "ClusterRole") return nullptr;
  const auto found = cluster_roles_.find(role_name);
  if (found == cluster_roles_.end()) return nullptr;
  const auto aggregated = aggregated_.find(role_name);
  return aggregated == aggregated_.end() ? &found->second->rules : &aggregated->second;
}

const Role* Policy::cluster_role(std::string_view name) const {
  const auto found = cluster_roles_.find(name);
  return found == cluster_roles_.end() ? nullptr : found->second.get();
}

bool Policy::visit_scope(const Scope& scope, const User& user, std::string_view name_space,
                         const EachGrant& each) const {
  std::set<std::size_t> places;
  for (const auto& key : subject_keys(user)) {
    const auto found = scope.by_subject.find(key);
    if (found != scope.by_subject.end()) places.insert(found->second.begin(), found->second.end());
  }
  for (const auto place : places) {
    const auto& binding = *scope.bindings[place];
    if (!each({&binding, rules_of(binding.role_kind, binding.role_name, name_space)})) return false;
  }
  return true;
}

void Policy::visit(const User& user, std::string_view name_space, const EachGrant& each) const {
  if (!visit_scope(cluster_, user, "", each) || name_space.empty()) return;
  const auto scope = scopes_.find(std::string(name_space));
  if (scope != scopes_.end()) visit_scope(scope->second, user, name_space, each);
}

Decision Policy::decide(const User& user, const Attributes& attributes) const {
  return authz::decide(user, attributes, [&](const EachGrant& each) {
    visit(user, attributes.resource_request ? attributes.name_space : "", each);
  });
}

Policy::Rules Policy::rules_for(const User& user, std::string_view name_space) const {
  return held_rules([&](const EachGrant& each) { visit(user, name_space, each); });
}

Result<void> Policy::confirm_no_escalation(const User& user, std::string_view name_space,
                                           const std::vector<Rule>& wanted) const {
  const auto held = rules_for(user, name_space);
  ZOO_TRY(const auto missing, uncovered(held.rules, wanted));
  if (missing.empty()) return {};
  std::set<std::string> lines;
  for (const auto& rule : missing)
    lines.insert(authz::describe(rule));
  auto text = fmt::format("user {} (groups={}) is attempting to grant RBAC permissions not "
                          "currently held:\n{}",
                          json_quote(user.name), go_list(user.groups), fmt::join(lines, "\n"));
  if (!held.errors.empty()) {
    text += fmt::format("; resolution errors: [{}]", aggregate_text(held.errors));
  }
  return fail(Code::forbidden, "{}", text);
}

} // namespace zoo::authz
