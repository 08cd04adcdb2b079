// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// What CoreDNS of an upstream needs so that a tenant's names are found in its pods (decision 188).
/// The platform adds it; zood never edits it. Pure.
namespace zoo::api {

/// Whether this can be the domain of a cluster, as "cluster.local": lower-case labels of DNS names
/// with points between them, 180 bytes at most, so that a tenant's names fit into 253.
bool is_cluster_domain(std::string_view text);

/// The zone under which the pods of a tenant look for names is "<id>.zoo.<domain>".
inline constexpr std::string_view k_tenants_label = "zoo";

/// The rewrite rules, with a word on where they go. `domain` is the cluster's.
std::string corefile_rules(std::string_view domain);

/// The optional server block for clients that do not search: by the address of the pod that asks.
/// `reserved_ids`: of namespaces that are the platform's and look like a tenant's, separated by
/// commas and spaces.
std::string corefile_second_layer(std::string_view domain, std::string_view reserved_ids);

} // namespace zoo::api
