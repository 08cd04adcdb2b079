// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/records.hpp"

#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/entry_scan.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

namespace zoo::tenants {
namespace {

constexpr int k_attempts = 20;
constexpr std::size_t k_records_page = 500;

std::string text_of(const api::Tenant& tenant) {
  auto copy = tenant;
  copy.resource_version = 0; // the store's revision is the truth
  return api::to_json(copy).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_true(const api::Tenant& tenant, std::string_view condition) {
  const auto* found = tenant.condition(condition);
  return found != nullptr && found->status == "True";
}

} // namespace

std::shared_ptr<const TenantEntry> read_entry(const store::Record& record) {
  if (auto entry = scan_entry(record)) return entry;
  const auto tenant = tenant_of(record);
  if (tenant) return entry_of(*tenant);
  log::error("tenants", "tenant {} is not admitted: {}", record.key, tenant.error().text());
  return nullptr;
}

std::string now_text() { return api::rfc3339(kube::unix_now()); }

std::string time_text(std::chrono::system_clock::time_point time) {
  return api::rfc3339(std::chrono::system_clock::to_time_t(time));
}

std::chrono::system_clock::time_point parse_time(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  if (::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

Result<api::Tenant> tenant_of(const store::Record& record) {
  const auto stored = nlohmann::json::parse(record.value, nullptr, false);
  if (stored.is_discarded()) {
    return fail(Code::internal, "the record of tenant {} in zood's store is not JSON", record.key);
  }
  auto tenant = api::from_json(stored);
  if (!tenant) {
    return fail(
        std::move(tenant).error().context("while reading the record of tenant {}", record.key));
  }
  tenant->resource_version = record.revision;
  return tenant;
}

Result<api::Tenant> read_tenant(store::Store& store, std::string_view id) {
  const auto record = store.get(k_tenant_kind, id);
  if (!record) {
    if (record.error().code() == Code::not_found) {
      return fail(Code::not_found, "there is no tenant '{}'", id);
    }
    return fail(record.error());
  }
  return tenant_of(*record);
}

Result<api::Tenant> write_tenant(store::Store& store, const api::Tenant& tenant) {
  ZOO_TRY(const auto record,
          store.put(k_tenant_kind, tenant.id, text_of(tenant), tenant.resource_version));
  auto out = tenant;
  out.resource_version = record.revision;
  return out;
}

Result<api::Tenant> change_tenant(store::Store& store, std::string_view id, std::string_view uid,
                                  const std::function<bool(api::Tenant&)>& change) {
  for (int attempt = 1;; ++attempt) {
    ZOO_TRY(auto tenant, read_tenant(store, id));
    if (!uid.empty() && tenant.uid != uid) {
      return fail(Code::conflict, "tenant '{}' is another one by now", id);
    }
    if (!change(tenant)) return tenant;
    auto written = write_tenant(store, tenant);
    if (written || written.error().code() != Code::conflict || attempt == k_attempts) {
      return written;
    }
  }
}

std::shared_ptr<const TenantEntry> entry_of(const api::Tenant& tenant) {
  auto entry = std::make_shared<TenantEntry>();
  entry->id = tenant.id;
  entry->uid = tenant.uid;
  entry->created = tenant.creation_timestamp;
  entry->revision = tenant.resource_version;
  entry->audit = tenant.audit;
  entry->account = tenant.account;
  entry->webhooks_direct = tenant.webhooks == api::k_webhooks_direct;
  entry->inside = tenant.inside;
  entry->of_cluster = tenant.of_cluster;
  entry->credential_epoch = tenant.credentials.epoch;
  if (const auto& from = tenant.credentials.not_before; !from.empty()) {
    entry->tokens_after = std::chrono::system_clock::to_time_t(parse_time(from));
  }
  for (const auto& revoked : tenant.credentials.revoked)
    entry->revoked_serials.insert(revoked.serial);
  switch (tenant.phase) {
  case api::Phase::none:
  case api::Phase::pending:
    entry->phase = Phase::pending;
    break;
  case api::Phase::ready:
    entry->phase = Phase::ready;
    break;
  case api::Phase::suspended:
    entry->phase = Phase::suspended;
    break;
  case api::Phase::deleting:
    entry->phase = Phase::deleting;
    break;
  case api::Phase::failed:
    entry->phase = Phase::failed;
    break;
  }
  if (tenant.suspended && entry->admits()) entry->phase = Phase::suspended;
  if (!tenant.deletion_timestamp.empty()) entry->phase = Phase::deleting;
  entry->settled = is_true(tenant, "Ready") && is_true(tenant, "Populated") &&
                   tenant.condition(k_in_cluster) != nullptr &&
                   tenant.observed_generation == tenant.generation &&
                   tenant.deletion_timestamp.empty();
  entry->expiring = is_true(tenant, k_expiring);
  if (auto terms = api::terms_of(tenant)) {
    entry->terms = *std::move(terms);
  } else { // an older zood took what this one does not understand
    log::error("tenants", "tenant {} is served by zood.yaml's terms: {}", tenant.id,
               terms.error().text());
  }
  return entry;
}

Result<std::unique_ptr<DirectoryFeeder>> DirectoryFeeder::start(store::Store& store,
                                                                TenantDirectory& directory) {
  auto out = std::make_unique<DirectoryFeeder>();
  std::string after;
  // The pages that were read, each with the last key in it and the moment at which it was true.
  std::vector<std::pair<std::string, std::int64_t>> pages;
  std::vector<TenantSnapshot::Entry> entries;
  for (;;) {
    ZOO_TRY(const auto page, store.list(k_tenant_kind, {}, after, k_records_page));
    pages.emplace_back(page.records.empty() ? after : page.records.back().key, page.revision);
    for (const auto& record : page.records) {
      if (auto entry = read_entry(record)) entries.push_back(std::move(entry));
    }
    if (!page.more || page.records.empty()) break;
    after = page.records.back().key;
  }
  directory.fill(std::move(entries));
  // The watch begins at the first page's moment. Of a key in a later page it tells changes that the
  // page holds already: they must not put an older record over a newer one.
  const auto first = pages.front().second;
  const auto held = [pages = std::move(pages)](const store::Record& record) {
    const auto page =
        std::lower_bound(pages.begin(), pages.end(), record.key,
                         [](const auto& each, const std::string& key) { return each.first < key; });
    return record.revision <= (page == pages.end() ? pages.back() : *page).second;
  };
  ZOO_TRY(out->subscription_,
          store.watch(k_tenant_kind, first, [&directory, held](const store::Change& change) {
            if (held(change.record)) return;
            auto entry =
                change.type == store::Change::Type::removed ? nullptr : read_entry(change.record);
            if (entry) {
              directory.set(std::move(entry));
            } else {
              directory.remove(change.record.key);
            }
          }));
  return out;
}

} // namespace zoo::tenants
