// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// What a virtual cluster has upstream is that of a hidden Tenant whose ID is the cluster's
/// (tenants/cluster_tenants.hpp): its namespaces are `<id>-<namespace>`, in which user `zoo:<id>`
/// may do anything, and nowhere else. Whatever zood does there for a cluster goes as that user, so
/// that upstream's own fences hold it to the cluster. Pure.
namespace zoo::clusters {

inline constexpr std::size_t k_id_size = 6;

/// As whom requests upstream for the cluster of this ID go (user impersonation), and the one group.
inline std::string tenant_user(std::string_view id) { return "zoo:" + std::string(id); }
inline constexpr std::string_view k_tenant_group = "zoo:tenants";

/// Where objects of a namespace of the cluster are upstream, under their own names.
inline std::string upstream_namespace(std::string_view id, std::string_view name_space) {
  return std::string(id) + "-" + std::string(name_space);
}

/// The namespace of the cluster that this one is upstream; nothing if it is not one of its.
inline std::optional<std::string> cluster_namespace(std::string_view id,
                                                    std::string_view upstream_name) {
  if (id.size() != k_id_size || upstream_name.size() < k_id_size + 2 ||
      !upstream_name.starts_with(id) || upstream_name[k_id_size] != '-')
    return std::nullopt;
  return std::string(upstream_name.substr(k_id_size + 1));
}

/// On each pod that zood makes upstream for a cluster: the UID that it has in the cluster.
inline constexpr const char* k_uid_annotation = "clusters.zoo.kubezoo.io/uid";

/// Upstream refuses names of namespaces above 63 characters.
inline constexpr std::size_t k_longest_namespace = 63 - k_id_size - 1;

} // namespace zoo::clusters
