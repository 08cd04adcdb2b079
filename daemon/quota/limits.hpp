// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/scopes.hpp"
#include "daemon/quota/shares.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

/// What an owner may use, put together from all its quotas. Pure: any thread.
namespace zoo::quota {

/// One quota of an owner: its name, and a ResourceQuotaSpec as JSON.
struct QuotaSpec {
  std::string name;
  std::string spec;
};

/// How much of the objects in one set of scopes an owner may have, in all its namespaces together.
struct Limit {
  std::vector<Scope> scopes;
  ResourceList hard;                                    ///< of each name the lowest of all quotas
  std::map<std::string, std::string, std::less<>> from; ///< by name of `hard`: whose that is
  /// The name of the ResourceQuota that is a namespace's slice of it: k_slice, behind it 8 hex
  /// digits for the scopes where there are any.
  std::string slice_name;
  bool operator==(const Limit&) const = default;
};

inline constexpr std::string_view k_slice = "zoo-quota";
/// The slice of a tenant's own limit, beside which there may be those of an account. It begins with
/// k_slice, as all of them do.
inline constexpr std::string_view k_tenant_slice = "zoo-quota-tenant";

/// One Limit for each set of scopes. Quotas that cannot be read are left out, and of each quota the
/// names that no ResourceQuota may have: one of them would keep all others from being held.
std::vector<Limit> limits_of(std::span<const QuotaSpec> quotas);
/// What of a quota is left out so, and why, as sentences; "": nothing.
std::string trouble_of(const QuotaSpec& quota);

/// The `spec` of a slice as JSON: these amounts, and the limit's scopes.
std::string slice_spec(const Limit& limit, const ResourceList& hard);
/// A resource list as JSON.
std::string resources_json(const ResourceList& list);

/// Reads a ResourceQuota that is a slice; what is no quantity counts as nothing.
Slice read_slice(translate::JsonNode resource_quota);

} // namespace zoo::quota
