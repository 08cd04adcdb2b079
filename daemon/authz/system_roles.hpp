// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/objects.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// What Kubernetes itself brings along in RBAC, as every tenant sees it: ClusterRoles that nobody
/// may change, and the ClusterRoleBindings without which no cluster works. Constant data from
/// roles/system.json, which roles/generate.py makes of Kubernetes' own table.
namespace zoo::authz {

struct SystemObjects {
  struct Document {
    std::string name;
    std::string json; ///< the whole object; metadata without uid and times
  };
  std::vector<std::shared_ptr<const Role>> roles; ///< ClusterRoles, by name
  std::vector<std::shared_ptr<const Binding>> bindings;
  std::vector<Document> role_documents, binding_documents; ///< the same, for clients
};
/// Read once, lives for ever; any thread.
const SystemObjects& system_objects();

/// A ClusterRoleBinding of that name belongs to the platform.
bool system_binding(std::string_view name);

/// The text of roles/system.json.
std::string_view system_roles_json();

} // namespace zoo::authz
