// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/rights.hpp"

#include <memory>
#include <string>
#include <vector>

/// RBAC objects in few words.
namespace zoo::test {

inline std::shared_ptr<const authz::Role> make_role(std::string name_space, std::string name,
                                                    std::vector<authz::Rule> rules) {
  authz::Role out;
  out.name_space = std::move(name_space);
  out.name = std::move(name);
  out.rules = std::move(rules);
  for (auto& rule : out.rules)
    rule.index();
  return std::make_shared<const authz::Role>(std::move(out));
}

inline std::shared_ptr<const authz::Binding> make_binding(std::string name_space, std::string name,
                                                          std::string role_kind,
                                                          std::string role_name,
                                                          std::vector<authz::Subject> subjects) {
  authz::Binding out;
  out.name_space = std::move(name_space);
  out.name = std::move(name);
  out.role_kind = std::move(role_kind);
  out.role_name = std::move(role_name);
  out.subjects = std::move(subjects);
  return std::make_shared<const authz::Binding>(std::move(out));
}

inline authz::Attributes question(std::string verb, std::string resource,
                                  std::string name_space = "", std::string name = "",
                                  std::string group = "") {
  authz::Attributes out;
  out.verb = std::move(verb);
  out.resource = std::move(resource);
  out.name_space = std::move(name_space);
  out.name = std::move(name);
  out.group = std::move(group);
  return out;
}

} // namespace zoo::test
