// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The objects that zood needs upstream (DESIGN 8): its own identity and rights, what the tenants'
/// user may do, and the fences. One table: the bootstrap installs it, `zood --print-upstream-rbac`
/// prints it, packaging/upstream-rbac.yaml is that print. Pure.
namespace zoo::upstream {

inline constexpr std::string_view k_system_namespace = "zoo-system";
inline constexpr std::string_view k_service_account = "zood";
inline constexpr std::string_view k_service_account_user = "system:serviceaccount:zoo-system:zood";
inline constexpr std::string_view k_masters_group = "system:masters";
inline constexpr std::string_view k_field_manager = "zood";

/// Tenants' requests go upstream as user `zoo:<id>` of this group.
inline constexpr std::string_view k_tenants_group = "zoo:tenants";
inline constexpr std::string_view k_tenant_user_prefix = "zoo:";
/// ClusterRole bound only by the RoleBindings of the next name inside tenants' namespaces.
inline constexpr std::string_view k_tenant_role = "zoo:tenant";
inline constexpr std::string_view k_tenant_binding = "zoo-tenant";

enum class Need {
  fence,    ///< without it tenants are not kept apart twice: zood does not start
  identity, ///< zood's own: an administrator may have narrowed it on purpose
  fairness, ///< without it one tenant can crowd out others upstream
};

struct Manifest {
  std::string kind, name, name_space; ///< name_space: empty for cluster-scoped
  std::string path;                   ///< of the object, "/api/v1/namespaces/zoo-system"
  std::string json;
  Need need = Need::identity;
  std::string_view printed_by = "--print-upstream-rbac"; ///< option of zood, for what is said

  std::string title() const { return kind + " " + name; }
};

/// The object of this JSON, with the path where it is installed. Throws for what is no object of
/// Kubernetes: the texts are ours.
Manifest manifest_of(Need need, std::string_view printed_by, std::string json);

/// In the order in which they are to be installed.
const std::vector<Manifest>& upstream_manifests();

/// All of them as one YAML stream for `kubectl apply --server-side -f`.
std::string upstream_rbac_yaml();

} // namespace zoo::upstream
