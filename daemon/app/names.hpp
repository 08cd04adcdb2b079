// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/config/config.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/name_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <vector>

namespace zoo::app {

/// Keeps what the platform shares (keys shared.*) in Upstream::shared_names(): the names that the
/// configuration lists, and for "*" all names that no tenant's prefix begins, in whatever version
/// upstream serves them. On the first loop.
class SharedClasses {
public:
  SharedClasses(const config::Values& values, upstream::Upstream& upstream, net::Loop& loop,
                std::function<std::shared_ptr<const tenants::TenantSnapshot>()> tenants);
  void start();
  /// Until the classes for "*" are known that upstream has by then: a name that is not known as
  /// shared is written with the tenant's prefix, for good. Not on a loop. Code::timeout.
  Result<void> wait(std::chrono::milliseconds most);

private:
  void look(); ///< for kinds to follow among what upstream serves
  void take();
  void publish(); ///< twice a second; costs nothing while nothing has changed

  upstream::Upstream& upstream_;
  net::Loop& loop_;
  std::function<std::shared_ptr<const tenants::TenantSnapshot>()> tenants_;
  translate::SharedNames listed_;
  struct Followed {
    std::unique_ptr<upstream::NameFollower> follower;
    std::size_t overlay;
    std::shared_ptr<const upstream::NameFollower::Names> seen{}; ///< published already
  };
  std::shared_ptr<const tenants::TenantSnapshot> seen_tenants_;
  std::vector<Followed> followed_;
  bool looked_ = false; ///< for kinds to follow
  bool known_ = false;  ///< of all that are followed
  std::promise<void> told_;
  std::vector<std::size_t> awaited_; ///< keys with "*" of which upstream serves none yet
  net::Timer timer_, look_timer_;
};

} // namespace zoo::app
