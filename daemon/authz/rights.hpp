// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/evaluate.hpp"
#include "daemon/authz/objects.hpp"
#include "daemon/authz/policy.hpp"
#include "daemon/authz/rule.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The RBAC of the upstream itself, of all its users, kept so that a question about one user costs
/// what that user has, not what the cluster has: bindings are found by subject.
namespace zoo::authz {

/// Upstream's RBAC at one moment. Immutable; any thread.
class Rights {
public:
  virtual ~Rights() = default;

  /// What upstream's RBAC authorizer says; a member of system:masters may do everything. Other
  /// authorizers of the upstream (webhook, node, ABAC) are not known here.
  virtual Decision decide(const User& user, const Attributes& attributes) const = 0;

  /// Where somebody may do something.
  struct Reach {
    bool everywhere = false; ///< in every namespace, also those that are made later
    /// Else: in these, sorted. Some of them may not exist.
    std::vector<std::string> namespaces;
  };
  /// The namespaces N for which decide() allows `wanted` with name_space N. A question about the
  /// core kind `namespaces` itself is asked for the name N, too, as upstream's authorizer is for
  /// /api/v1/namespaces/N. `wanted.name_space` is not looked at.
  virtual Reach namespaces_of(const User& user, Attributes wanted) const = 0;

  /// All rules that hold for a user in a namespace ("" = cluster-wide alone).
  virtual Policy::Rules rules_for(const User& user, std::string_view name_space) const = 0;

  /// Is there a ClusterRole of this name? A binding of one that is not there gives nothing.
  virtual bool has_cluster_role(std::string_view) const { return true; }
};
using RightsPtr = std::shared_ptr<const Rights>;

/// Whose rights may be others than they were: subjects of the bindings that came or went, that a
/// binding has gained or lost, and those of the bindings whose role is another.
struct TouchedRights {
  bool everybody = false;            ///< more than is worth to be told one by one
  std::vector<std::string> subjects; ///< subject keys, sorted, each once
  /// Namespaces in which the rights of everybody, or of very many, may have changed; sorted, each
  /// once.
  std::vector<std::string> open_namespaces;
  /// Namespaces of RoleBindings that came, went or changed; sorted, each once.
  std::vector<std::string> namespaces;
  /// What Rights of before hold of the tables that these do not, roughly.
  std::size_t replaced_bytes = 0;
  bool empty() const {
    return !everybody && subjects.empty() && open_namespaces.empty() && namespaces.empty();
  }
};

/// Where Rights come from: objects are put in and taken out one by one, and each publish() gives a
/// snapshot that shares with the last one all that has not changed. One thread.
///
/// ClusterRoles with an aggregationRule count with the rules that are stored in them: upstream's
/// controller fills them in.
class RightsTable {
public:
  RightsTable();
  ~RightsTable();
  RightsTable(const RightsTable&) = delete;
  RightsTable& operator=(const RightsTable&) = delete;

  /// Adds an object, or replaces the one of the same namespace and name. No namespace: ClusterRole,
  /// ClusterRoleBinding.
  void put(std::shared_ptr<const Role> role);
  void put(std::shared_ptr<const Binding> binding);
  /// Nothing happens if there is none.
  void remove_role(std::string_view name_space, std::string_view name);
  void remove_binding(std::string_view name_space, std::string_view name);

  struct Published {
    RightsPtr rights;
    TouchedRights touched; ///< since the last publish()
  };
  Published publish();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::authz
