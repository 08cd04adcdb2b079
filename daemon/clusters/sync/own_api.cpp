// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/own_api.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/tenants/ensure.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/upstream/bootstrap.hpp"

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using upstream::ControlApi;

constexpr const char* k_space = "default";
constexpr const char* k_hooks =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

std::string services_in(std::string_view space) {
  return kube::path({"api", "v1", "namespaces", space, "services"});
}

std::string slices_in(std::string_view space) {
  return kube::path({"apis", "discovery.k8s.io", "v1", "namespaces", space, "endpointslices"});
}

/// The cluster's API server has made it with the first address of the range, which is that of the
/// host's own API server upstream; an address cannot be changed.
Result<void> keep_in_cluster(ControlApi& api, const std::string& address, std::uint16_t port) {
  const auto path = services_in(k_space) + "/kubernetes";
  auto wanted = tenants::service_manifest(k_space, port);
  wanted["spec"]["clusterIP"] = address;
  wanted["spec"]["clusterIPs"] = json::array({address});
  const auto there = api.get(path);
  if (!there && there.error().code() != Code::not_found) return fail(there.error());
  std::string where;
  if (there && upstream::covers(*there, wanted, where)) return {};
  if (there) ZOO_TRY_VOID(api.remove_read(path, kube::text_at(*there, "/metadata/uid")));
  ZOO_TRY_VOID(api.create(services_in(k_space), wanted).map([](const auto&) {}));
  return {};
}

} // namespace

Result<OwnApi> keep_own_api(const SyncRoom& room, const std::string& advertised,
                            std::uint16_t port) {
  const auto space = upstream_namespace(room.id, k_space);
  ZOO_TRY_VOID(room.open_namespace(k_space));
  OwnApi out;
  out.trouble = tenants::why_not_an_endpoint(advertised);
  {
    // As zood, which keeps it as it does for every Tenant: whatever guards.endpoints says.
    const auto lease = room.upstream.take();
    ZOO_TRY_VOID(room.known_store(*lease, Store::upstream));
    ZOO_TRY_VOID(
        tenants::repair(*lease, services_in(space), tenants::service_manifest(space, port)));
    if (out.trouble.empty())
      ZOO_TRY_VOID(tenants::repair(*lease, slices_in(space),
                                   tenants::endpoint_slice_manifest(space, advertised, port)));
    ZOO_TRY(const auto made, (*lease).get(services_in(space) + "/kubernetes"));
    out.address = kube::text_at(made, "/spec/clusterIP");
    if (out.address.empty() || out.address == "None")
      return fail(Code::unavailable, "Service {}/kubernetes has no ClusterIP upstream", space);
  }
  const auto lease = room.own.take();
  ZOO_TRY_VOID(room.known_store(*lease, Store::cluster));
  ZOO_TRY_VOID(keep_in_cluster(*lease, out.address, port));
  if (!out.trouble.empty()) return out;
  ZOO_TRY_VOID(tenants::repair(*lease,
                               kube::path({"api", "v1", "namespaces", k_space, "endpoints"}),
                               tenants::endpoints_manifest(k_space, advertised, port)));
  ZOO_TRY_VOID(tenants::repair(*lease, slices_in(k_space),
                               tenants::endpoint_slice_manifest(k_space, advertised, port)));
  return out;
}

json service_hook(std::string_view authorities) {
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "MutatingWebhookConfiguration"},
          {"metadata", {{"name", k_service_hook}}},
          {"webhooks",
           json::array({{{"name", "services.zood.internal"},
                         {"clientConfig",
                          {{"url", fmt::format("https://{}/services", k_inside_name)},
                           {"caBundle", crypto::base64_encode(authorities)}}},
                         {"rules", json::array({{{"apiGroups", json::array({""})},
                                                 {"apiVersions", json::array({"v1"})},
                                                 {"operations", json::array({"CREATE", "UPDATE"})},
                                                 {"resources", json::array({"services"})},
                                                 {"scope", "Namespaced"}}})},
                         // What zood itself stores needs no answer of zood's.
                         {"matchConditions",
                          json::array({{{"name", "not-zood"},
                                        {"expression", "request.userInfo.username != 'zood'"}}})},
                         {"failurePolicy", "Ignore"},
                         {"matchPolicy", "Equivalent"},
                         {"reinvocationPolicy", "Never"},
                         {"sideEffects", "NoneOnDryRun"},
                         {"timeoutSeconds", 10},
                         {"admissionReviewVersions", json::array({"v1"})}}})}};
}

Result<void> keep_service_hook(const SyncRoom& room) {
  ZOO_TRY(const auto access, room.access());
  const auto wanted = service_hook(access.credentials.ca_pem);
  const auto lease = room.own.take();
  return tenants::repair(*lease, k_hooks, wanted);
}

} // namespace zoo::clusters::sync
