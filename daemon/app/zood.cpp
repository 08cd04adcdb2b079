// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/zood.hpp"

#include "common/api/network_peer.hpp"
#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/base/published.hpp"
#include "common/base/text.hpp"
#include "common/crypto/aead.hpp"
#include "common/kube/age.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/admin/service.hpp"
#include "daemon/app/accounts.hpp"
#include "daemon/app/address.hpp"
#include "daemon/app/authorities.hpp"
#include "daemon/app/backup.hpp"
#include "daemon/app/clusters.hpp"
#include "daemon/app/door_certificates.hpp"
#include "daemon/app/drift.hpp"
#include "daemon/app/health.hpp"
#include "daemon/app/inside_access.hpp"
#include "daemon/app/joining.hpp"
#include "daemon/app/leaving.hpp"
#include "daemon/app/loop_lag.hpp"
#include "daemon/app/machine_findings.hpp"
#include "daemon/app/memory.hpp"
#include "daemon/app/metrics.hpp"
#include "daemon/app/names.hpp"
#include "daemon/app/open_files.hpp"
#include "daemon/app/open_pki.hpp"
#include "daemon/app/relay_door.hpp"
#include "daemon/app/settings.hpp"
#include "daemon/app/signals.hpp"
#include "daemon/app/status.hpp"
#include "daemon/app/stores.hpp"
#include "daemon/app/usage.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/authz/policy_store.hpp"
#include "daemon/clusters/upstream_store.hpp"
#include "daemon/gateway/flow_control.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/gateway/ledger.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/tls_memory.hpp"
#include "daemon/net/workers.hpp"
#include "daemon/replicas/flow_reports.hpp"
#include "daemon/replicas/turns.hpp"
#include "daemon/resources/service.hpp"
#include "daemon/store/keyring.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/kept.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/tenants/pod_terms.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/tenants/service_impl.hpp"
#include "daemon/tenants/view_source.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/owner_index.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/engine.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace zoo::app {
namespace {

constexpr unsigned k_socket_mode = 0660;
constexpr std::chrono::seconds k_classes_known{30};

} // namespace

struct Zood::Impl {
  config::Values values;
  std::function<Result<config::Values>()> read;

  // In the order of dependence: what stands below may use what stands above.
  std::optional<store::DirectoryLock> directory_lock;
  std::unique_ptr<store::HeldStore> store;
  const store::TimedStore* timed = nullptr; ///< within `store`
  std::unique_ptr<store::Session> session;  ///< leads or not
  std::optional<store::Keyring> keyring;
  std::unique_ptr<audit::Log> audit;
  std::unique_ptr<upstream::Credential> credential;
  std::shared_ptr<upstream::UpstreamEndpoint> endpoint;
  std::unique_ptr<tenants::Pki> pki;
  std::unique_ptr<DoorCertificates> certificates;
  /// That pods verify the tenants' door by, as PEM; set before it is opened.
  Published<const std::string> authorities;
  Published<const access::QuotaGate> quota_gate; ///< null without accounts.enabled
  Published<const access::Furnisher> furnisher;  ///< likewise
  std::unique_ptr<crypto::Sealer> credential_sealer;
  tenants::TenantDirectory directory;
  std::unique_ptr<tenants::DirectoryFeeder> feeder;
  std::unique_ptr<virtuals::Board> board;
  gateway::FlowControl flow_control;
  gateway::Ledger ledger;
  Published<const tenants::DefaultTerms> terms; ///< for usage
  std::unique_ptr<net::Workers> loops;
  /// Null: no other zood has the store open. Behind the loops that it wakes.
  std::unique_ptr<replicas::SharedTurns> turns;
  std::optional<replicas::FlowReports> flow_reports; ///< likewise
  std::unique_ptr<net::Workers> rights_loop; ///< of the Follower; null without accounts.enabled
  /// Follows the objects that quotas count; null without accounts.enabled.
  std::unique_ptr<net::Workers> quota_loop;
  std::unique_ptr<net::Workers> cluster_loop; ///< of the Syncer; null without clusters.enabled
  std::unique_ptr<net::Workers> admin_loop;
  std::unique_ptr<upstream::Upstream> upstream;
  std::unique_ptr<virtuals::Engine> engine;
  std::unique_ptr<SharedClasses> shared_classes;
  std::unique_ptr<Drift> drift;
  std::unique_ptr<authz::PolicyStore> policies;
  std::optional<gateway::GatewayShared> gateway_shared;
  std::optional<tenants::ViewParts> view_parts;
  /// A loop's tenants' door.
  struct TenantsDoor {
    net::Loop* loop;
    gateway::Gateway* gateway;
    tenants::TenantViewSource* source; ///< the gateway's
  };
  std::vector<TenantsDoor> doors;
  std::unique_ptr<net::Listener> listener;
  std::unique_ptr<InsideAccess> inside;
  std::atomic<bool> pods_find_zood = false; ///< what `inside` has come to
  std::unique_ptr<tenants::TenantServiceImpl> tenants;
  std::unique_ptr<tenants::PodTermsKeeper> pod_terms;
  std::mutex told_mutex;                      ///< for a few instructions
  tenants::TenantServiceImpl* told = nullptr; ///< `tenants`, while it is there
  std::unique_ptr<Backups> backups;
  std::unique_ptr<StoreMigration> migration;
  std::unique_ptr<Status> status;
  std::unique_ptr<resources::Workers> admin_workers;
  std::shared_ptr<resources::Door> admin_door;
  std::unique_ptr<resources::Scheduler> admin_scheduler;
  std::unique_ptr<net::Listener> admin_socket, admin_listener;
  std::unique_ptr<RelayDoor> relay; ///< null without relay.enabled
  std::unique_ptr<Accounts> accounts;
  std::unique_ptr<Clusters> clusters;

  const std::int64_t started = kube::unix_now();
  std::string admin_url; ///< for the other zoods; "": none
  std::chrono::milliseconds max_stale{};
  Published<const LeaveTimes> leaving;
  std::unique_ptr<Health> health;    ///< null without health.listen
  std::unique_ptr<LoopLag> loop_lag; ///< of the workers
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;

  void tell(const auto& what) { ///< of `tenants`, if it is there; any thread
    const std::scoped_lock lock(told_mutex);
    if (told != nullptr) what(*told);
  }
  bool lives(const virtuals::Owner& owner) const;
  /// If they are others than before, the ConfigMaps of all tenants are written anew, one tenant
  /// after the other. Any thread, but one at a time.
  void publish_authorities();
  bool namespaces_are_furnished() const;
  bool too_stale() const;    ///< as replicas.max_stale has it; any thread
  bool shares_store() const; ///< may other zoods have it open, too?
  /// Has zood read what the upstream serves, and whose its namespaces are? Lists over all
  /// namespaces need both, and are answered 503 until then. Any thread, never blocks.
  bool knows_upstream() const;
  std::string why_not_ready() const; ///< "" = ready; any thread, never blocks
  Result<void> open_store();
  Result<void> open_audit();
  Result<void> open_upstream(const kube::ClusterAccess& access);
  Result<void> open_pki();
  Result<void> open_relay();
  Result<void> open_tenants_door();
  Result<void> open_accounts();
  Result<void> open_admin_doors();
  void reload();
  void drain();
};

bool Zood::Impl::lives(const virtuals::Owner& owner) const {
  const auto entry = directory.snapshot()->find(owner.id);
  return entry && entry->uid == owner.uid && entry->phase != tenants::Phase::deleting;
}

void Zood::Impl::publish_authorities() {
  auto trusted = pki->server_ca_pem();
  Authorities remembered(values.path("dir") / "pki" / "door-authorities.pem");
  auto bundle = remembered.bundle(trusted, std::chrono::system_clock::now());
  if (!bundle) log::error("app", "what pods trust is not known: {}", bundle.error().text());
  auto next = std::make_shared<const std::string>(bundle ? *std::move(bundle) : std::move(trusted));
  const auto before = authorities.load();
  const bool other = before && *before != *next;
  authorities.store(std::move(next));
  if (other) tell([](auto& service) { service.touch_all(); });
}

bool Zood::Impl::shares_store() const { return values.string("store.driver") == "etcd"; }

bool Zood::Impl::too_stale() const {
  return max_stale != std::chrono::milliseconds::zero() && store->stale() > max_stale;
}

bool Zood::Impl::namespaces_are_furnished() const {
  const auto api = credential->api();
  const auto all = tenants::all_have_authorities(*api);
  if (!all) log::warning("app", "namespaces cannot be looked through: {}", all.error().text());
  return all && *all;
}

bool Zood::Impl::knows_upstream() const {
  if (upstream->known_catalog()) return upstream->unlabelled_namespaces().has_value();
  loops->loops().front()->post([this, loop = loops->loops().front()] {
    upstream->catalog(*loop, upstream::Freshness::any, [](const auto&) {});
  });
  return false;
}

std::string Zood::Impl::why_not_ready() const {
  if (too_stale()) return "nothing was heard from the store for replicas.max_stale";
  if (!knows_upstream()) return "what the upstream has is not read yet";
  return {};
}

Result<void> Zood::Impl::open_store() {
  ZOO_TRY(auto own, app::open_store(values));
  directory_lock = std::move(own.lock);
  store = std::move(own.store);
  timed = own.timed;
  // Before anything is read: who waits until all have heard of a write waits for this one, too.
  ZOO_TRY(session, store->join(own_replica(values, started)));
  ZOO_TRY(auto opened, store::Keyring::open(*store, values.path("dir")));
  keyring.emplace(std::move(opened));
  ZOO_TRY(auto key, keyring->key("tenant-credentials"));
  credential_sealer = std::make_unique<crypto::Sealer>(std::move(key));
  ZOO_TRY(feeder, tenants::DirectoryFeeder::start(*store, directory));
  ZOO_TRY(board, virtuals::Board::start(
                     *store, [this](const virtuals::Owner& owner) { return lives(owner); }));
  return {};
}

Result<void> Zood::Impl::open_audit() {
  auto options = audit_options(values);
  options.journal = journal_match();
  if (shares_store()) options.replica = session->name();
  ZOO_TRY(audit, audit::Log::open(std::move(options)));
  return {};
}

Result<void> Zood::Impl::open_upstream(const kube::ClusterAccess& access) {
  upstream::CredentialOptions options;
  options.directory = values.path("dir");
  ZOO_TRY(credential, upstream::Credential::obtain(access, options));
  ZOO_TRY_VOID(Accounts::install(*credential, values));

  if (shares_store()) {
    ZOO_TRY(const auto room, credential->api()->get("/api/v1/namespaces/kube-system"));
    ZOO_TRY_VOID(check_upstream(*store, room.value("/metadata/uid"_json_pointer, std::string())));
  }
  ZOO_TRY(const auto address, parse_server_url(access.server));
  endpoint = std::make_shared<upstream::UpstreamEndpoint>();
  endpoint->host = address.host;
  endpoint->port = address.port;
  endpoint->server_name = access.credentials.tls_server_name;
  endpoint->ca_pem = access.credentials.ca_pem;
  credential->on_change([endpoint = endpoint](upstream::Credential::Authorization value) {
    if (!value) return endpoint->authorization.store(nullptr);
    auto line = http::FieldLines::make({{"Authorization", *value}});
    if (!line) return log::error("app", "the token for the upstream cannot be sent in a header");
    endpoint->authorization.store(std::make_shared<const http::FieldLines>(*std::move(line)));
  });
  loops = std::make_unique<net::Workers>(worker_count(values), "worker");
  std::vector<net::Loop*> others;
  if (values.boolean("accounts.enabled")) {
    rights_loop = std::make_unique<net::Workers>(1, "rights-loop");
    quota_loop = std::make_unique<net::Workers>(1, "quota-loop");
    others = {rights_loop->loops().front(), quota_loop->loops().front()};
  }
  if (values.boolean("clusters.enabled")) {
    cluster_loop = std::make_unique<net::Workers>(1, "cluster-loop");
    others.push_back(cluster_loop->loops().front());
  }
  upstream =
      std::make_unique<upstream::Upstream>(endpoint, loops->loops(), pool_limits(values), others);
  if (values.string("upstream.range_reads") == "off") upstream->set_range_reads(false);
  upstream->start();
  shared_classes = std::make_unique<SharedClasses>(values, *upstream, *loops->loops().front(),
                                                   [this] { return directory.snapshot(); });
  loops->loops().front()->post([this] { shared_classes->start(); });
  drift = std::make_unique<Drift>(
      *upstream, *loops->loops().front(),
      Drift::Tells{
          [this](std::string_view id) { tell([id](auto& service) { service.touch(id); }); },
          [this] { tell([](auto& service) { service.touch_all(); }); }});
  drift->start();
  return {};
}

Result<void> Zood::Impl::open_pki() {
  ZOO_TRY(pki, app::open_pki(values, *credential, *store, *keyring));
  certificates = std::make_unique<DoorCertificates>(*pki, values);
  const auto api = credential->api();
  return upstream::refuse_trusted_ca(*api, pki->ca(), pki->ca_key());
}

Result<void> Zood::Impl::open_relay() {
  ZOO_TRY(auto key, keyring->key("webhook-relay"));
  ZOO_TRY(relay,
          RelayDoor::open({values, *credential, endpoint, pool_limits(values), *upstream,
                           *loops->loops().front(), *pki, *store, std::move(key),
                           [this] { return directory.snapshot(); }, listener_limits(values),
                           [this] { tell([](auto& service) { service.relay_changed(); }); }}));
  return {};
}

Result<void> Zood::Impl::open_tenants_door() {
  ZOO_TRY_VOID(shared_classes->wait(k_classes_known));
  engine = std::make_unique<virtuals::Engine>(virtuals::EngineParts{
      *store, *board,
      [this]() -> virtuals::Validate {
        return [api = std::shared_ptr<upstream::ControlApi>(credential->api())](
                   const virtuals::Kind& kind, const nlohmann::json& object,
                   const translate::Mapping& mapping, std::string_view strictness) {
          return virtuals::ask_upstream(*api, kind, object, mapping, strictness);
        };
      },
      [this](const virtuals::Owner& owner) { return lives(owner); },
      [api = std::shared_ptr<upstream::ControlApi>(credential->api())] {
        return virtuals::next_revision(*api);
      }});
  ZOO_TRY(auto key, keyring->key("continue-tokens"));
  flow_control.set_limits(flow_limits(values));
  terms.store(std::make_shared<const tenants::DefaultTerms>(default_terms(values)));
  policies = std::make_unique<authz::PolicyStore>(*upstream, loops->loops());
  view_parts.emplace(tenants::ViewParts{
      directory, *upstream, *policies, std::string(tenants::k_tenant_admin_group),
      [this](const std::string& id) { return flow_control.share(id); },
      [this] { return relay ? relay->relay() : nullptr; }, [this] { return authorities.load(); },
      [this](const tenants::TenantEntry& entry) {
        return entry.inside.api && pods_find_zood.load();
      },
      [this] { return too_stale(); }});
  gateway_shared.emplace(gateway::GatewayShared{
      std::make_shared<const crypto::Sealer>(std::move(key)), flow_control, ledger,
      visible_nodes(values), board.get(), engine.get(),
      [this](const std::string& id) { tell([&id](auto& service) { service.sign_soon(id); }); },
      [this](const std::string& id) { tell([&id](auto& service) { service.has_webhooks(id); }); },
      [this] { return quota_gate.load(); }, [this] { return furnisher.load(); }, audit.get()});
  if (shares_store()) {
    turns = std::make_unique<replicas::SharedTurns>(*store, *session);
    ZOO_TRY_VOID(turns->start());
    gateway_shared->turns = turns.get();
    flow_reports.emplace(replicas::FlowReports::Parts{
        *store, *session,
        [this](auto zoods, auto most) { return flow_control.worth_telling(zoods, most); },
        [this](auto others, auto zoods) { flow_control.set_others(std::move(others), zoods); }});
  }
  ZOO_TRY(auto ticket_key, keyring->key("session-tickets"));
  ZOO_TRY(const auto tls, certificates->open_tenants(std::move(ticket_key)));
  publish_authorities();
  ZOO_TRY(listener, net::Listener::tcp(loops->loops(), values.string("listen"), tls,
                                       client_limits(values), [this](net::Loop& loop) {
                                         auto source = std::make_unique<tenants::TenantViewSource>(
                                             loop, *view_parts, default_terms(values));
                                         auto* const kept = source.get();
                                         auto made = std::make_unique<gateway::Gateway>(
                                             loop, *gateway_shared, std::move(source),
                                             gateway_limits(values));
                                         doors.push_back({&loop, made.get(), kept});
                                         return made;
                                       }));
  directory.on_withdrawal([this](std::string_view id) {
    for (const auto& door : doors)
      door.loop->post([gateway = door.gateway, id = std::string(id)] { gateway->recheck(id); });
  });
  return {};
}

Result<void> Zood::Impl::open_accounts() {
  accounts = std::make_unique<Accounts>(AccountsParts{
      values, *credential, *upstream, loops->loops(),
      rights_loop ? rights_loop->loops().front() : nullptr,
      quota_loop ? quota_loop->loops().front() : nullptr, *pki, *certificates, *audit,
      *gateway_shared, [this] { return directory.snapshot(); },
      [this](const std::string& id) { return flow_control.share(id); },
      [this](std::string_view id) { tell([id](auto& service) { service.touch(id); }); }});
  accounts->lead(session->leads());
  ZOO_TRY_VOID(accounts->open());
  quota_gate.store(accounts->quota_gate());
  furnisher.store(accounts->furnisher());
  directory.on_change([this](std::string_view id) { accounts->tenant_changed(id); });
  return {};
}

Result<void> Zood::Impl::open_admin_doors() {
  const auto listen = listener->address();
  ZOO_TRY(const auto advertised,
          parse_address(values.string("advertise").empty() ? listen : values.string("advertise")));
  ZOO_TRY(const auto listened, parse_address(listen));
  tenants::Settings settings;
  settings.policy = tenants_policy(values);
  settings.advertise_host = advertised.host;
  settings.advertise_port = advertised.port == 0 ? listened.port : advertised.port;
  const auto advertise = settings.server_url();
  const Address door{settings.advertise_host, settings.advertise_port};
  inside = std::make_unique<InsideAccess>(InsideAccess::Parts{
      values, *credential, *upstream, *loops->loops().front(), *certificates, *pki, directory,
      *store, door, [this] { return namespaces_are_furnished(); },
      [this](bool given) {
        pods_find_zood = given;
        tell([](auto& service) { service.touch_all(); });
      }});
  tenants = std::make_unique<tenants::TenantServiceImpl>(
      tenants::ControllerParts{
          *store, *pki, *credential_sealer, [this] { return credential->api(); }, &directory,
          [this] { return drift->hears(); },
          [this](auto owner) { return upstream->volumes().names_of(owner); },
          [this](auto owner) { return upstream->attachments().names_of(owner); },
          [this] { return relay ? relay->now() : RelayDoor::none(*upstream); },
          [this] { return inside->access(); }, [this] { return authorities.load(); },
          shares_store() ? session.get() : nullptr,
          [this](auto& api, auto& id, auto& space) { return accounts->furnish(api, id, space); },
          [this](auto& api, auto& id, auto& space) {
            return accounts->keep_furnished(api, id, space);
          },
          [this](const api::Tenant& tenant) { return accounts->furnished(tenant); },
          [this](auto& api, auto& tenant) { return clusters::place_of_room(*store, api, tenant); }},
      std::move(settings), credential.get());
  backups = std::make_unique<Backups>(BackupParts{
      *store, values.path("dir"), values.path("upstream.kubeconfig"),
      [this] {
        const auto room = credential->api()->get("/api/v1/namespaces/kube-system");
        return room ? room->value("/metadata/uid"_json_pointer, std::string()) : std::string();
      },
      kube::unix_now, std::chrono::system_clock::to_time_t(pki->ca().not_before())});
  ZOO_TRY(auto here, config::store_place(values));
  migration =
      std::make_unique<StoreMigration>(*store, *session, std::move(here), values.path("dir"));
  tenants->set_usage([this](const api::Tenant& tenant) {
    return usage_json(tenant, *terms.load(), ledger, flow_control,
                      accounts->use_of_tenant(tenant.id));
  });
  tenants->set_findings([this, advertise, host = door.host] {
    auto out = certificates->findings(host);
    const auto add = [&out](std::vector<tenants::Finding> more) {
      std::move(more.begin(), more.end(), std::back_inserter(out));
    };
    add(accounts->findings());
    if (relay) add(relay->findings());
    add(inside->findings());
    add(backups->findings());
    add(migration->findings());
    add(machine_findings({values.path("dir"), *store, *credential->api(), *credential->acting_api(),
                          files_wanted(values), advertise, pki->server_ca_pem()}));
    add(clusters->findings());
    return out;
  });
  {
    const std::scoped_lock lock(told_mutex);
    told = tenants.get();
  }
  ZOO_TRY_VOID(tenants->start());
  ZOO_TRY(clusters, Clusters::open({values, *store, *credential, *upstream, loops->loops(),
                                    *listener, door, *gateway_shared, tenants->of_clusters(),
                                    cluster_loop ? cluster_loop->loops().front() : nullptr}));
  session->on_change([this](bool leads) {
    accounts->lead(leads);
    if (leads && shares_store()) tell([](auto& service) { service.lead(); });
  });
  pod_terms = std::make_unique<tenants::PodTermsKeeper>(
      [this] { return credential->api(); },
      [this] {
        return tenants::PodTerms::Sources{terms.load()->guards, upstream->shared_names(),
                                          directory.snapshot(), inside->audiences(),
                                          relay ? relay->base() : std::string()};
      },
      [this] { return upstream->priorities().names_of(upstream::k_default_priority); });

  const auto socket = values.is_set("admin.socket") ? values.path("admin.socket")
                                                    : values.path("dir") / "zood.sock";
  status = std::make_unique<Status>(*credential, *listener, worker_count(values), advertise,
                                    socket.string(), *audit);
  status->set_not_ready([this] { return why_not_ready(); });
  ZOO_TRY(const auto account_door, accounts->door_url());
  if (!account_door.empty())
    status->set_account_door(account_door, [this] { return pki->server_ca_pem(); });
  status->set_measure([this](MetricText& out) {
    std::vector<reconcile::Counts> controllers{tenants->counts()};
    for (auto& more : {accounts->controllers(), clusters->controllers()})
      controllers.insert(controllers.end(), more.begin(), more.end());
    measure(out, {*listener, flow_control, *upstream, *audit, *credential, *pki, *certificates,
                  *policies, *timed, admin_workers->waiting(), engine ? engine->waiting() : 0,
                  std::move(controllers), tenants->looks(), drift->hears(),
                  loop_lag ? loop_lag->longest() : std::chrono::milliseconds(0)});
    measure_findings(out, tenants->found());
    if (relay) relay->measure(out);
    backups->measure(out);
    migration->measure(out);
    accounts->measure(out);
    clusters->measure(out);
  });
  admin_loop = std::make_unique<net::Workers>(1, "admin-loop");
  admin_workers = std::make_unique<resources::Workers>("zood-admin");
  admin_scheduler = resources::make_scheduler(*admin_loop->loops().front());
  admin_door = admin::make_door(
      {*tenants,
       *status,
       *admin_workers,
       {},
       {},
       audit.get(),
       accounts->aggregated_switch(),
       [this](bool force, bool dry_run) { return accounts->uninstall(force, dry_run); },
       backups.get(),
       migration.get(),
       accounts->quotas(),
       clusters->kinds()});
  const auto make = [this](net::Loop&) {
    return std::make_unique<resources::ApiService>(admin_door, *admin_workers, *admin_scheduler);
  };
  // The group of the socket is zood's own where there is no group zoo: quickstart, tests.
  const std::string group = group_exists("zoo") ? "zoo" : "";
  ZOO_TRY(admin_socket, net::Listener::unix(admin_loop->loops(), socket, k_socket_mode, group,
                                            listener_limits(values), make));
  if (values.string("admin.listen").empty()) return {};
  ZOO_TRY(const auto admin_tls, certificates->open_admin());
  ZOO_TRY(admin_listener, net::Listener::tcp(admin_loop->loops(), values.string("admin.listen"),
                                             admin_tls, listener_limits(values), make));
  status->set_admin_listen(admin_listener->address());
  ZOO_TRY(const auto address, parse_address(admin_listener->address()));
  certificates->write_admin_kubeconfig("https://" + reachable(address).text());
  admin_url = "https://" + reachable_from_elsewhere(address).text();
  session->tell(replica_info(values, started, admin_url));
  return {};
}

void Zood::Impl::reload() {
  notify_reloading();
  audit->reopen(); // whatever the configuration says: its file may have been moved away
  const auto loaded = read();
  const auto networks = loaded ? check_networks(*loaded) : Result<void>();
  if (!loaded || !networks) {
    log::error("app", "the configuration was not reloaded: {}",
               (loaded ? networks.error() : loaded.error()).text());
    return notify_ready();
  }
  for (const auto* key : values.differing(*loaded)) {
    if (!key->reloadable) {
      log::warning("app", "{} has changed: it takes effect at the next start", key->name);
    }
  }
  log::set_level(loaded->string("log.level"));
  listener->set_limits(client_limits(*loaded));
  upstream->set_limits(pool_limits(*loaded));
  flow_control.set_limits(flow_limits(*loaded));
  terms.store(std::make_shared<const tenants::DefaultTerms>(default_terms(*loaded)));
  tenants->set_policy(tenants_policy(*loaded));
  audit->set_policy(audit_policy(*loaded));
  leaving.store(std::make_shared<const LeaveTimes>(leave_times(*loaded)));
  for (const auto& door : doors) {
    door.loop->post([door, limits = gateway_limits(*loaded), terms = *terms.load()] {
      door.gateway->set_limits(limits);
      door.source->set_terms(terms);
    });
  }
  certificates->reload(*loaded);
  session->tell(replica_info(*loaded, started, admin_url));
  publish_authorities();
  accounts->reload(*loaded);
  log::info("app", "reloaded");
  notify_ready();
}

void Zood::Impl::drain() {
  notify_stopping();
  session->resign(); // another zood begins while this one ends what it has begun
  accounts->withdraw();
  auto listeners = accounts->listeners();
  listeners.insert(listeners.end(), {listener.get(), admin_socket.get(), admin_listener.get(),
                                     relay ? relay->listener() : nullptr});
  leave(health.get(), *leaving.load(), listeners);
}

Zood::Zood() : impl_(std::make_unique<Impl>()) {}

Zood::~Zood() {
  // Doors first, then what their requests use, then the loops, then the rest in reverse order.
  auto& z = *impl_;
  if (z.health) z.health->close();
  z.loop_lag.reset();
  if (z.credential) z.credential->stop_requests(); // an upstream that is silent holds nobody up
  if (z.session) z.session->on_change({});         // no controller is told to lead any more
  z.admin_listener.reset();
  z.admin_socket.reset();
  if (z.admin_workers) z.admin_workers->stop();
  {
    const std::scoped_lock lock(z.told_mutex);
    z.told = nullptr;
  }
  if (z.clusters) z.clusters->close();
  if (z.inside) z.inside->close();
  z.pod_terms.reset();
  z.tenants.reset();
  z.feeder.reset(); // what it says of withdrawals is the gateways'
  z.listener.reset();
  if (z.accounts) z.accounts->close();
  if (z.relay) z.relay->close();
  if (z.admin_loop) z.admin_loop->stop();
  if (z.rights_loop) z.rights_loop->stop();
  if (z.quota_loop) z.quota_loop->stop();
  if (z.cluster_loop) z.cluster_loop->stop();
  if (z.loops) z.loops->stop();
  z.relay.reset();
  z.accounts.reset();
  z.engine.reset();
  z.inside.reset();
  z.drift.reset();
  z.shared_classes.reset();
  z.policies.reset();
  z.upstream.reset();
}

Result<std::unique_ptr<Zood>> Zood::start(config::Values values,
                                          std::function<Result<config::Values>()> read) {
  std::unique_ptr<Zood> zood(new Zood);
  auto& z = *zood->impl_;
  z.values = std::move(values);
  z.read = std::move(read);
  log::set_level(z.values.string("log.level"));
  set_up_malloc(worker_count(z.values));
  raise_open_files(files_wanted(z.values));
  if (!net::keep_tls_buffers())
    log::debug("app", "OpenSSL has memory already: each TLS record asks for its own");
  z.leaving.store(std::make_shared<const LeaveTimes>(leave_times(z.values)));
  z.max_stale = z.values.duration("replicas.max_stale");
  ZOO_TRY(const auto access, check_startable(z.values));
  if (const auto address = z.values.string("health.listen"); !address.empty()) {
    ZOO_TRY(z.health, Health::open(address));
  }
  ZOO_TRY_VOID(z.open_store());
  ZOO_TRY_VOID(z.open_audit());
  ZOO_TRY_VOID(z.open_upstream(access));
  ZOO_TRY_VOID(z.open_pki());
  ZOO_TRY_VOID(z.open_relay());
  ZOO_TRY_VOID(z.open_tenants_door());
  ZOO_TRY_VOID(z.open_accounts());
  ZOO_TRY_VOID(z.open_admin_doors());
  if (z.relay) z.relay->start();
  z.loop_lag = std::make_unique<LoopLag>(z.loops->loops(), *z.admin_loop->loops().front());
  if (z.health)
    z.health->watch(
        {[&z] { return z.loop_lag->longest(); }, [&z] { return z.why_not_ready().empty(); }});
  log::info("app", "zood {} serves tenants on {} and administrators on {}", ZOO_VERSION,
            z.listener->address(), z.admin_socket->address());
  return zood;
}

void Zood::run(Signals& signals) {
  auto& z = *impl_;
  signals.start({[&z] {
                   const std::scoped_lock lock(z.mutex);
                   z.ending = true;
                   z.changed.notify_all();
                 },
                 [&z] { z.reload(); }});
  notify_ready();
  if (z.health) z.health->set(Health::State::ready);
  const auto watchdog = std::chrono::microseconds(watchdog_interval_microseconds());
  const auto interval = watchdog.count() != 0
                            ? std::min<std::chrono::microseconds>(watchdog, FreedMemory::k_interval)
                            : FreedMemory::k_interval;
  FreedMemory freed;
  auto looked = std::chrono::steady_clock::now();
  std::unique_lock lock(z.mutex);
  while (!z.changed.wait_for(lock, interval, [&z] { return z.ending; })) {
    freed.give_back();
    if (const auto now = std::chrono::steady_clock::now();
        now - looked >= DoorCertificates::k_look) {
      looked = now;
      lock.unlock(); // files and keys take their time, and a signal need not wait for them
      z.certificates->renew();
      z.accounts->renew();
      if (z.relay) z.relay->renew();
      lock.lock();
    }
    // The watchdog hears of a loop that turns, not merely of a process that exists.
    if (watchdog.count() != 0) z.loops->loops().front()->post([] { notify_watchdog(); });
  }
  lock.unlock();
  signals.ignore_reloads(); // what they change goes, piece by piece
  z.drain();
}

} // namespace zoo::app
