// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/quota_broker.hpp"
#include "daemon/accounts/quota_table.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/pool.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// Watches slices at each API server of the upstream, since each admits by its own cache: by the
/// addresses of EndpointSlice default/kubernetes where there are several, or by those that are
/// given. Server 0 of the Judge is whoever answers at upstream's usual address; these are 1 and up.
/// On one loop; destroyed when that has stopped.
class QuotaServers {
public:
  struct Address {
    std::string host;
    std::uint16_t port = 443;
    auto operator<=>(const Address&) const = default;
  };
  /// `given`: not empty: these, whatever the EndpointSlice says.
  QuotaServers(upstream::Upstream& upstream, net::Loop& loop, QuotaBroker& broker,
               std::vector<Address> given);
  ~QuotaServers();
  void start(); ///< any thread
  /// Server 0 is heard, or not. Any thread.
  void usual(bool hears);
  /// These from now on, in place of those until now. The loop's thread, as what follows.
  void open(const std::vector<Address>& addresses);
  /// That are watched, and of which the last turn of the loop has not got rid yet.
  std::size_t held() const { return servers_.size() + retired_.size(); }

private:
  struct Server {
    Address address;
    std::shared_ptr<upstream::UpstreamEndpoint> endpoint;
    std::unique_ptr<upstream::Pool> pool;
    std::unique_ptr<upstream::ChangeFollower> slices;
    bool hears = false;
    bool over = false; ///< it is retired: what it still says is of no number
  };
  void read(std::string_view slice);
  void retire();
  void renew();
  void tell();

  upstream::Upstream& upstream_;
  net::Loop& loop_;
  QuotaBroker& broker_;
  const std::vector<Address> given_;
  net::Timer renewal_;
  std::unique_ptr<upstream::ChangeFollower> addresses_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Server>> retired_; ///< they go in the loop's next turn
  bool usual_ = false;
};

} // namespace zoo::accounts
