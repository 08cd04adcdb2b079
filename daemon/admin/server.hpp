// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "common/base/secret.hpp"
#include "daemon/admin/api_types.hpp"
#include "daemon/tenants/service.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace zoo::admin {

/// What zood knows of itself: GET /zoo/v1/status.
struct ServerStatus {
  std::string version;      ///< of zood
  std::string listen;       ///< where tenants reach it, with the real port
  std::string advertise;    ///< what stands in their kubeconfigs
  std::string admin_listen; ///< "" = no TLS door
  std::string admin_socket;
  struct {
    std::string server; ///< its URL, as kubeconfigs have it; "" = there is none
    std::string ca_pem; ///< by which it is verified
  } account_door;
  struct {
    std::string server;
    bool reachable = false;
    std::string version; ///< "v1.36.3"; "" while unreachable
    std::string message; ///< why it is unreachable
  } upstream;
  std::chrono::seconds uptime{};
  std::size_t workers = 0;
  std::size_t connections = 0;
  struct {
    std::string output; ///< "none", "stderr", or its file
    std::uint64_t written = 0, lost = 0, refused = 0;
    std::string trouble;
  } audit;
};

/// Filled by the composition root.
class StatusSource {
public:
  virtual ~StatusSource() = default;
  virtual ServerStatus status() = 0; ///< worker threads; may wait for the upstream, with a limit
  /// Any thread, never blocks: is zood ready to serve tenants? "" = yes, else what is missing.
  virtual std::string not_ready() const = 0;
  /// Of requests, connections, watches, the audit log, zood's own credentials. Worker threads; does
  /// not ask the upstream.
  virtual void metrics(MetricText& out) = 0;
};

/// The aggregated door of accounts, as administrators switch it. Worker threads; asks the upstream.
class AggregatedSwitch {
public:
  virtual ~AggregatedSwitch() = default;
  virtual Result<nlohmann::json> state() = 0;
  virtual Result<void> switch_to(bool on) = 0;
};

/// zood's state, as it is backed up (docs/backup.md). Worker threads.
class BackupSource {
public:
  virtual ~BackupSource() = default;
  /// The text of backup::text_of(), which holds zood's keys: for administrators alone. One at
  /// a time: others wait. Errors of the store and of files, and Code::too_large.
  virtual Result<Secret> make() = 0;
  /// doctor says no more that this state was restored.
  virtual Result<void> acknowledge() = 0;
};

/// Where zood keeps its records. Worker threads; blocks for as long as it takes.
class StoreSource {
public:
  virtual ~StoreSource() = default;
  /// {name, leads, replicas [{name, leads, version, started, admin}], driver, place, revision,
  /// staleMilliseconds}.
  virtual Result<nlohmann::json> state() = 0;
  /// Moves the records: {"to": config::to_json(), "dryRun", "clearTarget"}. Answers {records,
  /// bytes, revision, sha256, heldMilliseconds}; nothing is written by this zood afterwards.
  virtual Result<nlohmann::json> migrate(const nlohmann::json& wish) = 0;
  /// What `zood --join` takes: it holds zood's master key. For administrators alone.
  virtual Result<Secret> invite() = 0;
};

/// GET /zoo/v1/store: its state. POST: StoreSource::migrate().
Answer store_answer(const Request& request, StoreSource* source);
/// GET /zoo/v1/invitation: StoreSource::invite().
Answer invitation_answer(const Request& request, StoreSource* source);
/// GET /zoo/v1/backup: the text. POST {"acknowledged": true}.
Answer backup_answer(const Request& request, BackupSource* source);
/// GET /zoo/v1/aggregated: what the upstream knows of the door (common/api/aggregated_door.hpp),
/// and `trouble`. PUT {"enabled": true|false} switches it, over restarts.
Answer aggregated_answer(const Request& request, AggregatedSwitch* door);
/// GET /zoo/v1/status: {version, listen, advertise, adminListen, adminSocket, upstream {server,
/// reachable, version, message}, tenants {total, Ready, ...}, uptimeSeconds, workers, connections};
/// where several zoods may have the store, `replicas` as StoreSource::state() has them, or
/// `replicasUnknown`, which says why. `store` may be null.
Answer status_answer(StatusSource& source, tenants::TenantService& tenants, StoreSource* store);
/// GET /zoo/v1/doctor: {findings: [{level, subject, message, remedy}], ok, warnings, problems}.
Answer doctor_answer(tenants::TenantService& tenants);
/// /healthz, /livez, /readyz: text, for anybody who reaches a door.
Answer health_answer(StatusSource& source, bool ready);

} // namespace zoo::admin
