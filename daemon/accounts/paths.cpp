// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/paths.hpp"

#include "common/kube/client.hpp"
#include "daemon/accounts/account.hpp"

#include <fmt/format.h>

namespace zoo::accounts {
namespace {

constexpr std::string_view k_rbac_group = "rbac.authorization.k8s.io";

std::string with_name(std::string collection, std::string_view name) {
  return name.empty() ? collection : collection + kube::path({name});
}

} // namespace

std::string config_api_version() { return fmt::format("{}/{}", k_config_group, k_version); }

std::string config_path(std::string_view resource, std::string_view name) {
  return with_name(kube::path({"apis", k_config_group, k_version, resource}), name);
}

std::string account_path(std::string_view name) { return config_path("accounts", name); }

std::string namespace_path(std::string_view name) {
  return kube::path({"api", "v1", "namespaces", name});
}

std::string instances_path(std::string_view space) {
  return kube::path({"apis", k_config_group, k_version, "namespaces", space, "templateinstances"});
}

std::string rolebindings_path(std::string_view space) {
  if (space.empty()) return kube::path({"apis", k_rbac_group, "v1", "rolebindings"});
  return kube::path({"apis", k_rbac_group, "v1", "namespaces", space, "rolebindings"});
}

std::string rolebinding_path(std::string_view space, std::string_view name) {
  return rolebindings_path(space) + kube::path({name});
}

std::string resource_quotas_path(std::string_view space) {
  return namespace_path(space) + kube::path({"resourcequotas"});
}

std::string resource_quota_path(std::string_view space, std::string_view name) {
  return resource_quotas_path(space) + kube::path({name});
}

} // namespace zoo::accounts
