// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/accounts/aggregated_door.hpp"
#include "daemon/accounts/front_proxy.hpp"
#include "daemon/accounts/registration.hpp"
#include "daemon/admin/server.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/net/workers.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/workers.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/change_follower.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::audit {
class Log;
}
namespace zoo::tenants {
class Pki;
class TenantSnapshot;
} // namespace zoo::tenants
namespace zoo::upstream {
class Credential;
class Upstream;
} // namespace zoo::upstream

namespace zoo::app {

/// What the aggregated door stands on; all of it outlives it.
struct AggregatedParts {
  const config::Values& values;
  const upstream::Credential& credential;
  upstream::Upstream& upstream;
  net::Loop& loop; ///< one of upstream's, for what is followed there
  tenants::Pki& pki;
  audit::Log& audit;
  std::function<std::shared_ptr<const tenants::TenantSnapshot>()> tenants;
  net::ListenerLimits limits;
  std::vector<resources::KindPtr> kinds; ///< of tenancy.kiosk.sh
  std::shared_ptr<const access::UpstreamRights> rights;
};

/// For doctor, of a zood that has no such door: is one registered upstream all the same, which
/// nobody here serves? `enabled`: accounts are, and another's would be in their way. Blocks.
std::vector<tenants::Finding> unserved_door(const upstream::Credential& credential, bool enabled);

/// The aggregated door as a whole: its listener with a loop and workers of its own, the
/// certificate, upstream's terms of front proxies, and the registration upstream. Any thread, but
/// for open(), close() and the end.
class Aggregated final : public admin::AggregatedSwitch {
public:
  /// Reads the terms upstream, and listens. Registers when it is ready.
  static Result<std::unique_ptr<Aggregated>> open(const AggregatedParts& parts);
  ~Aggregated() override; ///< when the loops of upstream have stopped

  void withdraw(); ///< in order, before the listener drains
  void close();    ///< the listener, its workers and the registration; before loops stop
  void renew();    ///< the certificate, if it is due
  net::Listener& listener() { return *listener_; }
  std::vector<tenants::Finding> findings() const;

  Result<nlohmann::json> state() override;
  Result<void> switch_to(bool on) override { return registration_->switch_to(on); }

private:
  Aggregated(const AggregatedParts& parts, accounts::FrontProxyTerms first);
  Result<void> listen();
  /// A fresh key and certificate, for clients of these authorities.
  Result<net::TlsServerOptions> identity(const std::string& client_ca);
  /// For the authorities that upstream names now. The lock is of renewing_.
  void reload(const std::scoped_lock<std::mutex>& lock);
  bool of_tenant(std::string_view name_space) const;
  Result<void> answers() const;
  void follow(std::string_view path, std::string_view name);

  const AggregatedParts parts_;
  std::mutex renewing_; ///< so that what was read last is what the listener is given last
  std::optional<crypto::Certificate> certificate_; ///< that the door shows; under renewing_
  std::shared_ptr<net::TlsServerContext> tls_;
  accounts::FrontProxy front_proxy_;
  resources::Workers workers_; ///< above what puts its remains away there: the door, and the loop
  std::shared_ptr<resources::Door> door_;
  net::Workers loop_;
  std::unique_ptr<resources::Scheduler> scheduler_;
  std::unique_ptr<accounts::Registration> registration_;
  std::vector<std::unique_ptr<upstream::ChangeFollower>> followers_;
  std::unique_ptr<net::Listener> listener_;
};

} // namespace zoo::app
