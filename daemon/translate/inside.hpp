// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The names of what zood keeps in tenants' namespaces for the pods that run there. Tenants neither
/// see nor change these objects, labels and annotations.
namespace zoo::translate {

/// ConfigMap of each namespace of a tenant: `ca.crt`, the authorities that zood's own door is
/// verified by, and `namespace`, the tenant's name of the namespace. Pods mount it in place of
/// k_upstream_root_ca.
inline constexpr std::string_view k_root_ca = "zoo-root-ca.crt";
/// The ConfigMap that upstream's controllers write into every namespace (KEP-1205). A tenant reads
/// the data of k_root_ca in it.
inline constexpr std::string_view k_upstream_root_ca = "kube-root-ca.crt";
/// The key of both that holds authorities in PEM, and that of k_root_ca's with the namespace.
inline constexpr std::string_view k_root_ca_key = "ca.crt";
inline constexpr std::string_view k_root_ca_namespace = "namespace";
/// NetworkPolicy of each namespace of a tenant where `guards.network` is `isolated`.
inline constexpr std::string_view k_network_baseline = "zoo-baseline";

/// Annotation of a pod: the tenant's name of its namespace. Only pods that read
/// `metadata.namespace` through the downward API have it, and they read it instead.
inline constexpr std::string_view k_pod_namespace = "zoo.kubezoo.io/namespace";
/// Label of a namespace, where the Tenant's `spec.inside` switches something off: what is left for
/// its pods, `api`, `dns` or `none`. Without it they have both.
inline constexpr std::string_view k_inside = "zoo.kubezoo.io/inside";

} // namespace zoo::translate
