// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/backing.hpp"
#include "daemon/tenants/service.hpp"

namespace zoo::admin {

/// Tenants as the API room reads and writes them: every administrator sees all, and all calls
/// block as the service's do.
class TenantBacking final : public resources::Backing {
public:
  explicit TenantBacking(tenants::TenantService& service) : service_(service) {}

  Result<resources::ObjectPtr> get(const resources::Who& caller,
                                   const resources::Key& key) override;
  Result<resources::Page> list(const resources::Who& caller, std::string_view space,
                               const resources::Key& after, std::size_t limit) override;
  Result<std::unique_ptr<resources::Subscription>>
  watch(const resources::Who& caller, std::int64_t revision,
        std::function<void(const resources::Change&)> on_change) override;
  Result<resources::Written> create(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> update(const resources::Who& caller, nlohmann::json object,
                                    const resources::WriteOptions& options) override;
  Result<resources::Written> remove(const resources::Who& caller, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options) override;

private:
  tenants::TenantService& service_;
};

} // namespace zoo::admin
