// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/api/terms.hpp"
#include "common/base/published.hpp"
#include "common/base/result.hpp"
#include "common/crypto/aead.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/store/led.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/cluster_tenants.hpp"
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

namespace zoo::translate {
struct Relay;
struct SharedNames;
} // namespace zoo::translate

namespace zoo::tenants {

struct KeptTerms;

/// What may change while zood runs.
struct Policy {
  std::vector<std::string> reserved_ids;
  std::chrono::seconds certificate_validity{365 * 24 * 3600};
  std::chrono::seconds certificate_warning{14 * 24 * 3600};
  std::chrono::milliseconds delete_grace{30'000};
  api::Guards guards; ///< of a Tenant that says nothing else; of these only those about networks
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
  /// After webhooks were stored anew, until they are looked at again: writes under way have ended.
  std::chrono::milliseconds restated{5'000};
  unsigned workers = 8;
  /// For tests: told the name of each step before it is done.
  std::function<void(std::string_view step)> on_step;

  std::string server_url() const;
};

/// Names of cluster-scoped objects that are somebody's by what is in them, known a moment late and
/// without reading everybody's; nullopt: not known.
using NamesOf = std::function<std::optional<Names>(std::string_view owner_prefix)>;

/// Does upstream call tenants' webhooks through the relay?
struct RelayNow {
  bool known = false; ///< else it was not tried yet, and stored webhooks stay as they are
  std::shared_ptr<const translate::Relay> relay{};        ///< null: it does not
  std::string why;                                        ///< of null: a sentence
  std::shared_ptr<const translate::SharedNames> shared{}; ///< of names; not null where known
};

struct ControllerParts {
  store::Store& store;
  const Pki& pki;
  const crypto::Sealer& sealer; ///< of the Keyring's key "tenant-credentials"
  std::function<std::unique_ptr<upstream::ControlApi>()> connect;
  const TenantDirectory* directory = nullptr; ///< null: nobody is let in (tests)
  std::function<bool()> hears{};              ///< is it told of what drifts, by touch()? Null: no
  NamesOf claimed_volumes{}; ///< PersistentVolumes by their claim's namespace. Null: never known
  NamesOf attachments{};     ///< VolumeAttachments by their volume and a slash. Null: never known
  std::function<RelayNow()> relay{}; ///< any thread. Null: there is none, and nothing is said of it
  /// Is zood the API server inside pods? Null: as far as Service default/kubernetes leads there.
  std::function<InClusterAccess()> in_cluster{};
  /// What pods verify zood by (PEM); any thread. Null: what kubeconfigs trust. Who changes it calls
  /// touch_all().
  std::function<std::shared_ptr<const std::string>()> authorities{};
  /// Who makes upstream what the records want, of the zoods that have one store open. Null: this
  /// one is alone.
  store::Session* session = nullptr;
  /// Puts into a namespace what has to be there before the tenant has rights in it
  /// (access::Furnisher); and keeps it there. Both block. Null: nothing.
  using Furnish = std::function<Result<void>(upstream::ControlApi& api, const std::string& id,
                                             const std::string& space)>;
  Furnish furnish{}, keep_furnished{};
  /// What the Tenant says of that; nothing: it has no such condition. Null: none has.
  std::function<std::optional<api::Condition>(const api::Tenant&)> furnished{};
  PlaceOfRoom room_place{}; ///< of a Tenant that is to go. Blocks. Null: it is here
};

/// Of a Tenant: whether its quotas, account and templates hold in its namespaces.
inline constexpr std::string_view k_furnished = "Furnished";

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
  /// This zood leads from now on: everything is looked at, also what was done elsewhere.
  void lead() { queue_.add(std::string(k_lead), Clock::duration::zero()); }

  std::uint64_t looks() const { return looks_.load(); } ///< at tenants, since the start
  reconcile::Counts counts() const { return runner_.counts(); }

  /// A certificate request of this tenant may be due for signing (signing.cpp).
  void sign_soon(std::string_view id);

  /// The tenant writes webhooks that upstream calls: its record is to say so, for good. Any thread.
  void has_webhooks(std::string_view id);

  /// Makes a namespace of a virtual cluster's Tenant, with its fence and its account, or brings it
  /// in order; it is writable for the Tenant's user when this returns. Code::conflict if it is
  /// somebody else's, or is being deleted. Blocking; any thread.
  Result<void> open_namespace(upstream::ControlApi& api, const api::Tenant& tenant,
                              const std::string& upstream_name);

  /// The relay has become another, or none: every tenant's stored webhooks are to be called as
  /// RelayNow says. Any thread.
  void relay_changed() { queue_.add(std::string(k_hooks), Clock::duration::zero()); }

  /// A new certificate for the administrator, in the place of the one that is kept; that one stays
  /// valid, and on record. Returns the new one's expiry. Blocking; any thread.
  Result<std::string> renew_credential(const api::Tenant& tenant);

  const Settings& settings() const { return settings_; } ///< without its policy

  /// The policy in force. Any thread; a value that stays as it is.
  std::shared_ptr<const Policy> policy() const { return policy_.load(); }
  /// Where tenants' networks are kept apart in another way than before, all are looked after.
  void set_policy(Policy policy);
  /// What is kept in the namespaces of a tenant, by the policy in force. Any thread.
  KeptTerms kept_terms(const api::Tenant& tenant) const;

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::string_view k_all = "all/";     ///< a key of its own in the queue
  static constexpr std::string_view k_lead = "lead/";   ///< likewise
  static constexpr std::string_view k_hooks = "hooks/"; ///< before an ID; alone: of all tenants
  using Next = reconcile::Next;

  reconcile::Reconciler reconciler();
  Result<void> enqueue_all(bool settled_alone);
  /// Longer than the setting where there are many. `told`: since the look before it has begun.
  std::chrono::milliseconds resync(bool told) const;
  Result<Next> reconcile(upstream::ControlApi& api, std::string_view key, unsigned attempts);
  /// What the leader alone does, upstream and in the store: `look` on an interface to the upstream
  /// that refuses everything when this zood does not lead. Then it is looked at later.
  Result<Next> if_leading(upstream::ControlApi& api,
                          const std::function<Result<Next>(upstream::ControlApi& api)>& look);
  Result<void> hear_of_others();
  Result<std::string> renew_credential(store::Store& store, const api::Tenant& tenant);

  // sync.cpp
  Result<Next> sync(upstream::ControlApi& api, const api::Tenant& tenant, unsigned attempts);
  Result<void> make_room(upstream::ControlApi& api, const api::Tenant& tenant);
  Result<void> make_namespace(upstream::ControlApi& api, const api::Tenant& tenant,
                              const std::string& name);
  Result<void> furnish(upstream::ControlApi& api, const api::Tenant& tenant,
                       const std::string& space);
  Result<void> repair_room(upstream::ControlApi& api, const api::Tenant& tenant);
  Result<void> make_authentication(upstream::ControlApi& api, const api::Tenant& tenant,
                                   bool fresh);
  Result<void> label_inside(upstream::ControlApi& api, const api::Tenant& tenant,
                            const std::string& name);
  InClusterAccess in_cluster_access(const api::Tenant& tenant) const;
  Result<void> make_service(upstream::ControlApi& api, std::string_view name_space, bool fresh);
  Result<void> make_addresses(upstream::ControlApi& api, std::string_view name_space, bool fresh);
  Result<std::string> ensure_credential(const api::Tenant& tenant);
  /// Of certificates alone, where the rest cannot be told.
  Result<void> tell_expiry(const api::Tenant& tenant, const std::string& expiry);
  Result<bool> populated(upstream::ControlApi& api, const api::Tenant& tenant);

  // hook_forms.cpp
  /// What condition k_webhooks_relayed is to say; nullopt: nothing, as far as is known.
  std::optional<api::Condition> wanted_relaying(const api::Tenant& tenant,
                                                const RelayNow& now) const;
  void look_at_hooks(const api::Tenant& tenant); ///< soon, if that condition says something else
  Result<Next> restate_hooks(upstream::ControlApi& api, const api::Tenant& tenant);
  Result<Next> reconcile_hooks(upstream::ControlApi& api, std::string_view id);

  // signing.cpp
  Result<void> sign_requests(upstream::ControlApi& api, const api::Tenant& tenant);

  // reclaim.cpp
  Result<Next> reclaim(upstream::ControlApi& api, const api::Tenant& tenant, unsigned attempts);

  void step(std::string_view name) const {
    if (settings_.on_step) settings_.on_step(name);
  }
  void tell_failure(std::string_view id, const Error& error);

  ControllerParts parts_;
  store::LedStore led_; ///< for what the leader alone does
  Settings settings_;
  Published<const Policy> policy_;
  upstream::Connections connections_;
  reconcile::Queue queue_;
  std::atomic<std::uint64_t> looks_{0};
  store::Subscription others_; ///< tells of what other zoods have written
  reconcile::Runner runner_;   ///< last: its threads use all the rest
};

/// The administrator's key and certificate as the store keeps them, sealed.
struct StoredCredential {
  std::string uid;
  std::string certificate_pem;
  Secret key_pem;
};
Result<std::optional<StoredCredential>>
load_credential(store::Store& store, const crypto::Sealer& sealer, std::string_view id);
/// Its certificate, if it may be handed out: the tenant's own, by this authority, not revoked.
std::optional<crypto::Certificate> good_certificate(const StoredCredential& credential,
                                                    const api::Tenant& tenant,
                                                    const crypto::Certificate& authority);
Result<void> save_credential(store::Store& store, const crypto::Sealer& sealer, std::string_view id,
                             const StoredCredential& credential);

} // namespace zoo::tenants
