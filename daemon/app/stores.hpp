// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "common/config/config.hpp"
#include "common/config/store_place.hpp"
#include "daemon/admin/server.hpp"
#include "daemon/store/held.hpp"
#include "daemon/store/lock.hpp"
#include "daemon/store/session.hpp"
#include "daemon/store/timed.hpp"
#include "daemon/tenants/service.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::app {

/// The store that the configuration names, with the lock of zood's directory.
struct OpenedStore {
  std::optional<store::DirectoryLock> lock; ///< released last
  std::unique_ptr<store::HeldStore> store;
  const store::TimedStore* timed = nullptr; ///< within `store`
};

/// Code::usage: its records were moved elsewhere, or the configuration names no store that can be.
/// Else the errors of open_sqlite() and open_etcd(). A store that was just migrated is taken into
/// use, unless it is to be filled (`empty`: restore).
Result<OpenedStore> open_store(const config::Values& values, bool empty = false);

/// What this zood is to the others that have its store open; `started` in Unix seconds.
store::Replica own_replica(const config::Values& values, std::int64_t started);
/// Replica::info: {"version", "started", "settings", "admin"}; settings: agreed_settings(); `admin`
/// is the URL of its TLS door for administrators, "" while it has none.
std::string replica_info(const config::Values& values, std::int64_t started,
                         const std::string& admin);
/// What `zooctl doctor` says of the zoods that have the store open, of which `own` is this one's
/// name: that nobody leads, that their versions or settings differ. Pure.
std::vector<tenants::Finding> findings_of(const std::vector<store::Replica>& all,
                                          std::string_view own);

/// What `zooctl doctor` says of them; `all` is not empty.
tenants::Finding finding_of(const std::vector<store::Member>& all);

/// `zooctl store migrate`: moves the records of the running zood into another store. Any thread;
/// blocks for as long as copying takes.
class StoreMigration final : public admin::StoreSource {
public:
  StoreMigration(store::HeldStore& store, store::Session& session, config::StorePlace here,
                 std::filesystem::path directory)
      : store_(store), session_(session), here_(std::move(here)), directory_(std::move(directory)) {
  }

  Result<nlohmann::json> state() override;
  Result<nlohmann::json> migrate(const nlohmann::json& wish) override;
  Result<Secret> invite() override;
  std::vector<tenants::Finding> findings() const; ///< for doctor
  void measure(MetricText& out) const;            ///< zood_store_stale_seconds, zood_leader

private:
  store::HeldStore& store_;
  store::Session& session_;
  const config::StorePlace here_;
  const std::filesystem::path directory_;
  std::mutex mutex_; ///< one migration at a time
  std::atomic<bool> moved_ = false;
};

} // namespace zoo::app
