// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/tenant_backing.hpp"

#include "common/api/tenant.hpp"

#include <nlohmann/json.hpp>

namespace zoo::admin {
namespace {

using nlohmann::json;
using resources::ObjectPtr;

ObjectPtr object_of(const api::Tenant& tenant) {
  return resources::make_object(api::to_json(tenant));
}

Result<ObjectPtr> shown(const Result<api::Tenant>& tenant) {
  if (!tenant) return fail(tenant.error());
  return object_of(*tenant);
}

Result<resources::Written> written(const Result<api::Tenant>& tenant) {
  if (!tenant) return fail(tenant.error());
  return resources::Written{object_of(*tenant)};
}

class TenantSubscription final : public resources::Subscription {
public:
  explicit TenantSubscription(std::unique_ptr<tenants::Subscription> inner)
      : inner_(std::move(inner)) {}

private:
  std::unique_ptr<tenants::Subscription> inner_;
};

resources::Change change_of(const tenants::TenantChange& change) {
  using From = tenants::TenantChange::Type;
  using To = resources::Change::Type;
  const auto type = change.type == From::added     ? To::added
                    : change.type == From::deleted ? To::deleted
                                                   : To::modified;
  return {type, object_of(change.tenant), change.tenant.resource_version};
}

} // namespace

Result<ObjectPtr> TenantBacking::get(const resources::Who&, const resources::Key& key) {
  return shown(service_.get(key.name));
}

Result<resources::Page> TenantBacking::list(const resources::Who&, std::string_view,
                                            const resources::Key& after, std::size_t limit) {
  ZOO_TRY(const auto page, service_.list(after.name, limit));
  resources::Page out;
  out.revision = page.revision;
  for (const auto& tenant : page.items)
    out.items.push_back(object_of(tenant));
  if (!page.next.empty()) out.next = resources::Key{{}, page.next};
  return out;
}

Result<std::unique_ptr<resources::Subscription>>
TenantBacking::watch(const resources::Who&, std::int64_t revision,
                     std::function<void(const resources::Change&)> on_change) {
  ZOO_TRY(auto inner, service_.watch(revision, [on_change = std::move(on_change)](
                                                   const tenants::TenantChange& change) {
    on_change(change_of(change));
  }));
  return std::make_unique<TenantSubscription>(std::move(inner));
}

Result<resources::Written> TenantBacking::create(const resources::Who&, json object,
                                                 const resources::WriteOptions& options) {
  ZOO_TRY(auto tenant, api::from_json(object));
  return written(service_.create(std::move(tenant), options.dry_run));
}

Result<resources::Written> TenantBacking::update(const resources::Who&, json object,
                                                 const resources::WriteOptions& options) {
  ZOO_TRY(auto tenant, api::from_json(object));
  return written(service_.update(std::move(tenant), options.dry_run));
}

Result<resources::Written> TenantBacking::remove(const resources::Who&, const resources::Key& key,
                                                 const resources::Preconditions& expected,
                                                 const resources::WriteOptions& options) {
  return written(
      service_.remove(key.name, {expected.uid, expected.resource_version}, options.dry_run));
}

} // namespace zoo::admin
