// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/api/terms.hpp"
#include "common/base/published.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::tenants {

enum class Phase : std::uint8_t { pending, ready, suspended, deleting, failed };

/// What the data path needs to know of one tenant. Immutable.
struct TenantEntry {
  std::string id;
  std::string
      uid; ///< of this Tenant: certificates of an earlier tenant of the same ID carry another
  std::string created;       ///< creationTimestamp, RFC 3339
  std::int64_t revision = 0; ///< of the record that this was read from
  Phase phase = Phase::pending;
  std::int64_t credential_epoch = 0; ///< certificates of an earlier one are refused
  std::int64_t tokens_after = 0; ///< Unix seconds: tokens made until then are refused; 0: none are
  std::set<std::string, std::less<>> revoked_serials; ///< lower-case hex
  std::optional<api::AuditLevel> audit;               ///< its own; else audit.level
  api::Inside inside;                                 ///< what its pods are given
  api::Terms terms;                                   ///< where it differs from zood.yaml
  /// The controller waits for nothing of it: it is Ready and furnished as its spec wants it.
  bool settled = false;
  bool webhooks_direct = false; ///< spec.webhooks of it is "direct"
  bool of_cluster = false;      ///< it is a virtual cluster's: nobody is let in
  bool expiring = false;        ///< has a certificate that ends soon (condition k_expiring)
  std::string account{};        ///< spec.account

  bool admits() const { return !of_cluster && (phase == Phase::ready || phase == Phase::pending); }
  /// Is a certificate of the tenant `of_uid` still good, leaving its dates aside?
  bool honours_certificate(std::string_view of_uid, std::string_view serial,
                           std::int64_t epoch) const {
    return uid == of_uid && epoch >= credential_epoch && !revoked_serials.contains(serial);
  }
  /// The same for a ServiceAccount's token, made at `issued` (Unix seconds).
  bool honours_token(std::string_view of_uid, std::int64_t issued) const {
    return uid == of_uid && (tokens_after == 0 || issued > tokens_after);
  }
};

/// All tenants at one moment; a value that readers keep as long as they like. Sharded, so that one
/// change copies one shard and not every tenant.
class TenantSnapshot {
public:
  using Entry = std::shared_ptr<const TenantEntry>;
  static constexpr std::size_t k_shards = 256;

  TenantSnapshot() = default;
  /// Of all these at once; each ID once.
  explicit TenantSnapshot(std::vector<Entry> entries);

  Entry find(std::string_view id) const;
  std::size_t size() const { return size_; }
  void each(const std::function<void(const TenantEntry&)>& told) const; ///< in no order
  /// A copy with `entry` set (or the tenant removed, if null).
  TenantSnapshot with(std::string_view id, Entry entry) const;

private:
  using Shard = std::vector<Entry>; ///< by ID
  static std::size_t shard_of(std::string_view id);
  static Shard::const_iterator place(const Shard& shard, std::string_view id);
  std::array<std::shared_ptr<const Shard>, k_shards> shards_{};
  std::size_t size_ = 0;
};

/// The current snapshot. One writer (the store's watch), any number of reading threads; the data
/// path asks nothing else who a tenant is (DESIGN 14).
class TenantDirectory {
public:
  TenantDirectory() : current_(std::make_shared<const TenantSnapshot>()) {}

  /// Told the ID of a tenant after something that was granted may have been taken away: it is gone,
  /// another one, not admitted any more, or lost a certificate. On the writer's thread; must not
  /// block. Set once, before anybody is let in.
  void on_withdrawal(std::function<void(std::string_view id)> told);
  /// Told the ID of a tenant after another account, quota or list of templates was published than
  /// before. On the writer's thread; must not block. Null: nobody is any more. Any thread.
  void on_change(std::function<void(std::string_view id)> told);
  std::shared_ptr<const TenantSnapshot> snapshot() const { return current_.load(); }
  void set(std::shared_ptr<const TenantEntry> entry); ///< writer only
  void remove(std::string_view id);                   ///< writer only
  /// All at the start, before anybody is let in; writer only.
  void fill(std::vector<TenantSnapshot::Entry> entries);

  /// Until the snapshot shows the tenant's record of `revision` or a later one, or no record at
  /// all. False if that takes longer. Any thread but the writer's.
  bool wait_for(std::string_view id, std::int64_t revision,
                std::chrono::milliseconds timeout) const;

private:
  void publish(TenantSnapshot next);
  void withdrawn(std::string_view id) const;
  void changed(std::string_view id) const;

  Published<const TenantSnapshot> current_;
  Published<const std::function<void(std::string_view)>> told_;
  mutable std::mutex changes_mutex_; ///< held while it is told
  std::function<void(std::string_view)> tells_change_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
};

} // namespace zoo::tenants
