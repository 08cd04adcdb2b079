// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "daemon/admin/server.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/service.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::app {

/// What backups are made of; all of it outlives them.
struct BackupParts {
  store::Store& store;
  std::filesystem::path directory;           ///< zood's
  std::filesystem::path kubeconfig;          ///< the upstream's
  std::function<std::string()> upstream_uid; ///< of its kube-system; "": not known. May block.
  std::function<std::int64_t()> now;         ///< Unix seconds
  std::int64_t began = 0;                    ///< Unix seconds: when this state was made
};

/// What doctor says of the last backup; nothing where there is nothing to do. All in Unix seconds;
/// `last` -1: there was none of a state that `began` then.
std::optional<tenants::Finding> backup_finding(std::int64_t last, std::int64_t began,
                                               std::int64_t now);

/// zood's state as a backup holds it, made while zood runs: the records at one moment, and the
/// files that belong to them (docs/backup.md). Remembers in the store when the last one was made,
/// and whether this state was itself restored. Any thread; calls block for the disk.
class Backups final : public admin::BackupSource {
public:
  explicit Backups(BackupParts parts) : parts_(std::move(parts)) {}

  Result<Secret> make() override;
  Result<void> acknowledge() override;
  std::vector<tenants::Finding> findings() const; ///< for doctor
  void measure(MetricText& out) const;            ///< zood_backup_age_seconds, if there was one

private:
  std::int64_t time_of(std::string_view key) const; ///< -1: there is no such record
  std::int64_t last() const;                        ///< when the last one was made; -1: none
  const BackupParts parts_;
  std::mutex making_;
};

/// `zood --restore`: puts what the backup `file` holds into the directory of `values`, which has to
/// be empty, so that a zood can be started there; its versions are far above those that were handed
/// out before, so that who watches lists again.
/// Says what was restored. Code::conflict: something is there already, or the upstream is not the
/// one that the backup is of; Code::unavailable: it cannot be asked which it is; Code::invalid:
/// damaged, or it would not work; Code::forbidden: another passphrase; Code::io.
struct RestoreRequest {
  std::filesystem::path file;
  std::filesystem::path passphrase_file; ///< "" for a backup that needs none
  /// All certificates of all tenants that were ever issued are void, those of after the backup too.
  bool revoke_all = false;
};
Result<std::string> restore(const config::Values& values, const RestoreRequest& request);

} // namespace zoo::app
