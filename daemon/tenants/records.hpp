// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/directory.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// Tenants as records of the store: kind "tenant", value = the Tenant as JSON. The store's revision
/// is the resourceVersion.
namespace zoo::tenants {

inline constexpr std::string_view k_tenant_kind = "tenant";
inline constexpr std::string_view k_credential_kind = "credential";
/// The condition of a tenant whose in-cluster address is published, or known not to be reachable.
inline constexpr std::string_view k_webhooks_relayed = "WebhooksRelayed";
inline constexpr std::string_view k_in_cluster = "InClusterAccess";

std::string now_text();                                                  ///< RFC 3339
std::string time_text(std::chrono::system_clock::time_point time);       ///< the same
std::chrono::system_clock::time_point parse_time(std::string_view text); ///< the epoch if broken

Result<api::Tenant> tenant_of(const store::Record& record);
Result<api::Tenant> read_tenant(store::Store& store, std::string_view id);

/// Writes with the tenant's resource_version as precondition (0: must not exist); returns it with
/// the new one.
Result<api::Tenant> write_tenant(store::Store& store, const api::Tenant& tenant);

/// Reads, changes, writes, and again if somebody else wrote in between. `change` says false if
/// there is nothing to write. Code::conflict if the tenant is another one by now (`uid`).
Result<api::Tenant> change_tenant(store::Store& store, std::string_view id, std::string_view uid,
                                  const std::function<bool(api::Tenant&)>& change);

std::shared_ptr<const TenantEntry> entry_of(const api::Tenant& tenant);
/// The same of its record. Null for one that cannot be read: said in the log.
std::shared_ptr<const TenantEntry> read_entry(const store::Record& record);

/// Keeps a TenantDirectory equal to the store: a list in pages at start, then the watch. The
/// directory's only writer (from the store's thread). A record that cannot be read is logged and
/// its tenant is not admitted.
class DirectoryFeeder {
public:
  static Result<std::unique_ptr<DirectoryFeeder>> start(store::Store& store,
                                                        TenantDirectory& directory);

private:
  store::Subscription subscription_;
};

} // namespace zoo::tenants
