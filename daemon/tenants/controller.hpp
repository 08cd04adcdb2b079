// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/published.hpp"
#include "common/base/result.hpp"
#include "common/crypto/aead.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/tenants/inside.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/upstream/connections.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::tenants {

/// What may change while zood runs.
struct Policy {
  std::vector<std::string> reserved_ids;
  std::chrono::seconds certificate_validity{365 * 24 * 3600};
  std::chrono::seconds certificate_warning{14 * 24 * 3600};
  std::chrono::milliseconds delete_grace{30'000};
};

struct Settings {
  Policy policy;              ///< at the start; see Controller::set_policy()
  std::string advertise_host; ///< without the brackets of IPv6
  std::uint16_t advertise_port = 0;
  /// Each tenant's, jittered by a quarter; longer where there are more than 40 a second.
  std::chrono::milliseconds resync{240'000};
  /// The same where what drifts is told: for what changes by the time alone.
  std::chrono::milliseconds resync_told{6 * 3'600'000};
  std::chrono::milliseconds retry{200}; ///< after the first failure; doubles up to 300 times
  /// How long a webhook that is none any more may keep what upstream has admitted: a kube-apiserver
  /// gives a request 34 seconds (k8s.io/apiserver/pkg/endpoints/handlers/rest.go,
  /// requestTimeoutUpperBound), and hears of webhooks a moment late.
  std::chrono::milliseconds held{45'000};
  unsigned workers = 8;
  /// For tests: told the name of each step before it is done.
  std::function<void(std::string_view step)> on_step;

  std::string server_url() const;
};

/// Names of cluster-scoped objects that are somebody's by what is in them, known a moment late and
/// without reading everybody's; nullopt: not known.
using NamesOf = std::function<std::optional<Names>(std::string_view owner_prefix)>;

struct ControllerParts {
  store::Store& store;
  const Pki& pki;
  const crypto::Sealer& sealer; ///< of the Keyring's key "tenant-credentials"
  std::function<std::unique_ptr<upstream::ControlApi>()> connect;
  const TenantDirectory* directory = nullptr; ///< null: nobody is let in (tests)
  std::function<bool()> hears{};              ///< is it told of what drifts, by touch()? Null: no
  NamesOf claimed_volumes{}; ///< PersistentVolumes by their claim's namespace. Null: never known
  NamesOf attachments{};     ///< VolumeAttachments by their volume and a slash. Null: never known
  /// Is zood the API server inside pods? Null: as far as Service default/kubernetes leads there.
  std::function<InClusterAccess()> in_cluster{};
};

/// Makes the upstream what the records of the store want (DESIGN 9): level-triggered, resumable
/// after kill -9 at any step, since the record is its only state and every step may be repeated.
/// Threads "tenants-1".."tenants-N"; one tenant is never worked on by two at once, but for the
/// signing of its certificate requests.
class Controller {
public:
  Controller(ControllerParts parts, Settings settings);
  ~Controller() = default; ///< waits for steps in progress
  Controller(const Controller&) = delete;

  Result<void> start(); ///< enqueues every record: of the directory, which must be filled by now
  void wake(std::string_view id) { queue_.add(std::string(id), Clock::duration::zero()); }

  /// What is upstream of a tenant may have drifted: it is looked after soon. An ID that is nobody's
  /// is ignored.
  void touch(std::string_view id) { queue_.touch(std::string(id)); }
  /// The same of every one, one after another, for what was not told.
  void touch_all() { queue_.add(std::string(k_all), Clock::duration::zero()); }

  std::uint64_t looks() const { return looks_.load(); } ///< at tenants, since the start

  /// A certificate request of this tenant may be due for signing (signing.cpp).
  void sign_soon(std::string_view id);

  /// The tenant writes webhooks that upstream calls: its record is to say so, for good. Any thread.
  void has_webhooks(std::string_view id);

  /// A new certificate for the administrator, in the place of the one that is kept; that one stays
  /// valid, and on record. Returns the new one's expiry. Blocking; any thread.
  Result<std::string> renew_credential(const api::Tenant& tenant);

  const Settings& settings() const { return settings_; } ///< without its policy

  /// The policy in force. Any thread; a value that stays as it is.
  std::shared_ptr<const Policy> policy() const { return policy_.load(); }
  void set_policy(Policy policy) {
    policy_.store(std::make_shared<const Policy>(std::move(policy)));
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::string_view k_all = "all/"; ///< a key of its own in the queue
  using Next = reconcile::Next;

  reconcile::Reconciler reconciler();
  Result<void> enqueue_all(bool settled_alone);
  /// Longer than the setting where there are many. `told`: since the look before it has begun.
  std::chrono::milliseconds resync(bool told) const;
  Result<Next> reconcile(upstream::ControlApi& api, std::string_view key, unsigned attempts);

  // sync.cpp
  Result<Next> sync(upstream::ControlApi& api, const api::Tenant& tenant, unsigned attempts);
  Result<void> make_room(upstream::ControlApi& api, const api::Tenant& tenant);
  Result<void> make_namespace(upstream::ControlApi& api, const api::Tenant& tenant,
                              const std::string& name);
  Result<void> repair_room(upstream::ControlApi& api, const api::Tenant& tenant);
  Result<void> make_authentication(upstream::ControlApi& api, const api::Tenant& tenant,
                                   bool fresh);
  Result<void> label_inside(upstream::ControlApi& api, const api::Tenant& tenant,
                            const std::string& name);
  InClusterAccess in_cluster_access(const api::Tenant& tenant) const;
  Result<void> make_service(upstream::ControlApi& api, std::string_view name_space, bool fresh);
  Result<std::string> ensure_credential(const api::Tenant& tenant);
  /// Of certificates alone, where the rest cannot be told.
  Result<void> tell_expiry(const api::Tenant& tenant, const std::string& expiry);
  Result<bool> populated(upstream::ControlApi& api, std::string_view id);

  // signing.cpp
  Result<void> sign_requests(upstream::ControlApi& api, const api::Tenant& tenant);

  // reclaim.cpp
  Result<Next> reclaim(upstream::ControlApi& api, const api::Tenant& tenant, unsigned attempts);

  void step(std::string_view name) const {
    if (settings_.on_step) settings_.on_step(name);
  }
  void tell_failure(std::string_view id, const Error& error);

  ControllerParts parts_;
  Settings settings_;
  Published<const Policy> policy_;
  upstream::Connections connections_;
  reconcile::Queue queue_;
  std::atomic<std::uint64_t> looks_{0};
  reconcile::Runner runner_; ///< last: its threads use all the rest
};

/// The administrator's key and certificate as the store keeps them, sealed.
struct StoredCredential {
  std::string uid;
  std::string certificate_pem;
  Secret key_pem;
};
Result<std::optional<StoredCredential>>
load_credential(store::Store& store, const crypto::Sealer& sealer, std::string_view id);
/// Its certificate, if it may still be handed out: the tenant's own, by this authority, not
/// revoked.
std::optional<crypto::Certificate> good_certificate(const StoredCredential& credential,
                                                    const api::Tenant& tenant,
                                                    const crypto::Certificate& authority);
Result<void> save_credential(store::Store& store, const crypto::Sealer& sealer, std::string_view id,
                             const StoredCredential& credential);

} // namespace zoo::tenants
