// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/evaluate.hpp"
#include "daemon/authz/objects.hpp"
#include "daemon/authz/rule.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zoo::authz {

/// The RBAC of one tenant at one moment, with the system roles and their bindings, ready to be
/// asked. Immutable once built; any thread. Semantics of k8s.io/kubernetes
/// pkg/registry/rbac/validation/rule.go and plugin/pkg/auth/authorizer/rbac/rbac.go.
class Policy {
public:
  struct Objects {
    std::vector<std::shared_ptr<const Role>> roles;       ///< Roles and the tenant's ClusterRoles
    std::vector<std::shared_ptr<const Binding>> bindings; ///< RoleBindings, ClusterRoleBindings
  };
  /// System roles and bindings are added here; an object of the same name does not replace one.
  static std::shared_ptr<const Policy> build(const Objects& objects);

  /// May he? The reason of an allowed request names the binding; of a refused one only what went
  /// wrong on the way, as Kubernetes does.
  Decision decide(const User& user, const Attributes& attributes) const;

  /// All rules that hold for a user in a namespace ("" = cluster-wide alone).
  using Rules = HeldRules;
  Rules rules_for(const User& user, std::string_view name_space) const;

  /// Rules of the role that a binding in `name_space` refers to; null: there is none.
  const std::vector<Rule>* rules_of(std::string_view role_kind, std::string_view role_name,
                                    std::string_view name_space) const;
  /// Were the rules of this ClusterRole too many to put together? It grants nothing then, and
  /// nobody may bind it by holding what it has.
  bool too_large(std::string_view cluster_role) const { return too_large_.contains(cluster_role); }

  /// Null: there is none.
  const Role* cluster_role(std::string_view name) const;

  /// Does `user` hold all of `wanted` in `name_space`? Code::forbidden in the words of
  /// ConfirmNoEscalation; Code::too_large as uncovered().
  Result<void> confirm_no_escalation(const User& user, std::string_view name_space,
                                     const std::vector<Rule>& wanted) const;

  /// What the aggregation controller would make of these selectors for the ClusterRole `name`;
  /// nothing, where that is too much.
  std::vector<Rule> aggregate(const std::vector<LabelSelector>& selectors,
                              std::string_view name) const;

private:
  /// Bindings of one namespace, found by subject.
  struct Scope {
    std::vector<std::shared_ptr<const Binding>> bindings; ///< by name
    std::unordered_map<std::string, std::vector<std::size_t>> by_subject;
  };

  void index(Scope& scope, std::shared_ptr<const Binding> binding);
  /// Calls `each` for every binding that applies, ClusterRoleBindings first, by name, until it
  /// answers false.
  void visit(const User& user, std::string_view name_space, const EachGrant& each) const;
  bool visit_scope(const Scope& scope, const User& user, std::string_view name_space,
                   const EachGrant& each) const;
  void aggregate_all();
  /// Nothing: it takes more than k_max_steps.
  std::optional<std::vector<Rule>> aggregate(const std::vector<LabelSelector>& selectors,
                                             std::string_view name, std::size_t& steps) const;

  /// Comparisons for all aggregated roles of a tenant together; what does not fit grants nothing.
  static constexpr std::size_t k_max_steps = 5'000'000;
  static constexpr std::size_t k_bytes_a_step = 16; ///< they are copied
  std::map<std::string, std::shared_ptr<const Role>, std::less<>> cluster_roles_;
  std::map<std::string, std::vector<Rule>, std::less<>> aggregated_;   ///< rules of aggregated ones
  std::set<std::string, std::less<>> too_large_;                       ///< of these, without theirs
  std::unordered_map<std::string, std::shared_ptr<const Role>> roles_; ///< "namespace/name"
  Scope cluster_;
  std::unordered_map<std::string, Scope> scopes_; ///< by namespace
};

using PolicyPtr = std::shared_ptr<const Policy>;

} // namespace zoo::authz
