// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_owners.hpp"

#include "daemon/accounts/bindings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace zoo::accounts {
namespace {

using nlohmann::json;

constexpr std::string_view k_tenant_owner = "tenant/";
/// The name of a tenant's own quota in refusals, as that of its ceilings.
constexpr std::string_view k_tenants_quota = "tenant";

void add_spaces(quota::Owner& out, const State& state, const std::string& id) {
  const auto known = state.spaces_of_tenant.find(id);
  if (!known) return;
  for (const auto& name : known->names) {
    out.spaces.insert(name);
    out.prefixes.emplace(name, id + '-');
  }
}

quota::Owner of_tenant(const State& state, const TenantSource* tenants, const std::string& id) {
  quota::Owner out;
  out.title = "all namespaces";
  out.kind = quota::OwnerKind::tenant;
  const auto terms = tenants == nullptr ? std::nullopt : tenants->terms(id);
  if (!terms || terms->hard.empty()) return out;
  const quota::QuotaSpec only[] = {
      {std::string(k_tenants_quota), fmt::format(R"({{"hard":{}}})", terms->hard)}};
  out.limits = quota::limits_of(only);
  for (auto& limit : out.limits)
    limit.slice_name = quota::k_tenant_slice;
  add_spaces(out, state, id);
  return out;
}

} // namespace

std::string tenant_owner(std::string_view id) { return fmt::format("{}{}", k_tenant_owner, id); }

std::string_view tenant_of_owner(std::string_view owner) {
  if (!owner.starts_with(k_tenant_owner)) return {};
  return owner.substr(k_tenant_owner.size());
}

quota::Owner quota_owner(const State& state, const QuotaTable& table, const TenantSource* tenants,
                         const std::string& owner) {
  if (const auto id = tenant_of_owner(owner); !id.empty())
    return of_tenant(state, tenants, std::string(id));
  quota::Owner out;
  out.title = fmt::format("account {}", owner);
  const auto account = state.accounts.find(owner);
  if (!account || account->deleting) return out;
  out.limits = quota::limits_of(table.quotas_of(owner));
  if (const auto known = state.spaces_of_account.find(owner))
    out.spaces.insert(known->names.begin(), known->names.end());
  if (tenants != nullptr && !out.limits.empty())
    for (const auto& id : tenants->of_account(owner))
      add_spaces(out, state, id);
  return out;
}

std::vector<std::string> owners_of_tenant(std::string_view id, const TenantTerms& terms) {
  std::vector<std::string> out;
  if (!terms.hard.empty()) out.push_back(tenant_owner(id));
  if (!terms.account.empty()) out.push_back(terms.account);
  return out;
}

json slice_metadata(const State& state, const std::string& owner, std::string_view space,
                    std::string_view name, bool in_tenant) {
  const auto tenant = tenant_of_owner(owner);
  const auto account = state.accounts.find(owner);
  if (account && !in_tenant) return kept_metadata(space, name, *account);
  const auto whose =
      tenant.empty() ? fmt::format("account.{}", owner) : fmt::format("tenant.{}", tenant);
  return {{"name", name},
          {"namespace", space},
          {"labels", {{k_managed_label, "true"}}},
          {"annotations", {{k_quota_of, whose}}}};
}

} // namespace zoo::accounts
