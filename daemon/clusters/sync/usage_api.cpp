// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/usage_api.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/egress_rules.hpp"
#include "daemon/clusters/usage.hpp"
#include "daemon/upstream/bootstrap.hpp"

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using upstream::ControlApi;

constexpr const char* k_usage_space = "kube-system";
constexpr const char* k_usage_version = "v1beta1.metrics.k8s.io";
constexpr const char* k_usage_reader = "zoo-metrics-reader";
constexpr const char* k_api_services = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr const char* k_cluster_roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

json usage_service() {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", k_usage_service}, {"namespace", k_usage_space}}},
          {"spec", {{"type", "ExternalName"}, {"externalName", k_inside_name}}}};
}

/// Gives the right to read usage to the roles view, edit and admin, as the manifests of
/// metrics-server do.
json usage_reader() {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata",
           {{"name", k_usage_reader},
            {"labels",
             {{"rbac.authorization.k8s.io/aggregate-to-view", "true"},
              {"rbac.authorization.k8s.io/aggregate-to-edit", "true"},
              {"rbac.authorization.k8s.io/aggregate-to-admin", "true"}}}}},
          {"rules", json::array({{{"apiGroups", json::array({"metrics.k8s.io"})},
                                  {"resources", json::array({"pods", "nodes"})},
                                  {"verbs", json::array({"get", "list"})}}})}};
}

std::string system_services() {
  return kube::path({"api", "v1", "namespaces", k_usage_space, "services"});
}

/// Code::unavailable: upstream has it, and it does not answer.
Result<bool> upstream_serves(const SyncRoom& room) {
  const auto lease = room.upstream.take();
  const auto said = (*lease).get(std::string(k_usage_api));
  if (said) return true;
  if (said.error().code() != Code::not_found) return fail(said.error());
  ZOO_TRY_VOID(room.known_store(*lease, Store::upstream));
  return false;
}

/// Makes it, or makes it so. What somebody puts there at the same time stays until the next look.
/// `there`: as it was read.
Result<void> keep_object(ControlApi& api, const std::string& collection, json wanted,
                         const Result<json>& there) {
  if (!there && there.error().code() != Code::not_found) return fail(there.error());
  std::string where;
  if (there && upstream::covers(*there, wanted, where)) return {};
  if (there)
    wanted["metadata"]["resourceVersion"] = kube::text_at(*there, "/metadata/resourceVersion");
  const auto name = kube::text_at(wanted, "/metadata/name");
  const auto done =
      there ? api.update(collection + kube::path({name}), wanted) : api.create(collection, wanted);
  if (done || done.error().code() == Code::conflict || done.error().code() == Code::already_exists)
    return {};
  return fail(done.error());
}

/// What is put there beside the APIService.
Result<void> keep_beside(ControlApi& api) {
  const auto named = api.get(system_services() + kube::path({k_usage_service}));
  ZOO_TRY_VOID(keep_object(api, system_services(), usage_service(), named));
  return keep_object(api, k_cluster_roles, usage_reader(),
                     api.get(k_cluster_roles + kube::path({k_usage_reader})));
}

Result<void> remove_beside(ControlApi& api) {
  ZOO_TRY_VOID(api.remove_unless(k_cluster_roles + kube::path({k_usage_reader}), nullptr));
  return api.remove_unless(system_services() + kube::path({k_usage_service}), nullptr);
}

} // namespace

json usage_api(std::string_view authorities) {
  return {{"apiVersion", "apiregistration.k8s.io/v1"},
          {"kind", "APIService"},
          {"metadata", {{"name", k_usage_version}}},
          {"spec",
           {{"group", "metrics.k8s.io"},
            {"version", "v1beta1"},
            {"groupPriorityMinimum", 100},
            {"versionPriority", 100},
            {"service", {{"namespace", k_usage_space}, {"name", k_usage_service}, {"port", 443}}},
            {"caBundle", crypto::base64_encode(authorities)}}}};
}

bool is_own_usage_api(const json& api_service) {
  return kube::text_at(api_service, "/spec/service/name") == k_usage_service &&
         kube::text_at(api_service, "/spec/service/namespace") == k_usage_space;
}

Result<void> keep_usage_api(const SyncRoom& room) {
  const auto served = upstream_serves(room);
  if (!served) {
    log::debug("clusters", "{}: usage of pods: {}", room.id, served.error().text());
    return {};
  }
  ZOO_TRY(const auto access, room.access());
  const auto lease = room.own.take();
  ZOO_TRY_VOID(room.known_store(*lease, Store::cluster));
  const auto path = k_api_services + kube::path({k_usage_version});
  const auto there = (*lease).get(path);
  if (!there && there.error().code() != Code::not_found) return fail(there.error());
  if (there && !is_own_usage_api(*there)) return remove_beside(*lease);
  if (!*served) {
    if (!there) return {};
    // The APIService goes last: by it, it is known that there is something to take away.
    ZOO_TRY_VOID(remove_beside(*lease));
    return remove_of(*lease, path, kube::text_at(*there, "/metadata/uid"));
  }
  ZOO_TRY_VOID(keep_beside(*lease));
  return keep_object(*lease, k_api_services, usage_api(access.credentials.ca_pem), there);
}

} // namespace zoo::clusters::sync
