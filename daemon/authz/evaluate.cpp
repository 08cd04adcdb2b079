// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/evaluate.hpp"

#include "common/base/json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace zoo::authz {
namespace {

constexpr std::string_view k_user = "u:";
constexpr std::string_view k_group = "g:";

bool is(const User& user, const Subject& subject, std::string_view name_space) {
  if (subject.kind == "Group") return user.in_group(subject.name);
  const auto key = subject_key(subject, name_space);
  return !key.empty() && std::string_view(key).substr(k_user.size()) == user.name;
}

std::string describe(const Binding& binding, const User& user) {
  const bool cluster = binding.name_space.empty();
  std::string who;
  for (const auto& subject : binding.subjects) {
    if (!is(user, subject, binding.name_space)) continue;
    auto name = subject.name;
    if (subject.kind == "ServiceAccount") {
      name += "/" + (subject.name_space.empty() ? binding.name_space : subject.name_space);
    }
    who = subject.kind + " " + json_quote(name);
    break;
  }
  return fmt::format("{} {} of {} {} to {}", cluster ? "ClusterRoleBinding" : "RoleBinding",
                     json_quote(cluster ? binding.name : binding.name + "/" + binding.name_space),
                     binding.role_kind, json_quote(binding.role_name), who);
}

std::string missing_role(const Binding& binding) {
  if (binding.role_kind == "Role" || binding.role_kind == "ClusterRole") {
    return fmt::format("{}.rbac.authorization.k8s.io {} not found",
                       binding.role_kind == "Role" ? "role" : "clusterrole",
                       json_quote(binding.role_name));
  }
  return fmt::format("unsupported role reference kind: {}", json_quote(binding.role_kind));
}

/// Of the grants of the same role the first one: a role may be bound a thousand times.
void each_role_once(const Grants& grants, const EachGrant& each) {
  std::set<const std::vector<Rule>*> seen;
  grants([&](const Grant& grant) {
    return (grant.rules != nullptr && !seen.insert(grant.rules).second) || each(grant);
  });
}

} // namespace

std::string subject_key(const Subject& subject, std::string_view binding_namespace) {
  const auto key = [](std::string_view kind, std::string_view name) {
    std::string out(kind);
    return out.append(name);
  };
  if (subject.kind == "User") return key(k_user, subject.name);
  if (subject.kind == "Group") return key(k_group, subject.name);
  if (subject.kind != "ServiceAccount") return {};
  const auto own = subject.name_space.empty() ? binding_namespace : subject.name_space;
  if (own.empty()) return {};
  // A ServiceAccount is the user of its name: one key for both ways to write it.
  return fmt::format("{}system:serviceaccount:{}:{}", k_user, own, subject.name);
}

std::vector<std::string> subject_keys(const User& user) {
  std::vector<std::string> out;
  out.reserve(1 + user.groups.size());
  out.push_back(fmt::format("{}{}", k_user, user.name));
  for (const auto& group : user.groups)
    out.push_back(fmt::format("{}{}", k_group, group));
  return out;
}

Decision decide(const User& user, const Attributes& attributes, const Grants& grants) {
  Decision out;
  std::vector<std::string> errors;
  each_role_once(grants, [&](const Grant& grant) {
    if (grant.rules == nullptr) {
      errors.push_back(missing_role(*grant.binding));
      return true;
    }
    out.allowed = std::any_of(grant.rules->begin(), grant.rules->end(),
                              [&](const Rule& rule) { return allows(rule, attributes); });
    if (out.allowed) out.reason = "RBAC: allowed by " + describe(*grant.binding, user);
    return !out.allowed;
  });
  if (!out.allowed && !errors.empty()) out.reason = "RBAC: " + aggregate_text(errors);
  return out;
}

HeldRules held_rules(const Grants& grants) {
  HeldRules out;
  std::size_t bytes = 0;
  each_role_once(grants, [&](const Grant& grant) {
    if (grant.rules == nullptr) {
      out.errors.push_back(missing_role(*grant.binding));
      return true;
    }
    for (const auto& rule : *grant.rules) {
      bytes += rule.bytes();
      if (bytes > k_most_held_bytes) {
        out.truncated = true;
        out.errors.push_back(fmt::format("the rules have more than {} bytes", k_most_held_bytes));
        return false;
      }
      out.rules.push_back(rule);
    }
    return true;
  });
  return out;
}

std::string aggregate_text(const std::vector<std::string>& errors) {
  std::vector<std::string_view> once;
  std::set<std::string_view> seen; // a tenant may have as many as it has bindings
  for (const auto& each : errors) {
    if (seen.insert(each).second) once.push_back(each);
  }
  if (once.size() == 1) return std::string(once.front());
  return fmt::format("[{}]", fmt::join(once, ", "));
}

} // namespace zoo::authz
