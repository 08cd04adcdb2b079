// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"
#include "common/backup/archive.hpp"
#include "common/backup/passphrase.hpp"
#include "common/backup/verify.hpp"
#include "common/base/file.hpp"
#include "common/kube/age.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/app/backup.hpp"
#include "daemon/app/stores.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <system_error>
#include <utility>

namespace zoo::app {
namespace {

using nlohmann::json;

/// Between the versions before and those behind it; no store makes so many writes in a year.
constexpr std::int64_t k_leap = 1'000'000'000;
constexpr std::int64_t k_greatest = std::int64_t{1} << 60;
constexpr std::size_t k_most_of_file = backup::k_most_bytes + (16u << 20);

Result<void> check_empty(const std::filesystem::path& directory) {
  std::error_code failed;
  const auto begin = std::filesystem::directory_iterator(directory, failed);
  if (failed == std::errc::no_such_file_or_directory) return {};
  if (failed) return fail(Code::io, "cannot read {}: {}", directory.string(), failed.message());
  if (begin == std::filesystem::directory_iterator()) return {};
  return fail(Code::conflict,
              "{} is not empty, and a restored state beside another one would destroy both: stop "
              "zood, move the directory away, and make an empty one",
              directory.string());
}

Result<backup::Content> read_backup(const std::filesystem::path& path,
                                    const std::filesystem::path& passphrase_file) {
  std::optional<Secret> passphrase;
  if (!passphrase_file.empty()) {
    ZOO_TRY(passphrase, backup::read_passphrase(passphrase_file));
  }
  ZOO_TRY(const auto sealed, file::read(path, k_most_of_file));
  ZOO_TRY(const auto text, backup::open(sealed, passphrase ? &*passphrase : nullptr));
  ZOO_TRY(auto content, backup::read_content(text.view()));
  if (const auto problems = backup::problems_of(content); !problems.empty())
    return fail(Code::invalid, "{}: zood would not work with it", problems.front());
  if (content.header.revision < 0 || content.header.revision > k_greatest)
    return fail(Code::invalid, "its revision is no store's");
  return content;
}

/// A state that serves one upstream would take another one's namespaces for its tenants'.
Result<void> check_same_upstream(const config::Values& values, const backup::Header& header) {
  if (header.upstream.empty()) return {}; // it was not known
  const auto kubeconfig = values.path("upstream.kubeconfig");
  if (kubeconfig.empty())
    return fail(Code::usage, "no upstream is named, and the backup is of one: give --upstream "
                             "KUBECONFIG, or set upstream.kubeconfig in the configuration file");
  ZOO_TRY(auto access, kube::load_kubeconfig(kubeconfig));
  const auto server = access.server;
  const auto room = upstream::KubeApi(std::move(access)).get("/api/v1/namespaces/kube-system");
  if (!room) {
    auto error = room.error();
    return fail(std::move(error).context("asking the upstream whether the backup is of it"));
  }
  const auto uid = room->value("/metadata/uid"_json_pointer, std::string());
  if (uid == header.upstream) return {};
  return fail(
      Code::conflict,
      "the backup is of another upstream, whose namespace kube-system has UID {}; this one's "
      "({}) has {}: set upstream.kubeconfig to the cluster that the backup is of",
      header.upstream, server, uid);
}

/// More than anybody says `tenant revoke --all` between a backup and its restore.
constexpr std::int64_t k_epochs = 1'000;

/// Raises the epoch of every tenant, so that no certificate that was issued before is honoured.
Result<void> make_void(backup::Content& content) {
  for (auto& entry : content.records) {
    if (entry.kind != tenants::k_tenant_kind) continue;
    auto tenant = json::parse(entry.value.view(), nullptr, false);
    const auto place = "/status/credentials/epoch"_json_pointer;
    if (!tenant.is_object() || (tenant.contains(place) && !tenant[place].is_number_integer()))
      return fail(Code::invalid, "tenant {}: its record has no epoch", entry.key);
    tenant[place] = tenant.value(place, std::int64_t{0}) + k_epochs;
    entry.value = Secret(tenant.dump());
  }
  return {};
}

store::Snapshot snapshot_of(const backup::Content& content, bool revoked) {
  store::Snapshot out;
  out.revision = content.header.revision + k_leap;
  for (const auto& entry : content.records) {
    out.records.push_back({entry.kind, entry.key, std::string(entry.value.view()), entry.revision,
                           entry.created_revision});
  }
  if (revoked) return out; // there is nothing left to warn of
  const auto from = kube::unix_seconds(content.header.created);
  out.records.push_back(
      {"backup", "restored", json{{"time", from}}.dump(), out.revision, out.revision});
  return out;
}

} // namespace

Result<std::string> restore(const config::Values& values, const RestoreRequest& request) {
  const auto directory = values.path("dir");
  ZOO_TRY_VOID(check_empty(directory));
  auto content = read_backup(request.file, request.passphrase_file);
  if (!content)
    return fail(std::move(content).error().context("in the backup {}", request.file.string()));
  ZOO_TRY_VOID(check_same_upstream(values, content->header));
  if (request.revoke_all) ZOO_TRY_VOID(make_void(*content));
  ZOO_TRY_VOID(file::ensure_private_directory(directory));
  // The store first: without these files no zood starts beside it, but one would start anew beside
  // files without a store.
  ZOO_TRY(auto opened, open_store(values, true));
  ZOO_TRY_VOID(opened.store->load(snapshot_of(*content, request.revoke_all)));
  ZOO_TRY_VOID(file::ensure_private_directory(directory / "pki"));
  for (const auto& each : content->files)
    ZOO_TRY_VOID(file::write_secret(directory / each.name, each.bytes.view()));
  return fmt::format("restored the state of {} into {}: {} records, {} files. Start zood, and see "
                     "`zooctl doctor`",
                     content->header.created, directory.string(), content->records.size(),
                     content->files.size());
}

} // namespace zoo::app
