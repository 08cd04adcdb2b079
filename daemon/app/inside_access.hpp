// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "daemon/app/address.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/inside_keeper.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/change_follower.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::tenants {
class Pki;
}
namespace zoo::upstream {
class Credential;
class Upstream;
} // namespace zoo::upstream

namespace zoo::app {

class DoorCertificates;

/// Hosts that the certificate of the tenants' door needs for pods, as far as they are known at the
/// start: names of the API server, and the address of Service zoo-system/zood if it is there. That
/// of a later one is added when it is known. Blocks.
std::vector<std::string> hosts_inside(const config::Values& values,
                                      const upstream::Credential& credential);

/// Code::usage: an `inside.` key that is no name of a domain, or no address of a DNS server.
Result<void> check_inside(const config::Values& values);

/// Makes zood the API server inside tenants' pods: tenants::InsideKeeper, and the watches that tell
/// it of changes upstream, on one event loop. Outlived by all that it is made of.
class InsideAccess {
public:
  struct Parts {
    const config::Values& values;
    const upstream::Credential& credential;
    upstream::Upstream& upstream;
    net::Loop& loop;
    DoorCertificates& certificates;
    const tenants::Pki& pki;
    const tenants::TenantDirectory& directory;
    store::Store& store;
    Address advertised;
    std::function<bool()> spaces_are_furnished; ///< tenants::Inside::Parts
    /// What pods have has changed; `given`: they find zood. On the keeper's thread.
    std::function<void(bool given)> changed;
  };
  explicit InsideAccess(Parts parts);

  tenants::InClusterAccess access() const { return keeper_.state()->access; } ///< any thread
  /// That pods may not have tokens for; "": any.
  std::string audiences() const;
  void touch() { keeper_.touch(); }               ///< any thread
  std::vector<tenants::Finding> findings() const; ///< for doctor; blocks

  /// Ends the keeper. To be called before the loop ends; the rest goes after it.
  void close() { keeper_.stop(); }

private:
  void follow(std::string path, std::string_view name);

  void heard(const tenants::InsideState& state);

  const Parts parts_;
  std::string followed_version_;                                     ///< the keeper's thread
  std::vector<std::unique_ptr<upstream::ChangeFollower>> followers_; ///< the loop's
  tenants::InsideKeeper keeper_; ///< last: its thread uses the rest
};

} // namespace zoo::app
