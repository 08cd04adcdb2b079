// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/quota_broker.hpp"
#include "daemon/accounts/quota_owners.hpp"
#include "daemon/accounts/quota_table.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

struct QuotaSettings {
  unsigned threads = 2;
  std::chrono::milliseconds settle{20};    ///< changes that come together
  std::chrono::milliseconds status{1'000}; ///< between two writes of an AccountQuota's status
  std::chrono::milliseconds resync{600'000};
  std::chrono::milliseconds retry{50};
  /// How long a space that is being made waits for its slice; it is let go without it then.
  std::chrono::milliseconds furnish{2'000};
  reconcile::Queue::Now now = reconcile::Queue::Clock::now;
};

/// Holds what an owner, an account or a tenant (quota_owners.hpp), may use: each of its namespaces
/// has a ResourceQuota, its slice, which upstream enforces with zood or without; and the sum over
/// the slices of the largest of spec.hard, status.hard and status.used is never above the owner's
/// limit. What is free is moved to namespaces that lack it. Each owner is looked at by one thread
/// at a time, and only a look writes slices, so that nobody raises one by what another has been
/// given (docs/decisions/208). Threads "quotas-1" and so on.
class QuotaKeeper {
public:
  using Names = std::set<std::string, std::less<>>;
  /// The broker, which counts objects and is asked before anything is created. All of it outlives
  /// the keeper; the functions are called on its threads, and do not call it back.
  struct Broker {
    QuotaBroker* broker = nullptr; ///< null: nobody; slices follow what controllers lack alone
    std::function<void(const Names& names)> count; ///< QuotaObjects::follow()
    std::function<std::string(std::string_view space, std::string_view key)> path_of;
    /// These accounts have quotas from now on, and these tenants, or the account of theirs.
    std::function<void(const Names& accounts, const Names& tenants)> owners;
  };

  QuotaKeeper(const WriteParts& parts, upstream::Connections& connections, QuotaTable& table,
              QuotaSettings settings = {});
  ~QuotaKeeper() = default; ///< waits for looks in progress
  QuotaKeeper(const QuotaKeeper&) = delete;
  QuotaKeeper& operator=(const QuotaKeeper&) = delete;

  void set_broker(Broker broker) { broker_ = std::move(broker); } ///< before start()
  /// Of several zoods one alone moves room: without it a look does nothing. Before start(), and
  /// from any thread later.
  void lead(bool leads);
  void start();
  /// Something of this owner's quotas, slices or namespaces has changed. Any thread; does not
  /// block.
  void touched(std::string_view owner);
  /// Somebody waits for it. Any thread; does not block.
  void hurry(std::string_view owner);
  /// What was let in and not seen since is to be looked for (QuotaBroker::Parts::doubt).
  void doubt(std::string_view owner);
  /// What slices say is used becomes what zood counts, at once. Any thread; does not block.
  void recount(std::string_view owner);

  /// Before anybody has access to a new namespace: makes the slices that these owners have there,
  /// with which nothing may be used, and waits until there is room in them.
  /// `in_tenant`: it is a tenant's.
  Result<void> furnish(upstream::ControlApi& api, const std::string& space,
                       const std::vector<std::string>& owners, bool in_tenant);

  /// Has the account room for what is in this namespace, which is not its own yet? By the objects
  /// that there are now; nothing is held back. Code::forbidden says what is full. Does not block.
  Result<void> room_for(const std::string& account, const std::string& space) const;

  struct Counts { ///< since the start
    std::uint64_t moves = 0, repairs = 0;
  };
  Counts counts() const { return {moves_, repairs_}; }

  /// For tests: looks at everything that is due, on this thread.
  void run_due() { runner_.run_due(); }
  reconcile::Counts looks() const { return runner_.counts(); }

private:
  using Next = reconcile::Next;
  reconcile::Reconciler reconciler();
  Result<Next> look(upstream::ControlApi& api, const std::string& key);
  Result<Next> look_at_slices(upstream::ControlApi& api, const std::string& owner);
  Result<Next> look_at_status(upstream::ControlApi& api, const std::string& account);
  Result<bool> hold(upstream::ControlApi& api, const State& state, const quota::Limit& limit,
                    const quota::Owner& owner, const std::string& name, bool anew);
  /// What upstream said when it refused the slices of a limit; "": it takes them.
  std::string refusal_of(const std::string& owner, const std::string& slice_name);
  Result<void> make(upstream::ControlApi& api, const State& state, const quota::Limit& limit,
                    const std::string& space, const std::string& owner, bool in_tenant);
  Result<void> remove_strays(upstream::ControlApi& api, const State& state, const std::string& name,
                             const quota::Owner& owner);
  Result<bool> share_out(upstream::ControlApi& api, const quota::Limit& limit,
                         const std::set<std::string, std::less<>>& spaces, const std::string& owner,
                         bool anew);
  Result<void> write(upstream::ControlApi& api, const quota::Limit& limit, const KnownSlice& known,
                     const quota::ResourceList& hard);
  Result<void> lower(upstream::ControlApi& api, const quota::Limit& limit, const KnownSlice& known,
                     const quota::ResourceList& hard);
  Result<nlohmann::json> put(upstream::ControlApi& api, const KnownSlice& known,
                             const std::string& path, const nlohmann::json& object);
  Result<KnownSlice> make_ours(upstream::ControlApi& api, const KnownSlice& known);
  Result<void> repair(upstream::ControlApi& api, const KnownSlice& known, bool anew);
  Result<Next> look_for_doubts(upstream::ControlApi& api, const std::string& owner);
  void tell_broker(const std::string& name, const quota::Owner& owner);
  quota::Owner owner_of(const State& state, const std::string& name) const;

  const WriteParts& parts_;
  upstream::Connections& connections_;
  QuotaTable& table_;
  const QuotaSettings settings_;
  const std::string epoch_; ///< of this zood: slices that it has written carry it
  Broker broker_;
  std::atomic<bool> leads_ = true;
  std::atomic<std::uint64_t> moves_ = 0, repairs_ = 0;
  /// What of an owner the broker and its webhook go by.
  struct Told {
    Names names;   ///< that its limits count
    Names tenants; ///< in whose namespaces
    bool operator==(const Told&) const = default;
  };
  std::mutex mutex_;                              ///< of what follows
  std::map<std::string, Told, std::less<>> told_; ///< by owner
  /// By owner, and the name of slices: what upstream refuses them with.
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> refused_;
  Names recounts_; ///< owners whose slices are to be counted anew
  reconcile::Queue queue_;
  reconcile::Runner runner_; ///< last: its threads use all the rest
};

} // namespace zoo::accounts
