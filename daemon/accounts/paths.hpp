// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Paths of the objects that accounts read and write upstream. Names in them are percent-encoded.
namespace zoo::accounts {

/// "config.kiosk.sh/v1alpha1"
std::string config_api_version();

/// Of a cluster-scoped resource of config.kiosk.sh; without a name its collection.
std::string config_path(std::string_view resource, std::string_view name = {});

std::string account_path(std::string_view name);
std::string namespace_path(std::string_view name);

/// The TemplateInstances of config.kiosk.sh in a space.
std::string instances_path(std::string_view space);

/// The RoleBindings of a space; with "" those of all namespaces.
std::string rolebindings_path(std::string_view space);
std::string rolebinding_path(std::string_view space, std::string_view name);

/// The ResourceQuotas of a space, of which slices are some.
std::string resource_quotas_path(std::string_view space);
std::string resource_quota_path(std::string_view space, std::string_view name);

} // namespace zoo::accounts
