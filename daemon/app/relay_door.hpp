// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/metric_text.hpp"
#include "common/base/published.hpp"
#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/app/address.hpp"
#include "daemon/app/relay_reach.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/net/workers.hpp"
#include "daemon/relay/service.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/pool.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::store {
class Store;
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

/// What the relay's door stands on; all of it outlives it.
struct RelayDoorParts {
  const config::Values& values;
  const upstream::Credential& credential;
  std::shared_ptr<const upstream::UpstreamEndpoint> endpoint;
  upstream::PoolLimits pool;
  upstream::Upstream& upstream;
  net::Loop& loop; ///< one of upstream's, for what is followed there
  tenants::Pki& pki;
  store::Store& store;
  Secret key; ///< the keyring's "webhook-relay"
  std::function<std::shared_ptr<const tenants::TenantSnapshot>()> tenants;
  net::ListenerLimits limits;
  std::function<void()> changed; ///< now() says something else; any thread
};

/// The relay of tenants' webhooks as a whole: its listener with a loop and a pool of connections of
/// its own, the certificate, what is followed of stored webhooks, and the proof that upstream
/// reaches it. Any thread, but for open(), close() and the end.
class RelayDoor {
public:
  /// Null where relay.enabled is false. A door that cannot be opened is no error where relay.listen
  /// is not set: webhooks are called directly then, and findings() say why.
  static Result<std::unique_ptr<RelayDoor>> open(RelayDoorParts parts);
  ~RelayDoor(); ///< when the loops of upstream have stopped

  void start(); ///< proves the way; `changed` may be called from here on
  void close(); ///< the listener and the proof; before the loops of upstream stop
  void renew(); ///< the certificate, if it is due
  net::Listener* listener() { return listener_.get(); } ///< null: it could not be opened

  /// For views: null while upstream is not known to reach it.
  std::shared_ptr<const translate::Relay> relay() const { return published_.load(); }
  /// With which the URLs begin that tenants' webhooks may name; "": there is no door.
  std::string base() const {
    const auto own = own_.load();
    return own ? own->base : std::string();
  }
  tenants::RelayNow now() const; ///< for the controller
  /// The same of a zood without one.
  static tenants::RelayNow none(const upstream::Upstream& upstream);
  std::vector<tenants::Finding> findings() const;
  void measure(MetricText& out) const { tally_.write(out); }

private:
  explicit RelayDoor(RelayDoorParts parts);
  Result<void> listen();
  std::vector<Address> places() const;
  Result<net::TlsServerOptions> identity();
  void follow(std::string_view path);
  bool hears() const;
  std::optional<translate::Mapping> mapping_of(const std::string& id) const;
  void told(const Result<void>& proof);
  void remember(bool proven);

  RelayDoorParts parts_;
  Published<const translate::Relay> own_; ///< whose paths the door takes; null: no door
  Address advertised_;
  std::string kept_listen_, kept_base_; ///< of the last start: where it listened, what was proven
  Published<const translate::Relay> published_;

  mutable std::mutex mutex_; ///< of what follows
  bool known_ = false;       ///< a proof has ended, or there will be none
  std::string trouble_;      ///< why the last one failed; "": it did not
  unsigned failures_ = 0;    ///< in a row
  std::optional<crypto::Certificate> certificate_;

  relay::Tally tally_;
  std::shared_ptr<net::TlsServerContext> tls_;
  net::Workers loop_;
  upstream::Pool pool_;
  std::unique_ptr<RelayReach> reach_;
  relay::RelayService* service_ = nullptr; ///< the listener's, on loop_
  std::vector<std::unique_ptr<upstream::ChangeFollower>> followers_;
  std::unique_ptr<net::Listener> listener_;
};

} // namespace zoo::app
