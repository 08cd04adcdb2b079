// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/etcd/gateway.hpp"
#include "daemon/store/etcd/stream.hpp"
#include "daemon/store/etcd/wire.hpp"
#include "daemon/store/session.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace zoo::store::etcd {

/// A session by a lease of etcd's: s/replica/<name> and, of the leader, s/leader/controllers hang
/// on it. The lease lasts ten seconds and is kept every three; it is trusted for eight, counted
/// from when keeping it was asked for, by a clock that goes on while the machine sleeps.
class EtcdSession : public Session {
public:
  /// Told of what is written below s/ by the store's stream. Both outlive it.
  EtcdSession(Gateway& gateway, const Layout& layout, Replica self);
  ~EtcdSession() override; ///< revokes the lease

  /// Registers, so that the others see it: a zood does so before it reads what they write. Code::
  /// unavailable; Code::conflict: another zood of that name lives.
  Result<void> begin();

  bool leads() const override;
  std::optional<Fence> fence() const override;
  void on_change(std::function<void(bool leads)> told) override;
  void resign() override;
  Result<std::vector<std::string>> settle() override;
  Result<std::vector<Replica>> replicas() override;
  void tell(std::string info) override;
  const std::string& name() const override { return self_.name; }

  void heard(const SessionChange& change); ///< by the store's stream
  /// What etcd held at this revision was told to all watches here: others may wait for that.
  void confirm(std::int64_t revision);

private:
  using Seconds = std::chrono::seconds;
  static std::chrono::nanoseconds now(); ///< CLOCK_BOOTTIME

  std::string value() const; ///< takes the lock
  std::string known(std::int64_t lost) const;
  bool may_go_on(const KeyValue& known);
  Result<std::int64_t> register_self(std::chrono::nanoseconds asked);
  Result<bool> keep();
  void confirm_soon(); ///< writes what confirm() has said
  void tell_soon();    ///< writes what tell() has said
  void try_to_lead();
  void give_away(std::int64_t created); ///< the leadership that this revision began
  void set_leads(bool leads);
  void run(std::stop_token stop);

  Gateway& gateway_;
  const Layout& layout_;
  const Replica self_;         ///< but for its info
  const std::string instance_; ///< of this process: a name may be somebody's who has just died
  const std::string leader_key_, replica_key_, applied_key_, known_key_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t lease_ = 0;
  std::chrono::nanoseconds valid_until_{};
  std::int64_t leader_created_ = 0; ///< by which it leads; 0: it does not
  std::string info_;                ///< Replica::info
  bool untold_ = false;             ///< of others: info_
  std::uint64_t heard_ = 0;
  std::int64_t confirm_ = 0, confirmed_ = 0; ///< etcd's revisions
  bool told_leading_ = false, resigned_ = false, wanted_ = false;
  std::function<void(bool)> told_;
  std::mutex telling_; ///< one call of told_ at a time
  std::jthread thread_;
};

} // namespace zoo::store::etcd
