// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/quota_broker.hpp"
#include "daemon/accounts/quota_table.hpp"
#include "daemon/upstream/change_follower.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// What a refusal of kube-apiserver's ResourceQuota plugin has asked for in vain, out of its text
/// ("... exceeded quota: zoo-quota, requested: pods=1,limits.cpu=500m, used: ..."). Empty: it is no
/// refusal by a slice. Pure.
quota::ResourceList refused_for(std::string_view message);

/// Fills a QuotaTable: follows AccountQuotas, the slices, and the events by which controllers say
/// that they may not create something. On one loop; destroyed when that has stopped.
class QuotaFollower {
public:
  /// `touched`: an owner whose quotas, slices or wishes have changed; on the loop, must not
  /// block.
  /// `broker` is told of slices as server 0 shows them; `hears`: whether it does. Null: nobody is.
  QuotaFollower(upstream::Upstream& upstream, net::Loop& loop, QuotaTable& table,
                std::function<void(std::string_view owner)> touched, QuotaBroker* broker = nullptr,
                std::function<void(bool hears)> hears = nullptr);
  void start(); ///< any thread

private:
  void heard_event(std::string_view object);
  void heard_slice(std::string_view object);
  void tell_lost(const std::string& owner, const std::string& space, const std::string& name);

  net::Loop& loop_;
  QuotaTable& table_;
  const std::function<void(std::string_view)> touched_;
  QuotaBroker* const broker_;
  std::set<std::string, std::less<>> quotas_found_, slices_found_; ///< while they are read anew
  std::unique_ptr<upstream::ChangeFollower> quotas_, slices_, events_;
};

} // namespace zoo::accounts
