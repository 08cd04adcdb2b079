// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/objects.hpp"
#include "daemon/authz/rule.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What RBAC says of somebody, once the bindings that apply to him are found. How they are found is
/// the caller's: a tenant's Policy and upstream's Rights answer alike. Semantics of
/// k8s.io/kubernetes pkg/registry/rbac/validation/rule.go and
/// plugin/pkg/auth/authorizer/rbac/rbac.go. Pure, any thread.
namespace zoo::authz {

/// By what a subject of a binding is found: "u:jane" for a User, "g:devs" for a Group, and
/// "u:system:serviceaccount:<namespace>:<name>" for a ServiceAccount, whose namespace is the
/// binding's if it names none. Empty for any other kind, and for a ServiceAccount without
/// namespace in a ClusterRoleBinding: they grant nothing (k8s.io/kubernetes
/// pkg/registry/rbac/validation/rule.go, appliesToUser).
std::string subject_key(const Subject& subject, std::string_view binding_namespace);
/// By what everything that concerns a user is found: his own key, then one for each of his groups.
std::vector<std::string> subject_keys(const User& user);

/// A binding that applies to the user.
struct Grant {
  const Binding* binding;
  const std::vector<Rule>* rules; ///< null: its role does not exist
};
/// Called for each grant; false: enough.
using EachGrant = std::function<bool(const Grant&)>;
/// Calls `each` for every binding that applies, ClusterRoleBindings first, until it answers false.
using Grants = std::function<void(const EachGrant& each)>;

/// May he? The reason of an allowed request names the binding; of a refused one only what went
/// wrong on the way, as Kubernetes does.
Decision decide(const User& user, const Attributes& attributes, const Grants& grants);

/// All that somebody holds.
struct HeldRules {
  std::vector<Rule> rules;
  std::vector<std::string> errors; ///< of roles that do not exist, and of what was too much
  bool truncated = false;          ///< there are more than k_most_held_bytes
};
HeldRules held_rules(const Grants& grants);
inline constexpr std::size_t k_most_held_bytes = std::size_t{4} << 20; ///< that held_rules() copies

/// As k8s.io/apimachinery's Aggregate prints: one as it is, several in brackets, each once.
std::string aggregate_text(const std::vector<std::string>& errors);

} // namespace zoo::authz
