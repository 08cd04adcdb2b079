// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/manifests.hpp"

#include "common/api/network_peer.hpp"
#include "common/kube/client.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace zoo::tenants {

using nlohmann::json;

namespace {

constexpr std::string_view k_rbac = "rbac.authorization.k8s.io";

bool is_v6(std::string_view address) { return address.find(':') != std::string_view::npos; }

} // namespace

std::string_view inside_label(const api::Inside& inside) {
  if (inside.api) return inside.dns ? "" : "api";
  return inside.dns ? "dns" : "none";
}

json namespace_manifest(std::string_view id, std::string_view upstream_name,
                        std::string_view inside) {
  json out = {
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata",
       {{"name", upstream_name},
        {"labels", {{k_tenant_label, id}, {"pod-security.kubernetes.io/enforce", "baseline"}}}}}};
  if (!inside.empty()) out["metadata"]["labels"][translate::k_inside] = inside;
  return out;
}

std::string namespace_text(std::string_view id, std::string_view upstream_name,
                           std::string_view inside) {
  return namespace_manifest(id, upstream_name, inside).dump();
}

std::string inside_patch(std::string_view inside) {
  const auto value = inside.empty() ? json() : json(std::string(inside));
  return json{{"metadata", {{"labels", {{translate::k_inside, value}}}}}}.dump();
}

json binding_manifest(std::string_view id, std::string_view upstream_name) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "RoleBinding"},
          {"metadata", {{"name", upstream::k_tenant_binding}, {"namespace", upstream_name}}},
          {"roleRef",
           {{"apiGroup", k_rbac}, {"kind", "ClusterRole"}, {"name", upstream::k_tenant_role}}},
          {"subjects",
           {{{"apiGroup", k_rbac},
             {"kind", "User"},
             {"name", fmt::format("{}{}", upstream::k_tenant_user_prefix, id)}}}}};
}

std::string binding_text(std::string_view id, std::string_view upstream_name) {
  return binding_manifest(id, upstream_name).dump();
}

std::string binding_path(std::string_view upstream_name) {
  return kube::path({"apis", k_rbac, "v1", "namespaces", upstream_name, "rolebindings",
                     upstream::k_tenant_binding});
}

bool binding_is_ours(const json& actual, std::string_view id) {
  const auto name_space =
      actual.value("metadata", json::object()).value("namespace", std::string());
  const auto wanted = binding_manifest(id, name_space);
  std::string where;
  return upstream::covers(actual.value("roleRef", json::object()), wanted.at("roleRef"), where) &&
         upstream::covers(actual.value("subjects", json::array()), wanted.at("subjects"), where);
}

json root_ca_manifest(std::string_view id, std::string_view upstream_name,
                      std::string_view authorities) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", translate::k_root_ca}, {"namespace", upstream_name}}},
          {"data",
           {{translate::k_root_ca_key, authorities},
            {translate::k_root_ca_namespace, upstream_name.substr(id.size() + 1)}}}};
}

json network_manifest(std::string_view id, std::string_view upstream_name,
                      const api::Guards& guards) {
  json from = json::array();
  from.push_back({{"namespaceSelector", {{"matchLabels", {{k_tenant_label, id}}}}}});
  for (const auto& text : guards.network_from) {
    const auto peer = api::network_peer(text); // was checked where it was written
    if (!peer) continue;
    if (!peer->cidr.empty()) {
      from.push_back({{"ipBlock", {{"cidr", peer->cidr}}}});
      continue;
    }
    // Of the platform's namespaces: a tenant gives its own whatever labels it likes.
    const json no_tenant = {{"key", k_tenant_label}, {"operator", "DoesNotExist"}};
    from.push_back({{"namespaceSelector",
                     {{"matchLabels", {{peer->label, peer->value}}},
                      {"matchExpressions", json::array({no_tenant})}}}});
  }
  return {{"apiVersion", "networking.k8s.io/v1"},
          {"kind", "NetworkPolicy"},
          {"metadata", {{"name", translate::k_network_baseline}, {"namespace", upstream_name}}},
          {"spec",
           {{"podSelector", json::object()},
            {"policyTypes", json::array({"Ingress"})},
            {"ingress", json::array({{{"from", from}}})}}}};
}

json service_account_manifest(std::string_view upstream_name) {
  return {{"apiVersion", "v1"},
          {"kind", "ServiceAccount"},
          {"metadata", {{"name", "default"}, {"namespace", upstream_name}}}};
}

json authentication_manifest(std::string_view upstream_name, std::string_view ca_pem) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", k_authentication}, {"namespace", upstream_name}}},
          {"data", {{"client-ca-file", ca_pem}}}};
}

json authentication_role_manifest(std::string_view upstream_name) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "Role"},
          {"metadata", {{"name", k_authentication_reader}, {"namespace", upstream_name}}},
          {"rules",
           {{{"apiGroups", {""}},
             {"resources", {"configmaps"}},
             {"resourceNames", {k_authentication}},
             {"verbs", {"zoo:get", "zoo:list", "zoo:watch"}}}}}};
}

json service_manifest(std::string_view upstream_name, std::uint16_t port) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata",
           {{"name", k_service},
            {"namespace", upstream_name},
            {"labels", {{"component", "apiserver"}, {"provider", "kubernetes"}}}}},
          {"spec",
           {{"type", "ClusterIP"},
            {"ports",
             {{{"name", "https"}, {"port", 443}, {"protocol", "TCP"}, {"targetPort", port}}}}}}};
}

json endpoint_slice_manifest(std::string_view upstream_name, std::string_view address,
                             std::uint16_t port) {
  return {{"apiVersion", "discovery.k8s.io/v1"},
          {"kind", "EndpointSlice"},
          {"metadata",
           {{"name", k_service},
            {"namespace", upstream_name},
            {"labels",
             {{"kubernetes.io/service-name", k_service},
              {"endpointslice.kubernetes.io/managed-by", "zood.kubezoo.io"}}}}},
          {"addressType", is_v6(address) ? "IPv6" : "IPv4"},
          {"endpoints", json::array({{{"addresses", json::array({address})},
                                      {"conditions", {{"ready", true}}}}})},
          {"ports", json::array({{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}})}};
}

json endpoints_manifest(std::string_view upstream_name, std::string_view address,
                        std::uint16_t port) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Endpoints"},
      {"metadata",
       {{"name", k_service},
        {"namespace", upstream_name},
        {"labels", {{"endpointslice.kubernetes.io/skip-mirror", "true"}}}}},
      {"subsets",
       json::array({{{"addresses", json::array({{{"ip", address}}})},
                     {"ports",
                      json::array({{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}})}}})}};
}

std::string why_not_an_endpoint(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    const auto value = ntohl(v4.s_addr);
    if (value >> 24 == 127) return "the advertised address is loopback";
    if (value >> 16 == 0xa9fe) return "the advertised address is link-local";
    if (value == 0) return "no address is advertised: set `advertise`";
    if (value >> 28 >= 14) return "the advertised address is no host's";
    return {};
  }
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    if (IN6_IS_ADDR_LOOPBACK(&v6)) return "the advertised address is loopback";
    if (IN6_IS_ADDR_LINKLOCAL(&v6)) return "the advertised address is link-local";
    if (IN6_IS_ADDR_UNSPECIFIED(&v6)) return "no address is advertised: set `advertise`";
    if (IN6_IS_ADDR_MULTICAST(&v6)) return "the advertised address is no host's";
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return "the advertised address is IPv4 inside IPv6";
    return {};
  }
  return "a name is advertised, and EndpointSlices carry addresses";
}

} // namespace zoo::tenants
