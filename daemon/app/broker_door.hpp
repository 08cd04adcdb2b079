// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/accounts/quota_broker.hpp"
#include "daemon/accounts/quota_hook.hpp"
#include "daemon/app/address.hpp"
#include "daemon/app/relay_reach.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/change_follower.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zoo::tenants {
class Pki;
}
namespace zoo::upstream {
class Credential;
class Upstream;
} // namespace zoo::upstream

namespace zoo::app {

/// What the broker's door stands on; all of it outlives it.
struct BrokerDoorParts {
  const config::Values& values;
  const upstream::Credential& credential;
  upstream::Upstream& upstream;
  net::Loop& loop; ///< of quotas
  tenants::Pki& pki;
  net::ListenerLimits limits;
  accounts::QuotaBroker& broker;
};

/// The door at which upstream asks before something that a quota counts is created, as a whole: its
/// listener, the certificate, the proof that upstream reaches it, and the webhook that stands
/// upstream while it does. Any thread, but for open(), close() and the end.
class BrokerDoor {
public:
  /// Null where broker.enabled is false. A door that cannot be opened is no error where
  /// broker.listen is not set: nobody is asked then, and findings() say why.
  static Result<std::unique_ptr<BrokerDoor>> open(BrokerDoorParts parts);
  ~BrokerDoor(); ///< when the loop has stopped

  void set_scope(accounts::QuotaHookScope scope) {
    if (hook_) hook_->set_scope(std::move(scope));
  }
  void lead(bool leads); ///< QuotaHook::lead()
  void withdraw();       ///< the webhook, in order, before the listener drains
  void close(); ///< the listener, the proof and the webhook's thread; before the loop stops
  void renew(); ///< the certificate, if it is due
  net::Listener* listener() { return listener_.get(); } ///< null: it could not be opened
  /// Does upstream ask? Then nobody else needs to.
  bool asked() const { return hook_ && hook_->stands(); }
  std::vector<tenants::Finding> findings() const;

private:
  explicit BrokerDoor(BrokerDoorParts parts) : parts_(std::move(parts)) {}
  Result<void> listen();
  Result<net::TlsServerOptions> identity();
  void told(const Result<void>& proof);

  BrokerDoorParts parts_;
  Address advertised_;
  mutable std::mutex mutex_; ///< of what follows
  bool known_ = false;       ///< a proof has ended, or there will be none
  std::string trouble_;      ///< why the last one failed; "": it did not
  unsigned failures_ = 0;    ///< in a row
  std::optional<crypto::Certificate> certificate_;

  std::shared_ptr<net::TlsServerContext> tls_;
  std::unique_ptr<RelayReach> reach_;
  std::atomic<RelayReach*> hears_{nullptr}; ///< reach_, for the door, which is open before it
  std::unique_ptr<accounts::QuotaHook> hook_;
  std::unique_ptr<upstream::ChangeFollower> follower_; ///< of the webhook upstream
  std::unique_ptr<net::Listener> listener_;
};

} // namespace zoo::app
