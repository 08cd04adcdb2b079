// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/cluster_tenants.hpp"

#include "daemon/tenants/records.hpp"
#include "daemon/tenants/service_impl.hpp"

namespace zoo::tenants {

Result<bool> TenantServiceImpl::OfClusters::make(std::string_view id, std::string_view owner) {
  auto there = read_tenant(service_.parts_.store, id);
  if (!there && there.error().code() == Code::not_found) {
    api::Tenant wanted;
    wanted.id = id;
    wanted.of_cluster = true;
    wanted.display_name = owner;
    wanted.inside = {false, false}; // its pods are led to the cluster's own API server
    there = service_.make(std::move(wanted), false);
  }
  if (!there) return fail(std::move(there).error());
  if (!there->of_cluster)
    return fail(Code::conflict,
                "tenant '{}' has the ID of virtual cluster {}, which can have nothing upstream "
                "before that tenant is deleted",
                id, owner);
  if (!there->deletion_timestamp.empty())
    return fail(Code::conflict, "what virtual cluster {} had upstream is still being deleted",
                owner);
  return there->phase == api::Phase::ready;
}

Result<std::optional<std::string>> TenantServiceImpl::OfClusters::remove(std::string_view id) {
  auto there = read_tenant(service_.parts_.store, id);
  if (there && !there->of_cluster) return std::nullopt; // another's, who took the ID
  if (there && there->deletion_timestamp.empty()) there = service_.end(id, {there->uid, {}}, false);
  if (!there && there.error().code() == Code::not_found) return std::nullopt;
  if (!there) return fail(std::move(there).error());
  return std::optional(there->waiting_for);
}

Result<void> TenantServiceImpl::OfClusters::open_namespace(upstream::ControlApi& api,
                                                           std::string_view id,
                                                           const std::string& upstream_name) {
  ZOO_TRY(const auto tenant, read_tenant(service_.parts_.store, id));
  if (!tenant.of_cluster || !tenant.deletion_timestamp.empty() ||
      !upstream_name.starts_with(tenant.id + "-"))
    return fail(Code::conflict, "namespace {} is not to be made for virtual cluster {}",
                upstream_name, id);
  return service_.controller_.open_namespace(api, tenant, upstream_name);
}

} // namespace zoo::tenants
