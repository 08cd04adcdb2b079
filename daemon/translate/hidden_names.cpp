// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/hidden_names.hpp"

#include "daemon/translate/inside.hpp"

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

constexpr std::array k_hidden = {
    HiddenNames{"", "configmaps", "ConfigMap", k_root_ca, ""},
    // Slices of quotas: the tenant sees what its namespaces may use.
    HiddenNames{"", "resourcequotas", "ResourceQuota", "zoo-quota", "zoo-quota-", true},
    HiddenNames{"networking.k8s.io", "networkpolicies", "NetworkPolicy", k_network_baseline, ""},
    // Tenants' ClusterRoleBindings are stored as RoleBindings zoo:crb:<name> (rule binding_name).
    HiddenNames{"rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "zoo-tenant", "zoo:"},
};

template <class Is>
const HiddenNames* hidden_if(const Is& is) {
  const auto* found = std::find_if(k_hidden.begin(), k_hidden.end(), is);
  return found == k_hidden.end() ? nullptr : &*found;
}

} // namespace

const HiddenNames* hidden_names(std::string_view group, std::string_view resource) {
  return hidden_if([&](const auto& row) { return row.resource == resource && row.group == group; });
}

const HiddenNames* hidden_names_of_kind(std::string_view group, std::string_view kind) {
  return hidden_if([&](const auto& row) { return row.kind == kind && row.group == group; });
}

bool hidden_object(std::string_view group, std::string_view resource, std::string_view name) {
  const auto* hidden = hidden_names(group, resource);
  return hidden != nullptr && hidden->hides(name);
}

} // namespace zoo::translate
