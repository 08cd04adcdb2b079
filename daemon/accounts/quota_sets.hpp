// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// Label of an AccountQuota: the set that made it.
inline constexpr std::string_view k_quota_set_label = "zoo.kubezoo.io/quota-set";

/// The AccountQuota that a set wants of one account: `<set>-<account>`, owned by the set. Pure.
nlohmann::json quota_of_set(const nlohmann::json& set, std::string_view account);

/// Keeps the AccountQuotas of AccountQuotaSets: one for each account that a set selects, as its
/// template says, and none for others. An AccountQuota of such a name that is nobody's set's is
/// left alone, and the set says so in its status. The quotas of a set that is deleted go with it,
/// as its dependents. A thread "quotasets-1".
class QuotaSets {
public:
  QuotaSets(const WriteParts& parts, upstream::Connections& connections,
            upstream::Upstream& upstream, net::Loop& loop);
  void start();                                  ///< any thread
  void lead(bool leads) { runner_.lead(leads); } ///< reconcile::Runner::lead()
  reconcile::Counts counts() const { return runner_.counts(); }
  /// An account or a quota has changed. Any thread; does not block.
  void touched();

private:
  Result<reconcile::Next> look(upstream::ControlApi& api, const std::string& name);
  reconcile::Reconciler reconciler();

  const WriteParts& parts_;
  upstream::Connections& connections_;
  net::Loop& loop_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> names_; ///< of the sets that there are; under mutex_
  std::set<std::string, std::less<>> found_; ///< while they are read anew; on the loop
  std::unique_ptr<upstream::ChangeFollower> follower_;
  reconcile::Queue queue_;
  reconcile::Runner runner_; ///< last: its thread uses all the rest
};

} // namespace zoo::accounts
