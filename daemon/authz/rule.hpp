// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The rules of Kubernetes' RBAC, as values: what one rule allows, and whether some rules contain
/// others. Semantics of k8s.io/component-helpers auth/rbac/validation and k8s.io/kubernetes
/// pkg/apis/rbac/v1/evaluation_helpers.go. Pure, any thread; all names are the tenant's.
namespace zoo::authz {

using Extra = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Who asks, as k8s.io/apiserver's user.Info.
struct User {
  std::string name, uid;
  std::vector<std::string> groups;
  Extra extra;

  bool in_group(std::string_view group) const;
};

/// What somebody wants to do, as k8s.io/apiserver/pkg/authorization/authorizer Attributes has it.
struct Attributes {
  std::string verb;
  bool resource_request = true;
  std::string group, version, resource, subresource, name_space, name;
  std::string path; ///< of a non-resource request
};

struct Decision {
  bool allowed = false;
  std::string reason; ///< for the Status message and the audit line; in the tenant's names
};

/// rbac.authorization.k8s.io/v1 PolicyRule.
struct Rule {
  using List = std::vector<std::string> Rule::*;
  std::vector<std::string> verbs, groups, resources, names, paths;
  /// Places of long lists' words in their order, so that a question costs little however long a
  /// tenant made them: verbs, groups, resources, names. Empty: the list is looked through.
  std::array<std::vector<std::uint32_t>, 4> sorted = {};

  void index(); ///< makes `sorted`; the lists stay as they are from then on
  bool has(List list, std::string_view word) const;
  std::size_t words() const; ///< of all lists
  std::size_t bytes() const; ///< that a copy takes
  bool operator==(const Rule& other) const {
    return verbs == other.verbs && groups == other.groups && resources == other.resources &&
           names == other.names && paths == other.paths;
  }
};

bool allows(const Rule& rule, const Attributes& attributes);

/// The parts of `wanted` that no rule of `held` covers, each with one verb, group, resource and
/// name; verbs of the same resource are joined again. Empty: all is covered. Code::too_large where
/// it would take more than k_max_comparisons, so that one request never holds up a loop.
Result<std::vector<Rule>> uncovered(std::span<const Rule> held, std::span<const Rule> wanted);
inline constexpr std::size_t k_max_comparisons = 10'000'000;

/// `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`, as a refusal names it.
std::string describe(const Rule& rule);

/// `["a" "b"]`, as Go prints a list of strings.
std::string go_list(std::span<const std::string> values);

/// system:serviceaccount:<namespace>:<name> in two parts (k8s.io/apiserver
/// pkg/authentication/serviceaccount SplitUsername); empty parts for what is no such name.
struct ServiceAccountName {
  std::string_view name_space, name;
  explicit operator bool() const { return !name.empty(); }
};
ServiceAccountName service_account(std::string_view user);

inline constexpr std::string_view k_authenticated = "system:authenticated";
inline constexpr std::string_view k_unauthenticated = "system:unauthenticated";
inline constexpr std::string_view k_anonymous = "system:anonymous";
inline constexpr std::string_view k_service_accounts = "system:serviceaccounts";
/// Kubernetes' own super-users; of a tenant's cluster only.
inline constexpr std::string_view k_masters = "system:masters";

} // namespace zoo::authz
