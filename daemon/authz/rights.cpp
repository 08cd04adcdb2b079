// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rights_tables.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace zoo::authz {
namespace {

/// What one role says to a question that is asked for each namespace.
struct Verdict {
  bool always = false;
  std::vector<const Rule*> named; ///< these allow it for the names that they list

  bool allows(std::string_view name) const {
    return always || std::any_of(named.begin(), named.end(), [name](const Rule* rule) {
             return rule->has(&Rule::names, name);
           });
  }
};

/// `wanted` with any name, if the name is the namespace's.
Verdict judge(const std::vector<Rule>& rules, Attributes& wanted, bool name_is_the_namespaces) {
  Verdict out;
  for (const auto& rule : rules) {
    const bool named = name_is_the_namespaces && !rule.names.empty();
    if (named) wanted.name = rule.names.front(); // one for all of them
    if (!allows(rule, wanted)) continue;
    if (named) {
      out.named.push_back(&rule);
    } else {
      out.always = true;
      break;
    }
  }
  return out;
}

class Snapshot final : public Rights {
public:
  explicit Snapshot(RightsTables tables) : tables_(std::move(tables)) {}

  Decision decide(const User& user, const Attributes& attributes) const override {
    if (user.in_group(k_masters)) return {true, ""};
    return authz::decide(user, attributes, [&](const EachGrant& each) {
      visit(user, attributes.resource_request ? attributes.name_space : "", each);
    });
  }

  Policy::Rules rules_for(const User& user, std::string_view name_space) const override {
    if (user.in_group(k_masters))
      return {{{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}}, {}, false};
    return held_rules([&](const EachGrant& each) { visit(user, name_space, each); });
  }

  Reach namespaces_of(const User& user, Attributes wanted) const override;

  bool has_cluster_role(std::string_view name) const override {
    return tables_.role("", name) != nullptr;
  }

private:
  /// Null: there is no such role.
  const std::vector<Rule>* rules_of_role(const Binding& binding) const {
    const bool cluster = binding.role_kind == "ClusterRole";
    // A Role is one of the binding's namespace, and a ClusterRoleBinding has none.
    if (!cluster && (binding.role_kind != "Role" || binding.name_space.empty())) return nullptr;
    const auto* role = tables_.role(cluster ? "" : binding.name_space, binding.role_name);
    return role == nullptr ? nullptr : &role->rules;
  }
  std::vector<const SubjectBindings*> subjects_of(const User& user) const {
    std::vector<const SubjectBindings*> out;
    for (const auto& key : subject_keys(user)) {
      if (const auto* subject = tables_.subject(key)) out.push_back(subject);
    }
    return out;
  }
  void visit(const User& user, std::string_view name_space, const EachGrant& each) const;

  const RightsTables tables_;
};

/// In the order in which a Policy finds them, so that both name the same binding as the reason.
void Snapshot::visit(const User& user, std::string_view name_space, const EachGrant& each) const {
  const auto subjects = subjects_of(user);
  const auto visit_scope = [&](std::string_view scope) {
    std::vector<const Binding*> found;
    for (const auto* subject : subjects)
      subject->visit(scope, [&](const Binding& binding) { found.push_back(&binding); });
    std::sort(found.begin(), found.end(),
              [](const Binding* a, const Binding* b) { return a->name < b->name; });
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return std::all_of(found.begin(), found.end(), [&](const Binding* binding) {
      return each({binding, rules_of_role(*binding)});
    });
  };
  if (visit_scope("") && !name_space.empty()) visit_scope(name_space);
}

Rights::Reach Snapshot::namespaces_of(const User& user, Attributes wanted) const {
  const Reach everywhere{true, {}};
  if (user.in_group(k_masters)) return everywhere;
  const bool of_namespaces =
      wanted.resource_request && wanted.group.empty() && wanted.resource == "namespaces";
  const auto subjects = subjects_of(user);
  // A ClusterRole may be bound in a thousand namespaces.
  std::unordered_map<std::string_view, Verdict> cluster_roles;
  const auto cluster_role = [&](const Binding& binding) -> const Verdict& {
    const auto [at, added] = cluster_roles.try_emplace(binding.role_name);
    const auto* rules = added ? rules_of_role(binding) : nullptr;
    if (rules != nullptr) at->second = judge(*rules, wanted, of_namespaces);
    return at->second;
  };

  Reach out;
  for (const auto* subject : subjects) {
    subject->visit("", [&](const Binding& binding) {
      if (binding.role_kind != "ClusterRole") return;
      const auto& verdict = cluster_role(binding);
      out.everywhere = out.everywhere || verdict.always;
      for (const auto* rule : verdict.named)
        out.namespaces.insert(out.namespaces.end(), rule->names.begin(), rule->names.end());
    });
    if (out.everywhere) return everywhere;
  }
  if (!wanted.resource_request) return out; // asked in no namespace
  for (const auto* subject : subjects) {
    subject->visit_namespaces([&](const Binding& binding) {
      const auto& name = binding.name_space;
      if (!out.namespaces.empty() && out.namespaces.back() == name) return; // another one allows it
      bool allowed = false;
      if (binding.role_kind == "ClusterRole") {
        allowed = cluster_role(binding).allows(name);
      } else if (const auto* rules = rules_of_role(binding)) {
        allowed = judge(*rules, wanted, of_namespaces).allows(name);
      }
      if (allowed) out.namespaces.push_back(name);
    });
  }
  std::sort(out.namespaces.begin(), out.namespaces.end());
  out.namespaces.erase(std::unique(out.namespaces.begin(), out.namespaces.end()),
                       out.namespaces.end());
  std::erase(out.namespaces, ""); // a resourceName may be anything
  return out;
}

} // namespace

const Role* RightsTables::role(std::string_view name_space, std::string_view name) const {
  return roles.find(hash_of(name_space, name), [&](const Role& role) {
    return role.name == name && role.name_space == name_space;
  });
}

const SubjectBindings* RightsTables::subject(std::string_view key) const {
  return subjects.find(hash_of(key), [&](const SubjectBindings& each) { return each.key == key; });
}

std::size_t hash_of(std::string_view name_space, std::string_view name) {
  constexpr std::size_t k_odd = 0x9E3779B97F4A7C15;
  return hash_of(name_space) * k_odd + hash_of(name);
}

std::size_t hash_of(std::string_view subject_key) {
  return std::hash<std::string_view>{}(subject_key);
}

RightsPtr rights_of(RightsTables tables) {
  return std::make_shared<const Snapshot>(std::move(tables));
}

} // namespace zoo::authz
