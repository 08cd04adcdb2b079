// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "common/base/result.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/accounts/account_view_source.hpp"
#include "daemon/accounts/client_authority.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/resources/api.hpp"
#include "daemon/resources/workers.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class Credential;
class Upstream;
} // namespace zoo::upstream

namespace zoo::app {

/// What the account door stands on; all of it outlives it.
struct AccountDoorParts {
  std::string listen; ///< accounts.listen
  const upstream::Credential& credential;
  upstream::Upstream& upstream;
  std::vector<net::Loop*> loops; ///< of the workers
  const gateway::GatewayShared& gateway;
  gateway::GatewayLimits limits;
  net::ListenerLimits listener_limits;
  api::Flow flow; ///< how much one user may have in progress
  std::function<std::shared_ptr<access::FlowShare>(const std::string& id)> share_of;
  /// What a door of zood's shows that trusts these client authorities. Any thread.
  std::function<Result<net::TlsServerOptions>(const std::string& client_ca_pem)> identity;
  const crypto::Certificate& tenants_ca; ///< never trusted here, whatever upstream says
  std::vector<resources::KindPtr> kinds; ///< of tenancy.kiosk.sh, and core namespaces
  std::shared_ptr<const access::UpstreamRights> rights;
  /// AccountViewParts::known_space.
  std::function<bool(std::string_view name)> known_space;
};

/// The door on which users of the upstream are served with the credentials that they have there: a
/// listener of its own on the workers' loops, which trusts upstream's client authorities alone and
/// resumes no sessions, so that nothing that was let in at another door is let in here. Any thread,
/// but for open(), close() and the end.
class AccountDoor {
public:
  /// Reads upstream's client authorities, and listens. Blocks.
  static Result<std::unique_ptr<AccountDoor>> open(AccountDoorParts parts);
  ~AccountDoor(); ///< when the loops have stopped

  net::Listener& listener() { return *listener_; }
  void close(); ///< the listener and the threads; before loops stop
  /// SIGHUP, and once an hour: the certificate that is shown is read again.
  void renew();
  void set_limits(const gateway::GatewayLimits& limits, const api::Flow& flow);

private:
  AccountDoor(AccountDoorParts parts, const std::string& client_ca);
  Result<void> listen();

  struct OnLoop { ///< one a loop; owned by the listener
    net::Loop* loop;
    gateway::Gateway* gateway;
    accounts::AccountViewSource* source;
  };
  const AccountDoorParts parts_;
  /// Shared with the API, parts of which loops may hold for longer than the door is there.
  const std::shared_ptr<resources::Workers> workers_;
  const std::shared_ptr<const access::LocalApi> api_;
  const accounts::AccountViewParts views_;
  std::mutex renewing_; ///< so that what was read last is what the listener is given last
  std::shared_ptr<net::TlsServerContext> tls_;
  std::vector<OnLoop> on_loops_;
  accounts::ClientAuthority authority_;
  std::unique_ptr<net::Listener> listener_;
};

} // namespace zoo::app
