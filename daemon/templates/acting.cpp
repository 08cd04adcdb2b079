// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/acting.hpp"

#include "daemon/upstream/upstream_rbac.hpp"

namespace zoo::templates {

upstream::ActingConnections::Lease Acting::take(const std::string& group,
                                                const std::string& tenant) {
  return connections_.take([&](upstream::ActingApi& api) {
    if (tenant.empty()) {
      api.act_as(k_user, {group});
    } else {
      api.act_as(std::string(upstream::k_tenant_user_prefix) + tenant,
                 {std::string(upstream::k_tenants_group), group});
    }
  });
}

} // namespace zoo::templates
