// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/system_roles.hpp"

#include <algorithm>
#include <stdexcept>

namespace zoo::authz {
namespace {

SystemObjects read() {
  const auto tree = translate::JsonTree::parse(system_roles_json());
  if (!tree) throw std::runtime_error("roles/system.json: " + tree.error().message());
  SystemObjects out;
  const auto roles = tree->root()["clusterRoles"];
  for (auto each = roles.first(); each; each = each.next()) {
    out.roles.push_back(std::make_shared<const Role>(read_role(each)));
    out.role_documents.push_back({out.roles.back()->name, std::string(each.raw())});
  }
  const auto bindings = tree->root()["clusterRoleBindings"];
  for (auto each = bindings.first(); each; each = each.next()) {
    out.bindings.push_back(std::make_shared<const Binding>(read_binding(each)));
    out.binding_documents.push_back({out.bindings.back()->name, std::string(each.raw())});
  }
  return out;
}

} // namespace

const SystemObjects& system_objects() {
  static const auto objects = read();
  return objects;
}

bool system_binding(std::string_view name) {
  const auto& bindings = system_objects().bindings;
  return std::any_of(bindings.begin(), bindings.end(),
                     [name](const auto& binding) { return binding->name == name; });
}

} // namespace zoo::authz
