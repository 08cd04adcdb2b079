// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/policy.hpp"
#include "daemon/authz/policy_source.hpp"
#include "daemon/translate/mapping.hpp"

#include <cstdint>
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

  std::uint64_t loads() const; ///< times that a policy was read; any thread

private:
  friend class TenantPolicy;
  struct Slot;
  struct Impl;
  std::shared_ptr<Slot> slot_of(const std::string& id);
  std::unique_ptr<Impl> impl_;
};

/// One tenant's policy, for one asker, who asks at each request: it has found the tenant's place
/// once and takes no lock again. On the asker's loop, and not after the store.
class TenantPolicy {
public:
  TenantPolicy(PolicyStore& store, net::Loop& loop, translate::Mapping mapping)
      : store_(store), loop_(loop), mapping_(std::move(mapping)) {}

  /// `done` comes inside this call when the policy is known, else when it was read.
  /// Code::unavailable, with the reason, if it cannot be.
  void ask(std::function<void(Result<PolicyPtr>)> done);
  PolicyPtr known();  ///< what ask() would answer inside the call; else null
  PolicyPtr latest(); ///< what is known at the moment, be nobody interested in more

private:
  const std::shared_ptr<PolicyStore::Slot>& slot();

  PolicyStore& store_;
  net::Loop& loop_;
  translate::Mapping mapping_;
  std::shared_ptr<PolicyStore::Slot> slot_; ///< from the first question on
};

} // namespace zoo::authz
