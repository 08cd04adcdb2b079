// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/quota_table.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <optional>
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

/// Holds what an account may use: each of its spaces has a ResourceQuota, its slice, which upstream
/// enforces with zood or without; and the sum over the slices of the largest of spec.hard,
/// status.hard and status.used is never above the account's limit. What is free is moved to spaces
/// that lack it. Each account is looked at by one thread at a time, and only a look writes slices,
/// so that nobody raises one by what another has been given (docs/decisions/208). Threads
/// "quotas-1" and so on.
class QuotaKeeper {
public:
  QuotaKeeper(const WriteParts& parts, upstream::Connections& connections, QuotaTable& table,
              QuotaSettings settings = {});
  ~QuotaKeeper() = default; ///< waits for looks in progress
  QuotaKeeper(const QuotaKeeper&) = delete;
  QuotaKeeper& operator=(const QuotaKeeper&) = delete;

  void start();
  /// Something of this account's quotas, slices or spaces has changed. Any thread; does not block.
  void touched(std::string_view account);

  /// Before anybody has access to a new space: makes its slices, with which nothing may be used,
  /// and waits until there is room in them.
  Result<void> furnish(upstream::ControlApi& api, const std::string& space, const Account& account);

  /// For tests: looks at everything that is due, on this thread.
  void run_due() { runner_.run_due(); }

private:
  using Next = reconcile::Next;
  reconcile::Reconciler reconciler();
  Result<Next> look(upstream::ControlApi& api, const std::string& key);
  Result<Next> look_at_slices(upstream::ControlApi& api, const std::string& account);
  Result<Next> look_at_status(upstream::ControlApi& api, const std::string& account);
  Result<void> make(upstream::ControlApi& api, const quota::Limit& limit, const std::string& space,
                    const Account& account);
  Result<void> remove_strays(upstream::ControlApi& api, const State& state,
                             const std::string& account, const std::vector<quota::Limit>& limits);
  Result<bool> share_out(upstream::ControlApi& api, const quota::Limit& limit,
                         const std::vector<std::string>& spaces, const std::string& account);
  Result<void> write(upstream::ControlApi& api, const quota::Limit& limit, const KnownSlice& known,
                     const quota::ResourceList& hard);
  std::vector<std::string> spaces_of(const State& state, std::string_view account) const;

  const WriteParts& parts_;
  upstream::Connections& connections_;
  QuotaTable& table_;
  const QuotaSettings settings_;
  reconcile::Queue queue_;
  reconcile::Runner runner_; ///< last: its threads use all the rest
};

} // namespace zoo::accounts
