// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/quota_table.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/accounts/tenant_source.hpp"
#include "daemon/quota/judge.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Owners of quotas. An account is named by its name, a tenant by "tenant/ID". The functions have
/// no effects; any thread.
namespace zoo::accounts {

/// The name of a tenant as an owner; and its ID out of that, or "".
std::string tenant_owner(std::string_view id);
std::string_view tenant_of_owner(std::string_view owner);

/// An owner as it stands. Without limits: it has none, or is gone. `tenants`: null: there are none.
quota::Owner quota_owner(const State& state, const QuotaTable& table, const TenantSource* tenants,
                         const std::string& owner);

/// The owners whose limits hold in the namespaces of a tenant.
std::vector<std::string> owners_of_tenant(std::string_view id, const TenantTerms& terms);

/// Annotation of a slice in a tenant's namespace: whose it is, "account.NAME" or "tenant.ID". The
/// tenant does not see it. In a space k_account_label says it.
inline constexpr std::string_view k_quota_of = "zoo.kubezoo.io/quota-of";

/// `metadata` of a slice; `in_tenant`: in a tenant's namespace. In a space upstream's garbage
/// collector removes it with the Account; in a tenant's namespace nothing of it may lead out of the
/// tenant, and zood removes it.
nlohmann::json slice_metadata(const State& state, const std::string& owner, std::string_view space,
                              std::string_view name, bool in_tenant);

} // namespace zoo::accounts
