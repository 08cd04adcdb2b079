// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/api/terms.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// The objects that make a room of a tenant upstream. Pure.
namespace zoo::tenants {

/// The namespaces that every tenant has from the first moment, without their prefix.
inline constexpr std::string_view k_first_namespaces[] = {"default", "kube-system"};

// The names of what stands in them.
inline constexpr std::string_view k_authentication = "extension-apiserver-authentication";
inline constexpr std::string_view k_authentication_reader =
    "extension-apiserver-authentication-reader";
inline constexpr std::string_view k_service = "kubernetes"; ///< and its EndpointSlice

/// The value of label k_inside of a tenant's namespaces: "none", or what is left of api and dns;
/// "": they have no such label. The policy of upstream/inside_manifests.hpp goes by it.
std::string_view inside_label(const api::Inside& inside);

/// With the tenant label and pod security `baseline`: for every namespace of a tenant, the ones
/// that the gateway makes included. `upstream_name` carries the prefix, `inside` is inside_label().
nlohmann::json namespace_manifest(std::string_view id, std::string_view upstream_name,
                                  std::string_view inside = {});
std::string namespace_text(std::string_view id, std::string_view upstream_name,
                           std::string_view inside); ///< the same
/// A merge patch that gives a namespace that label, or takes it away.
std::string inside_patch(std::string_view inside);

/// RoleBinding zoo-tenant: user zoo:<id> may do anything in this namespace.
nlohmann::json binding_manifest(std::string_view id, std::string_view upstream_name);
std::string binding_text(std::string_view id, std::string_view upstream_name); ///< the same
std::string binding_path(std::string_view upstream_name);
/// Does a RoleBinding of that name give what it shall, to whom it shall? Additions are not asked.
bool binding_is_ours(const nlohmann::json& actual, std::string_view id);

/// ConfigMap zoo-root-ca.crt: these authorities (PEM), and the tenant's name of the namespace.
nlohmann::json root_ca_manifest(std::string_view id, std::string_view upstream_name,
                                std::string_view authorities);
/// NetworkPolicy zoo-baseline: pods are reached from the tenant's own namespaces and from
/// `guards.network_from`. It says nothing of whom they reach (docs/decisions/191).
nlohmann::json network_manifest(std::string_view id, std::string_view upstream_name,
                                const api::Guards& guards);

nlohmann::json service_account_manifest(std::string_view upstream_name);

/// ConfigMap extension-apiserver-authentication of kube-system: which authority the tenant's
/// clients are signed by, as kube-apiserver publishes it for extension servers; and the Role that
/// lets it be read, stored inert like every role of a tenant.
nlohmann::json authentication_manifest(std::string_view upstream_name, std::string_view ca_pem);
nlohmann::json authentication_role_manifest(std::string_view upstream_name);

/// Service `kubernetes` without selector, and its EndpointSlice for an IP address and port.
nlohmann::json service_manifest(std::string_view upstream_name, std::uint16_t port);
nlohmann::json endpoint_slice_manifest(std::string_view upstream_name, std::string_view address,
                                       std::uint16_t port);

/// The same address as Endpoints, which clients that know no EndpointSlices read. Upstream's
/// controller makes no EndpointSlice of them (label endpointslice.kubernetes.io/skip-mirror).
nlohmann::json endpoints_manifest(std::string_view upstream_name, std::string_view address,
                                  std::uint16_t port);

/// Can pods reach this host, as an EndpointSlice takes it? "" if they can, else why not.
std::string why_not_an_endpoint(std::string_view host);

} // namespace zoo::tenants
