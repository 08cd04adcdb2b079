// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/backup.hpp"

#include "common/api/tenant.hpp"
#include "common/backup/content.hpp"
#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/kube/age.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace zoo::app {
namespace {

using nlohmann::json;

constexpr std::string_view k_backup_kind = "backup"; ///< of records; never restored
constexpr std::string_view k_last = "last", k_restored = "restored";

Result<void> add_file(std::vector<backup::File>& out, const std::filesystem::path& path,
                      std::string name) {
  auto bytes = file::read_secret(path);
  if (!bytes && bytes.error().code() == Code::not_found) return {};
  if (!bytes) return fail(std::move(bytes).error());
  out.push_back({std::move(name), *std::move(bytes)});
  return {};
}

/// master.key, all of pki, and the upstream's kubeconfig.
Result<std::vector<backup::File>> files_of(const BackupParts& parts) {
  std::vector<backup::File> out;
  ZOO_TRY_VOID(add_file(out, parts.directory / "master.key", "master.key"));
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(parts.directory / "pki", failed), end;
       !failed && it != end; it.increment(failed)) {
    if (it->is_regular_file(failed)) names.push_back("pki/" + it->path().filename().string());
  }
  if (failed)
    return fail(Code::io, "cannot read {}: {}", (parts.directory / "pki").string(),
                failed.message());
  std::sort(names.begin(), names.end());
  for (auto& name : names) {
    if (!backup::is_file_name(name)) continue; // not one of zood's own
    const auto path = parts.directory / name;
    ZOO_TRY_VOID(add_file(out, path, std::move(name)));
  }
  ZOO_TRY_VOID(add_file(out, parts.kubeconfig, "upstream.kubeconfig"));
  return out;
}

} // namespace

Result<Secret> Backups::make() {
  const std::scoped_lock lock(making_);
  backup::Content content;
  content.header.version = ZOO_VERSION;
  content.header.created = api::rfc3339(parts_.now());
  content.header.upstream = parts_.upstream_uid();
  // Files first: a key that is made afterwards is of no record that is in the backup.
  ZOO_TRY(content.files, files_of(parts_));
  ZOO_TRY(auto all, parts_.store.snapshot());
  content.header.revision = all.revision;
  for (auto& record : all.records) {
    if (record.kind == k_backup_kind) continue;
    content.records.push_back({std::move(record.kind), std::move(record.key),
                               Secret(std::move(record.value)), record.revision,
                               record.created_revision});
  }
  ZOO_TRY(auto text, backup::text_of(content));
  ZOO_TRY_VOID(parts_.store.put(k_backup_kind, k_last, json{{"time", parts_.now()}}.dump()));
  return text;
}

Result<void> Backups::acknowledge() {
  auto done = parts_.store.remove(k_backup_kind, k_restored);
  if (done || done.error().code() == Code::not_found) return {};
  return fail(std::move(done).error());
}

std::int64_t Backups::time_of(std::string_view key) const {
  const auto record = parts_.store.get(k_backup_kind, key);
  if (!record) return -1;
  const auto value = json::parse(record->value, nullptr, false);
  const auto time = value.is_object() ? value.value("time", json()) : json();
  return time.is_number_integer() ? time.get<std::int64_t>() : -1;
}

/// What this state was restored from is a backup of it, too.
std::int64_t Backups::last() const { return std::max(time_of(k_last), time_of(k_restored)); }

std::optional<tenants::Finding> backup_finding(std::int64_t last, std::int64_t began,
                                               std::int64_t now) {
  constexpr std::chrono::seconds k_old = std::chrono::hours(48);
  const auto age = now - (last < 0 ? began : last);
  if (age <= k_old.count()) return {};
  return tenants::Finding{
      tenants::Finding::Level::warning, "backup",
      last < 0 ? "zood knows of none, and with this state goes the CA that all kubeconfigs trust"
               : fmt::format("the last one was made {} ago", kube::human_duration(age)),
      last < 0 ? "`zooctl backup create`, and let zood-backup.timer run: docs/backup.md"
               : "`zooctl backup create`; does zood-backup.timer run?"};
}

std::vector<tenants::Finding> Backups::findings() const {
  using Level = tenants::Finding::Level;
  std::vector<tenants::Finding> out;
  if (const auto from = time_of(k_restored); from >= 0) {
    out.push_back({Level::warning, "restored state",
                   fmt::format("this state is that of a backup of {}: certificates that were "
                               "revoked since are accepted again",
                               api::rfc3339(from)),
                   "`zooctl tenant revoke ID --all` for every tenant of which you are not sure "
                   "(docs/backup.md), then `zooctl backup acknowledge`"});
  }
  if (auto old = backup_finding(last(), parts_.began, parts_.now())) out.push_back(*std::move(old));
  return out;
}

void Backups::measure(MetricText& out) const {
  const auto made = last();
  if (made < 0) return;
  out.family("zood_backup_age_seconds", MetricText::Type::gauge, "Since the last backup was made");
  out.sample(static_cast<double>(std::max<std::int64_t>(0, parts_.now() - made)));
}

} // namespace zoo::app
