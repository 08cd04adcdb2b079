// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The objects of rbac.authorization.k8s.io/v1 as the evaluator needs them: read from JSON that is
/// already in the tenant's names. Pure, any thread.
namespace zoo::authz {

/// metav1.LabelSelector.
struct LabelSelector {
  struct Expression {
    std::string key, op;
    std::vector<std::string> values;
    bool operator==(const Expression&) const = default;
  };
  std::map<std::string, std::string, std::less<>> labels;
  std::vector<Expression> expressions;
  bool operator==(const LabelSelector&) const = default;

  /// An empty selector matches everything; an unknown operator nothing.
  bool matches(const std::map<std::string, std::string, std::less<>>& given) const;
  std::size_t words() const; ///< that matches() looks at, at most
};

/// Role, or ClusterRole (no namespace).
struct Role {
  std::string name_space, name;
  std::vector<Rule> rules; ///< as written; of an aggregated role the evaluator computes them
  std::map<std::string, std::string, std::less<>> labels;
  std::vector<LabelSelector> aggregation; ///< aggregationRule.clusterRoleSelectors
  bool aggregated = false;                ///< has an aggregationRule
};

struct Subject {
  std::string kind, name, name_space;
  bool operator==(const Subject&) const = default;
};

/// RoleBinding, or ClusterRoleBinding (no namespace).
struct Binding {
  std::string name_space, name;
  std::string role_kind, role_name;
  std::vector<Subject> subjects;
  bool operator==(const Binding&) const = default;
};

/// Never fail for what an object contains: what is not of the type it should be counts as absent,
/// and so grants nothing. Verbs and subjects without a name are left out.
Role read_role(translate::JsonNode object);
Binding read_binding(translate::JsonNode object);
std::vector<Rule> read_rules(translate::JsonNode rules);

/// `[{"apiGroups":[...],...}]`, members in the order in which Kubernetes writes them.
std::string write_rules(const std::vector<Rule>& rules);

} // namespace zoo::authz
