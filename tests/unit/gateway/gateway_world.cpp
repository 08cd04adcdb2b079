// SPDX-License-Identifier: Apache-2.0
#include "gateway_world.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/issue.hpp"
#include "daemon/accounts/account_view_source.hpp"
#include "daemon/authz/policy_store.hpp"
#include "daemon/gateway/flow_control.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/gateway/ledger.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/store/sqlite.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/view_source.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/owner_index.hpp"
#include "daemon/upstream/shared_watches.hpp"
#include "daemon/upstream/upstream.hpp"
#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/engine.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

namespace zoo::test {
namespace {

constexpr std::string_view k_zood = "Bearer zood";

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

// ---- who asks -----------------------------------------------------------------------------------

/// By a client certificate, if `tenant` is said, else by a token, if `token` is said.
struct Person {
  std::string_view tenant, uid, user, group;
  bool verified = true; ///< by the listener, against its door's authority
  std::string_view token{};
  bool at_accounts = false; ///< at the account door; his certificate names no tenant
};

Person user(std::string_view name, std::string_view group = "") {
  return {"", "", name, group, true, "", true};
}

const std::map<std::string, Person, std::less<>> k_people = {
    {"admin", {"abc123", "uid-abc", "admin", tenants::k_tenant_admin_group}},
    {"rival", {"zzz999", "uid-zzz", "admin", tenants::k_tenant_admin_group}},
    // Users of abc123, with what world/standing.json grants them.
    {"alice", {"abc123", "uid-abc", "alice", ""}},
    {"bob", {"abc123", "uid-abc", "bob", ""}},
    {"carol", {"abc123", "uid-abc", "carol", ""}},
    {"dev", {"abc123", "uid-abc", "erin", "devs"}},
    // Who is not let in.
    {"stranger", {"", "", "", ""}},
    {"forger", {"abc123", "uid-abc", "admin", tenants::k_tenant_admin_group, false}},
    {"predecessor", {"abc123", "uid-of-before", "admin", tenants::k_tenant_admin_group}},
    {"suspended", {"sus000", "uid-sus", "admin", tenants::k_tenant_admin_group}},
    {"unknown", {"nobody", "uid-none", "admin", tenants::k_tenant_admin_group}},
    // Tokens of ServiceAccounts; nobody has signed them, upstream says what they are worth.
    {"robot", {"", "", "", "", true, "system:serviceaccount:abc123-default:robot"}},
    {"other-robot", {"", "", "", "", true, "system:serviceaccount:kube-system:default"}},
    // Users of the upstream at the account door; what they may do is in account_world.cpp.
    {"john", user("john", "devs")},
    {"many", user("many")},
    {"auditor", user("auditor")},
    {"boss", user("boss")},
    {"nobody", user("nobody")},
    {"ci-by-certificate", user("system:serviceaccount:team-a:ci")},
    {"ci", {"", "", "", "", true, "system:serviceaccount:team-a:ci", true}},
    {"ci-elsewhere", {"", "", "", "", true, "system:serviceaccount:new:ci", true}},
    // Who is not let in there: a tenant's credentials, and nobody's.
    {"tenant-at-accounts",
     {"abc123", "uid-abc", "admin", tenants::k_tenant_admin_group, false, "", true}},
    {"tenant-of-their-ca",
     {"abc123", "uid-abc", "admin", tenants::k_tenant_admin_group, true, "", true}},
    {"robot-at-accounts",
     {"", "", "", "", true, "system:serviceaccount:abc123-default:robot", true}},
    {"stranger-at-accounts", {"", "", "", "", true, "", true}},
    {"robot-by-certificate", user("system:serviceaccount:abc123-default:robot")},
    {"blank", user("admin ")},
};

/// What a ServiceAccount's token says, without a signature that means anything.
std::string token_of(std::string_view account) {
  const std::string claims = R"({"iss":"kubernetes","aud":["zood"],"sub":")" +
                             std::string(account) + R"(","iat":1700000000,"exp":4102444800})";
  return crypto::base64url_encode(R"({"alg":"RS256","kid":"of-upstream"})") + "." +
         crypto::base64url_encode(claims) + "." + crypto::base64url_encode("signature");
}

/// ConnectionInfo::peer_authority of whoever is verified.
constexpr std::string_view k_authority = "digest of their authority";

/// Certificates are made once for all worlds.
std::string certificate_of(const Person& person) {
  static const auto key = must(crypto::PrivateKey::generate_p256());
  static const auto ca = must(crypto::make_ca(key, "tenants", std::chrono::hours(24)));
  static std::map<std::string, std::string> made;
  auto& der = made[std::string(person.tenant) + '/' + std::string(person.uid) + '/' +
                   std::string(person.user)];
  if (!der.empty()) return der;
  crypto::CertificateRequest request;
  request.common_name = person.user;
  if (!person.group.empty()) request.organizations = {std::string(person.group)};
  if (!person.tenant.empty()) {
    request.organizational_units = {std::string(person.tenant)};
    request.uris = {tenants::uri_of({person.tenant, person.uid})};
  }
  request.validity = std::chrono::hours(12);
  request.client = true;
  der = must(crypto::issue(ca, key, key, request)).der();
  return der;
}

// ---- how it is configured -----------------------------------------------------------------------

/// The broker of quotas as a row has it: what it says of every create in a tenant's namespace.
class WorldGate final : public access::QuotaGate {
public:
  explicit WorldGate(std::string refusal) : refusal_(std::move(refusal)) {}
  bool concerns(std::string_view space) const override { return space.starts_with("abc123-"); }
  std::unique_ptr<Pass> ask(const access::QuotaAsk& ask, net::Loop& loop,
                            std::function<void(const std::string&)> done) const override {
    // In upstream's names, as the real one is asked.
    loop.post([done = std::move(done), text = fmt::format("{} ({} {})", refusal_, ask.space,
                                                          ask.resource)] { done(text); });
    return nullptr;
  }

private:
  const std::string refusal_;
};

/// And what has to be in a namespace before the tenant reaches it: nothing, or a failure.
class WorldFurnisher final : public access::Furnisher {
public:
  explicit WorldFurnisher(std::optional<Error> failure) : failure_(std::move(failure)) {}
  bool concerns(std::string_view tenant) const override { return tenant == "abc123"; }
  void furnish(std::string_view, std::string_view, net::Loop& loop,
               std::function<void(const Result<void>&)> done) const override {
    loop.post([done = std::move(done), failure = failure_] {
      done(failure ? Result<void>(fail(*failure)) : Result<void>());
    });
  }

private:
  const std::optional<Error> failure_;
};

struct Settings {
  std::shared_ptr<const access::QuotaGate> gate;
  std::shared_ptr<const access::Furnisher> furnisher;
  gateway::GatewayLimits limits;
  tenants::DefaultTerms terms;
  gateway::Nodes nodes = gateway::Nodes::all;
  bool range_reads = true;
  translate::SharedNames shared;
};

bool boolean(const std::string& value) {
  if (value != "true" && value != "false") throw std::runtime_error("neither true nor false");
  return value == "true";
}

Settings settings_of(const WorldSettings& values) {
  using Set = std::function<void(Settings&, const std::string&)>;
  static const std::map<std::string, Set> known = {
      {"limits.body", [](auto& s, auto& v) { s.limits.request_body = std::stoul(v); }},
      {"limits.object", [](auto& s, auto& v) { s.limits.object = std::stoul(v); }},
      {"limits.requests_inflight",
       [](auto& s, auto& v) { s.terms.flow.requests = static_cast<std::uint32_t>(std::stoul(v)); }},
      {"limits.mutations_inflight",
       [](auto& s, auto& v) {
         s.terms.flow.mutations = static_cast<std::uint32_t>(std::stoul(v));
       }},
      {"limits.long_running",
       [](auto& s, auto& v) {
         s.terms.flow.long_running = static_cast<std::uint32_t>(std::stoul(v));
       }},
      {"guards.node_names", [](auto& s, auto& v) { s.terms.guards.node_names = boolean(v); }},
      {"guards.endpoints", [](auto& s, auto& v) { s.terms.guards.endpoints = boolean(v); }},
      {"guards.volume_drivers", [](auto& s, auto& v) { s.terms.guards.volume_drivers = {v}; }},
      {"guards.ingress_hosts", [](auto& s, auto& v) { s.terms.guards.ingress_hosts = {v}; }},
      {"guards.network", [](auto& s, auto& v) { s.terms.guards.isolated = v == "isolated"; }},
      {"guards.network_from", [](auto& s, auto& v) { s.terms.guards.network_from = {v}; }},
      {"quota.refusal", [](auto& s, auto& v) { s.gate = std::make_shared<WorldGate>(v); }},
      {"furnisher.fails",
       [](auto& s, auto& v) {
         s.furnisher = std::make_shared<WorldFurnisher>(Error(Code::invalid, v));
       }},
      {"furnisher.waits",
       [](auto& s, auto& v) {
         s.furnisher = std::make_shared<WorldFurnisher>(Error(Code::timeout, v));
       }},
      {"quota.namespaces",
       [](auto& s, auto& v) { s.terms.quota[api::Counted::namespaces] = std::stoul(v); }},
      {"quota.loadbalancers",
       [](auto& s, auto& v) { s.terms.quota[api::Counted::load_balancers] = std::stoul(v); }},
      {"nodes.visibility",
       [](auto& s, auto& v) {
         s.nodes = v == "own"    ? gateway::Nodes::own
                   : v == "none" ? gateway::Nodes::none
                                 : gateway::Nodes::all;
       }},
      {"upstream.range_reads", [](auto& s, auto& v) { s.range_reads = v != "off"; }},
      {"shared.storageclasses",
       [](auto& s, auto& v) {
         s.shared.classes[static_cast<std::size_t>(translate::Overlay::storage_class)].insert(v);
       }},
      {"shared.groups", [](auto& s, auto& v) { s.shared.groups.insert(v); }},
  };
  Settings out;
  for (const auto& [name, value] : values) {
    const auto found = known.find(name);
    if (found == known.end()) throw std::runtime_error("the world has no setting " + name);
    found->second(out, value);
  }
  return out;
}

nlohmann::json standing() {
  return nlohmann::json::parse(
      must(file::read(std::string(ZOO_SOURCE_DIR) + "/tests/unit/gateway/world/standing.json")));
}

std::shared_ptr<const tenants::TenantEntry> tenant(std::string id, std::string uid,
                                                   tenants::Phase phase) {
  auto entry = std::make_shared<tenants::TenantEntry>();
  entry->id = std::move(id);
  entry->uid = std::move(uid);
  entry->created = "2024-01-01T00:00:00Z";
  entry->revision = 1;
  entry->phase = phase;
  return entry;
}

std::shared_ptr<upstream::UpstreamEndpoint> endpoint_at(std::uint16_t port) {
  auto out = std::make_shared<upstream::UpstreamEndpoint>();
  out->host = "127.0.0.1";
  out->port = port;
  out->tls = false;
  out->authorization.store(std::make_shared<const http::FieldLines>(
      must(http::FieldLines::make({{"Authorization", k_zood}}))));
  return out;
}

} // namespace

// ---- a client -----------------------------------------------------------------------------------

void WorldClient::send_head(const http::ResponseHead& given, bool end) {
  if (std::exchange(head_came, true)) body += "<a second head was sent>"; // no row says so
  head = given;
  ended = end;
}

void WorldClient::send_data(std::string_view bytes, bool end) {
  if (!head_came || over()) body += "<data was sent outside of an answer>";
  body.append(bytes);
  ended = end;
}

// ---- the world ----------------------------------------------------------------------------------

struct GatewayWorld::Impl {
  explicit Impl(const Settings& given)
      : settings(given), scripted(loop, standing()),
        upstream(endpoint_at(scripted.port()), {&loop}, upstream::PoolLimits{}),
        policies(upstream, {&loop}),
        store(must(store::open_sqlite({directory.path() / "zood", {}, 5'000}))),
        board(must(virtuals::Board::start(*store, [](const virtuals::Owner&) { return true; }))) {
    tenants.fill({tenant("abc123", "uid-abc", tenants::Phase::ready),
                  tenant("zzz999", "uid-zzz", tenants::Phase::ready),
                  tenant("sus000", "uid-sus", tenants::Phase::suspended)});
    upstream.set_range_reads(settings.range_reads);
    upstream.set_shared_names(std::make_shared<const translate::SharedNames>(settings.shared));
    engine = std::make_unique<virtuals::Engine>(virtuals::EngineParts{
        *store, *board,
        [this]() -> virtuals::Validate {
          return [api = control_api()](const virtuals::Kind& kind, const nlohmann::json& object,
                                       const translate::Mapping& mapping,
                                       std::string_view strictness) {
            return virtuals::ask_upstream(*api, kind, object, mapping, strictness);
          };
        },
        [](const virtuals::Owner&) { return true; },
        [api = control_api()] { return virtuals::next_revision(*api); }});
    make_gateway();
    thread = std::thread([this] { loop.run(); });
  }

  ~Impl() {
    engine.reset(); // while the loop answers what its threads still ask
    accounts.stop();
    loop.stop();
    thread.join();
    clients.clear();
    account_gateway.reset();
    gateway.reset();
  }

  /// The one place that knows what a Gateway is made of.
  void make_gateway() {
    shared.emplace(gateway::GatewayShared{
        .continue_sealer = std::make_shared<const crypto::Sealer>(
            Secret(std::string(crypto::Sealer::k_key_size, 'k'))),
        .flow_control = flow_control,
        .ledger = ledger,
        .nodes = settings.nodes,
        .board = board.get(),
        .engine = engine.get(),
        .quota_gate = [this] { return settings.gate; },
        .furnisher = [this] { return settings.furnisher; },
    });
    auto made = std::make_unique<tenants::TenantViewSource>(loop, parts, tenants::DefaultTerms());
    source = made.get();
    gateway = std::make_unique<gateway::Gateway>(loop, *shared, std::move(made),
                                                 gateway::GatewayLimits());
    account_parts.emplace(accounts::AccountViewParts{
        upstream, accounts.rights(), accounts.api(),
        [](std::string_view name) { return name == "team-a"; },
        [this](std::string_view sha256) { return sha256 == k_authority && trusting; },
        [this](const std::string& id) { return flow_control.share(id); }});
    account_gateway = std::make_unique<gateway::Gateway>(
        loop, *shared,
        std::make_unique<accounts::AccountViewSource>(loop, *account_parts, api::Flow()),
        gateway::GatewayLimits());
  }

  std::shared_ptr<upstream::ControlApi> control_api() {
    kube::ClusterAccess access;
    access.server = "http://127.0.0.1:" + std::to_string(scripted.port());
    return std::make_shared<upstream::KubeApi>(
        std::move(access), [] { return std::make_shared<const std::string>(k_zood); });
  }

  const Settings settings;
  net::Loop loop;
  TemporaryDirectory directory;
  ScriptedUpstream scripted;
  tenants::TenantDirectory tenants;
  upstream::Upstream upstream;
  authz::PolicyStore policies;
  gateway::FlowControl flow_control;
  gateway::Ledger ledger;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<virtuals::Board> board;
  std::unique_ptr<virtuals::Engine> engine;
  const tenants::ViewParts parts{tenants,
                                 upstream,
                                 policies,
                                 std::string(tenants::k_tenant_admin_group),
                                 [this](const std::string& id) { return flow_control.share(id); },
                                 nullptr,
                                 [this] { return authorities; }};
  const std::shared_ptr<const std::string> authorities =
      std::make_shared<const std::string>("-----BEGIN CERTIFICATE-----\nzood\n");
  std::optional<gateway::GatewayShared> shared;
  std::unique_ptr<gateway::Gateway> gateway;
  AccountWorld accounts;
  bool trusting = true; ///< the authority of clients at the account door; the loop's
  std::optional<accounts::AccountViewParts> account_parts;
  std::unique_ptr<gateway::Gateway> account_gateway;
  tenants::TenantViewSource* source = nullptr; ///< the gateway's
  std::vector<std::shared_ptr<WorldClient>> clients;
  std::thread thread;
};

GatewayWorld::GatewayWorld(const WorldSettings& settings)
    : impl_(std::make_unique<Impl>(settings_of(settings))) {
  auto& world = *impl_;
  const auto followers = {&world.upstream.definitions(), &world.upstream.volumes(),
                          &world.upstream.addresses(), &world.upstream.attachments(),
                          &world.upstream.priorities()};
  upstream::SharedWatchLimits watches; // a few milliseconds where zood waits for seconds
  watches.first_pause = std::chrono::milliseconds(1);
  watches.longest_pause = watches.spread = std::chrono::milliseconds(5);
  world.upstream.watches().set_limits(watches);
  world.upstream.start();
  const bool follows = eventually([&] {
    bool all = world.upstream.unlabelled_namespaces().has_value() &&
               world.upstream.unlabelled_definitions() != nullptr;
    for (auto* each : followers)
      all = each->hears() && all;
    return all;
  });
  if (!follows) throw std::runtime_error("zood does not follow the scripted upstream");
  // The first question of somebody who is no administrator makes zood read the tenant's policy.
  http::RequestHead head;
  head.method = "GET";
  head.target = "/api/v1/namespaces/default/pods";
  const auto client = ask("alice", std::move(head), "");
  if (!eventually([&] { return client->over(); }) || client->head.status != 403)
    throw std::runtime_error("the policy of abc123 is not read: " + client->body);
  // What follows from all that, its watches for example, is asked for at once.
  std::size_t before = 0, now = 1;
  while (before != now) {
    before = now;
    settle();
    on([&] { now = world.scripted.requests(); });
  }
  on([&] {
    world.scripted.listen_for_rows();
    // What came before was not the row's.
    world.gateway->set_limits(world.settings.limits);
    world.source->set_terms(world.settings.terms);
  });
}

GatewayWorld::~GatewayWorld() = default;

void GatewayWorld::on(const std::function<void()>& task) {
  std::promise<void> done;
  impl_->loop.post([&] {
    try {
      task();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

void GatewayWorld::settle() {
  for (int turn = 0; turn < 24; ++turn)
    on([] {});
}

bool GatewayWorld::eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + k_patience;
  for (bool held = false;;) {
    on([&] { held = holds(); });
    if (held || std::chrono::steady_clock::now() > until) return held;
    std::this_thread::sleep_for(std::chrono::microseconds(200)); // zood has timers and threads
  }
}

std::shared_ptr<WorldClient> GatewayWorld::ask(const std::string& who, http::RequestHead head,
                                               const std::string& body) {
  const auto found = k_people.find(who);
  if (found == k_people.end()) throw std::runtime_error("nobody is called " + who);
  const auto& person = found->second;
  http::ConnectionInfo connection;
  connection.peer = "192.0.2.1:40000";
  if (!person.user.empty()) {
    connection.peer_certificate_der = certificate_of(person);
    connection.peer_certificate_hash = std::hash<std::string>{}(connection.peer_certificate_der);
    connection.peer_certificate_verified = person.verified;
    if (person.verified) connection.peer_authority = k_authority;
  }
  if (!person.token.empty()) head.headers.add("Authorization", "Bearer " + token_of(person.token));
  auto client = std::make_shared<WorldClient>(std::move(connection));
  client->complete = body.empty() && !head.upgrade;
  on([&] {
    impl_->clients.push_back(client);
    auto& door = person.at_accounts ? *impl_->account_gateway : *impl_->gateway;
    client->handler = door.on_request(std::move(head), *client);
    if (!body.empty() && !client->over()) client->handler->on_data(body);
    if (!client->over()) client->handler->on_end();
  });
  return client;
}

void GatewayWorld::trust_nobody() {
  on([&] { impl_->trusting = false; });
}

void GatewayWorld::change_rights(const RightsOfJohn& rights) {
  impl_->accounts.change_rights(rights);
}

ScriptedUpstream& GatewayWorld::upstream() { return impl_->scripted; }

} // namespace zoo::test
