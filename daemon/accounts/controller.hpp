// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/bindings.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

struct ControllerSettings {
  unsigned threads = 2;
  /// Changes that come together are looked at together.
  std::chrono::milliseconds settle{250};
  /// The same of rights: each space that is made changes some, and each look reads the bindings of
  /// all spaces of the account.
  std::chrono::milliseconds hear{1'000};
  /// Between two looks at all of it for changes of everybody's rights.
  std::chrono::milliseconds rest{10'000};
  /// Each account's, jittered, even if nothing was heard; longer where there are more than 40 a
  /// second.
  std::chrono::milliseconds resync{3'600'000};
  std::chrono::milliseconds retry{200}; ///< after the first failure; doubles up to 300 times
  /// Between two looks at a deletion that waits for its spaces.
  std::chrono::milliseconds wait{2'000};
  reconcile::Queue::Now now = reconcile::Queue::Clock::now;
};

/// Keeps accounts and their spaces as they should be: who is let into a space, its labels, its
/// owner, the status of the Account, spaces that were half made, the spaces of an Account that is
/// deleted. Level-triggered; all it goes by is upstream's objects, so it may end at any moment.
/// Threads "spaces-1" and so on. An Account that fails fails alone, and says so in its condition
/// Ready; one that cannot be read is never taken for deleted.
class Controller {
public:
  Controller(const WriteParts& parts, Saga& saga, upstream::Connections& connections,
             ControllerSettings settings = {});
  ~Controller() = default; ///< waits for looks in progress
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void start();

  /// A publication of the Follower. Does not block.
  void touched(const StatePtr& before, const StatePtr& now, const Touched& touched);

  /// For tests: looks at everything that is due, on this thread.
  void run_due() { runner_.run_due(); }
  void lead(bool leads) { runner_.lead(leads); } ///< reconcile::Runner::lead()
  std::size_t waiting() const { return queue_.size(); }
  reconcile::Counts counts() const { return runner_.counts(); }

private:
  using Next = reconcile::Next;
  reconcile::Reconciler reconciler();
  void add(std::string_view kind, std::string_view name, std::chrono::milliseconds delay);

  void look_at_all_later();

  Result<Next> look(upstream::ControlApi& api, const std::string& key);
  Result<Next> look_at_all(upstream::ControlApi& api);
  Result<Next> look_at_account(upstream::ControlApi& api, const std::string& name);
  Result<Next> look_at_status(upstream::ControlApi& api, const std::string& name);
  Result<Next> look_at_space(upstream::ControlApi& api, const std::string& name);
  Result<Next> look_at_half_made(upstream::ControlApi& api, const Space& space);
  Result<void> keep(upstream::ControlApi& api, const Space& space,
                    const std::vector<nlohmann::json>& bindings, const Members& members);
  Result<void> keep_bindings(upstream::ControlApi& api, const Space& space,
                             std::vector<nlohmann::json> bindings, const Members& members);
  Result<void> keep_template(upstream::ControlApi& api, const Space& space, const Account& account);
  Result<void> adopt(upstream::ControlApi& api, const Space& space, const std::string& account);
  Result<Bindings> bindings_of(upstream::ControlApi& api, const NameSet& spaces) const;

  // deletion.cpp
  Result<Next> look_at_deleted(upstream::ControlApi& api, const Account& account);
  Result<bool> kind_goes(upstream::ControlApi& api) const;
  Result<void> let_go(upstream::ControlApi& api, const std::string& space, const Account& account);
  Result<void> wait_for(upstream::ControlApi& api, const Account& account,
                        const std::set<std::string>& spaces);

  const WriteParts& parts_;
  Saga& saga_;
  upstream::Connections& connections_;
  const ControllerSettings settings_;
  std::atomic<reconcile::Queue::Clock::time_point> all_looked_{}; ///< when, last
  reconcile::Queue queue_;
  reconcile::Runner runner_; ///< last: its threads use all the rest
};

} // namespace zoo::accounts
