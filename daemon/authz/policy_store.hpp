// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/policy.hpp"
#include "daemon/authz/policy_source.hpp"
#include "daemon/translate/mapping.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::net {
class Loop;
}

namespace zoo::authz {

/// The policies of all tenants that are in use: read at a tenant's first question, followed while
/// it asks, forgotten when idle. One for all loops; thread-safe. Destroyed after the loops have
/// stopped and before the Upstream.
class PolicyStore {
public:
  PolicyStore(upstream::Upstream& upstream, std::vector<net::Loop*> loops,
              PolicyLimits limits = {});
  ~PolicyStore();
  PolicyStore(const PolicyStore&) = delete;
  PolicyStore& operator=(const PolicyStore&) = delete;

  /// The tenant's current policy. `done` comes on `loop`, inside this call when it is known, else
  /// when it was read. Code::unavailable, with the reason, if it cannot be.
  void policy(net::Loop& loop, const translate::Mapping& mapping,
              std::function<void(Result<PolicyPtr>)> done);

  /// What policy() would answer inside the call; else null. On the asker's loop, as policy().
  PolicyPtr known(const translate::Mapping& mapping);

  /// Null if nothing is known at the moment.
  PolicyPtr current(const std::string& id) const;

private:
  struct Slot;
  struct Impl;
  std::shared_ptr<Slot> slot_of(const translate::Mapping& mapping);
  static PolicyPtr known(const std::shared_ptr<Slot>& slot, const translate::Mapping& mapping);
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::authz
