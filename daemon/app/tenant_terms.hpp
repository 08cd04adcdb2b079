// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/tenant_source.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/translate/mapping.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::app {

/// The Tenants as quotas and templates see them: out of the directory's snapshot. Any thread.
class TenantTermsSource final : public accounts::TenantSource {
public:
  using Snapshot = std::shared_ptr<const tenants::TenantSnapshot>;
  using Names = std::shared_ptr<const translate::SharedNames>;
  TenantTermsSource(std::function<Snapshot()> snapshot, std::function<Names()> names)
      : snapshot_(std::move(snapshot)), names_(std::move(names)) {}

  std::optional<accounts::TenantTerms> terms(std::string_view id) const override;
  std::vector<std::string> of_account(std::string_view account) const override;
  std::vector<std::string> concerned() const override;
  Result<nlohmann::json> inward(std::string_view id, const nlohmann::json& object) const override;

private:
  /// What is looked up by something else than an ID; of one snapshot.
  struct Index {
    Snapshot of;
    std::map<std::string, std::vector<std::string>, std::less<>> by_account;
    std::vector<std::string> concerned;
  };
  std::shared_ptr<const Index> index() const;

  const std::function<Snapshot()> snapshot_;
  const std::function<Names()> names_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Index> index_; ///< under mutex_
};

/// The names of a tenant's ResourceQuota as upstream's has them: its own groups and storage classes
/// carry the prefix. Pure.
std::string hard_name_in(const translate::Mapping& mapping, std::string_view name);

/// An object of a template in a tenant's words as it is stored upstream, proven to be the tenant's.
/// Pure. Errors as accounts::TenantSource::inward() says.
Result<nlohmann::json> template_object_in(const translate::Mapping& mapping,
                                          const nlohmann::json& object);

} // namespace zoo::app
