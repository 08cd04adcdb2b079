// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_calls.hpp"

#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/tenant_room.hpp"

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr std::string_view k_strategic = "application/strategic-merge-patch+json";
constexpr std::string_view k_metadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

} // namespace

std::string PodKey::path() const {
  return kube::path({"api", "v1", "namespaces", space, "pods", name});
}

std::string PodKey::path_there(const std::string& id) const {
  return kube::path({"api", "v1", "namespaces", upstream_namespace(id, space), "pods", name});
}

Result<void> patch_pod(upstream::ControlApi& api, const std::string& path, const json& patch) {
  ZOO_TRY(const auto answer,
          api.request("PATCH", path, k_strategic, kube::text_of(patch), k_metadata));
  if (answer.status < 200 || answer.status > 299) return fail(kube::error_of(answer));
  return {};
}

Result<void> patch_status(upstream::ControlApi& api, const PodKey& key, const json& patch) {
  return patch_pod(api, key.path() + "/status", patch);
}

} // namespace zoo::clusters::sync
