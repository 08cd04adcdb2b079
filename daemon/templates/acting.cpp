// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/acting.hpp"

#include "daemon/upstream/upstream_rbac.hpp"

namespace zoo::templates {

Acting::Lease::~Lease() {
  const std::lock_guard lock(from_.mutex_);
  from_.idle_.push_back(std::move(api_));
}

Acting::Lease Acting::take(const std::string& group, const std::string& tenant) {
  std::unique_ptr<upstream::ActingApi> api;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      api = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!api) api = connect_();
  if (tenant.empty()) {
    api->act_as(k_user, {group});
  } else {
    api->act_as(std::string(upstream::k_tenant_user_prefix) + tenant,
                {std::string(upstream::k_tenants_group), group});
  }
  return {*this, std::move(api)};
}

} // namespace zoo::templates
