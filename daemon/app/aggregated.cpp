// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/aggregated.hpp"

#include "common/api/aggregated_door.hpp"
#include "common/base/log.hpp"
#include "common/http_client/client.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/admin/audit.hpp"
#include "daemon/app/address.hpp"
#include "daemon/app/door_identity.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/resources/service.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/upstream.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <utility>

namespace zoo::app {
namespace {

namespace names = api::aggregated;

constexpr std::string_view k_subject = "aggregated door"; ///< of findings
constexpr std::chrono::seconds k_withdrawal{5};
constexpr std::chrono::seconds k_own_answer{5};
constexpr std::size_t k_door_threads = 8;
constexpr std::size_t k_id = 6; ///< characters of a tenant's ID

Result<accounts::FrontProxyTerms> terms_now(const upstream::Credential& credential) {
  const auto map = credential.api()->get(
      fmt::format("{}/{}", accounts::k_authentication_maps, accounts::k_authentication_map));
  if (!map && map.error().code() == Code::not_found) return accounts::FrontProxyTerms{};
  if (!map)
    return fail(
        Error(map.error()).context("while asking the upstream which front proxies to believe"));
  return accounts::read_front_proxy_terms(map->dump());
}

tenants::Finding foreign_door() {
  return {tenants::Finding::Level::problem, std::string(k_subject),
          fmt::format("APIService {} is another's, and is left alone", names::k_api_service),
          fmt::format("is kiosk installed? Remove it, or `kubectl delete apiservice {}`",
                      names::k_api_service)};
}

/// The connection is kube-apiserver's, and many users' requests come by it: that some of them are
/// refused is no reason to read the others' more slowly.
net::ListenerLimits limits_of_shared(net::ListenerLimits limits) {
  limits.refusals = std::numeric_limits<std::uint32_t>::max();
  return limits;
}

} // namespace

std::vector<tenants::Finding> unserved_door(const upstream::Credential& credential, bool enabled) {
  const auto state = accounts::look_at_door(*credential.api());
  if (state && state->foreign && enabled) return {foreign_door()};
  if (!state || !state->registered || state->available == "True") return {};
  return {{tenants::Finding::Level::problem, std::string(k_subject),
           "it is registered upstream, and no zood serves it: upstream deletes no namespace",
           "set accounts.enabled and accounts.aggregated.listen, or run `zooctl account aggregated "
           "off --upstream KUBECONFIG`"}};
}

Result<std::unique_ptr<Aggregated>> Aggregated::open(const AggregatedParts& parts) {
  ZOO_TRY(auto first, terms_now(parts.credential));
  std::unique_ptr<Aggregated> out(new Aggregated(parts, std::move(first)));
  ZOO_TRY_VOID(out->listen());
  return out;
}

Aggregated::Aggregated(const AggregatedParts& parts, accounts::FrontProxyTerms first)
    : parts_(parts), front_proxy_(parts.upstream, parts.loop, std::move(first),
                                  [this](const auto&) {
                                    const std::scoped_lock lock(renewing_);
                                    reload(lock);
                                  }),
      workers_("aggregated", k_door_threads), loop_(1, "aggr-loop"),
      scheduler_(resources::make_scheduler(*loop_.loops().front())) {
  accounts::AggregatedDoorParts door;
  for (const auto& kind : parts.kinds) {
    if (kind->group == accounts::k_tenancy_group) door.kinds.push_back(kind);
  }
  door.terms = [this] { return front_proxy_.terms(); };
  door.rights = [rights = parts.rights] { return rights->rights(); };
  door.of_tenant = [this](std::string_view name_space) { return of_tenant(name_space); };
  door.not_ready = [rights = parts.rights] {
    const auto known = rights->rights();
    return known ? std::string() : known.error().text();
  };
  door.over = [&audit = parts.audit](const resources::Finished& finished) {
    audit.add(std::nullopt, admin::entry_of(finished, "aggregated"));
  };
  door.later = [this](std::function<void()> job) { workers_.put_away(std::move(job)); };
  door_ = accounts::make_aggregated_door(std::move(door));
}

Aggregated::~Aggregated() { close(); }

Result<void> Aggregated::listen() {
  const auto text = parts_.values.string("accounts.aggregated.listen");
  ZOO_TRY(const auto options, identity(front_proxy_.terms()->client_ca_pem));
  ZOO_TRY(tls_, net::TlsServerContext::create(options));
  ZOO_TRY(listener_, net::Listener::tcp(loop_.loops(), text, tls_, limits_of_shared(parts_.limits),
                                        [this](net::Loop&) {
                                          return std::make_unique<resources::ApiService>(
                                              door_, workers_, *scheduler_);
                                        }));
  auto advertised = parts_.values.string("accounts.aggregated.advertise");
  if (advertised.empty()) advertised = listener_->address();
  auto address = accounts::parse_door_address(advertised);
  if (!address)
    return fail(std::move(address).error().context(
        "while reading {}", parts_.values.string("accounts.aggregated.advertise").empty()
                                ? "accounts.aggregated.listen, for want of "
                                  "accounts.aggregated.advertise"
                                : "accounts.aggregated.advertise"));
  accounts::Registration::Parts registration;
  registration.api = [&credential = parts_.credential]() -> std::unique_ptr<upstream::ControlApi> {
    return credential.api();
  };
  registration.ca_pem = parts_.pki.ca_pem();
  registration.address = *address;
  registration.ready = [this] { return answers(); };
  registration.keep = parts_.values.boolean("accounts.aggregated.keep");
  registration_ = std::make_unique<accounts::Registration>(std::move(registration));
  front_proxy_.start();
  follow(names::k_api_services, names::k_api_service);
  follow(names::k_services, names::k_service);
  follow(names::k_slices, {});
  follow(names::k_namespaces, names::k_namespace);
  registration_->start();
  log::info("app", "the aggregated door listens on {}", listener_->address());
  return {};
}

void Aggregated::follow(std::string_view path, std::string_view name) {
  const auto touch = [this] { registration_->touch(); };
  upstream::ChangeFollower::Hears hears;
  hears.changed = [touch](auto, const auto&, auto) { touch(); };
  hears.began = touch;
  followers_.push_back(std::make_unique<upstream::ChangeFollower>(
      parts_.upstream, parts_.loop, parts_.upstream.caller(parts_.loop), std::string(path),
      name.empty() ? "" : "metadata.name=" + std::string(name), std::move(hears)));
  followers_.back()->start();
}

Result<net::TlsServerOptions> Aggregated::identity(const std::string& client_ca) {
  ZOO_TRY(auto made, issue_door_identity(parts_.pki, "zood-accounts", std::string(names::k_host)));
  made.options.client_ca_pem = client_ca;
  certificate_ = std::move(made.certificate);
  return std::move(made.options);
}

void Aggregated::reload(const std::scoped_lock<std::mutex>&) {
  const auto options = identity(front_proxy_.terms()->client_ca_pem);
  const auto done = options ? tls_->reload(*options) : Result<void>(fail(options.error()));
  if (!done)
    log::error("app", "the aggregated door goes on with its old certificate and authorities: {}",
               done.error().text());
}

void Aggregated::renew() {
  const std::scoped_lock lock(renewing_);
  if (certificate_ && tenants::due_for_renewal(*certificate_)) reload(lock);
}

bool Aggregated::of_tenant(std::string_view name_space) const {
  if (name_space.size() <= k_id + 1 || name_space[k_id] != '-') return false;
  if (!parts_.tenants()->find(name_space.substr(0, k_id))) return false;
  const auto others = parts_.upstream.unlabelled_namespaces();
  return !others || !(*others)->contains(name_space);
}

/// As kube-apiserver will ask: by the listener for the TLS of it, and for the group itself.
Result<void> Aggregated::answers() const {
  ZOO_TRY_VOID(parts_.rights->rights());
  resources::Request request;
  request.method = "GET";
  request.segments = {"apis", std::string(accounts::k_tenancy_group),
                      std::string(accounts::k_version)};
  if (const auto answer = door_->handle(request); answer.status != 200)
    return fail(Code::unavailable, "the door does not serve the group: {}", answer.body);
  ZOO_TRY(const auto address, parse_address(listener_->address()));
  http_client::Credentials credentials;
  credentials.ca_pem = parts_.pki.ca_pem();
  credentials.direct = true;
  credentials.tls_server_name = names::k_host;
  http_client::Request own;
  own.url = "https://" + reachable(address).text() + "/readyz";
  own.timeout = k_own_answer;
  ZOO_TRY(const auto response, http_client::Client(std::move(credentials)).perform(own));
  if (response.status != 200) return fail(Code::unavailable, "the door says: {}", response.body);
  return {};
}

void Aggregated::withdraw() { registration_->withdraw(k_withdrawal); }

void Aggregated::close() {
  if (registration_) registration_->stop(); // it asks the listener
  listener_.reset();
  workers_.stop();
  loop_.stop();
}

Result<nlohmann::json> Aggregated::state() {
  ZOO_TRY(const auto state, registration_->look());
  auto out = names::to_json(state);
  out["trouble"] = registration_->trouble();
  return out;
}

std::vector<tenants::Finding> Aggregated::findings() const {
  using Level = tenants::Finding::Level;
  const std::string subject(k_subject);
  const auto state = registration_->look();
  if (!state)
    return {
        {Level::warning, subject, state.error().text(), "is the upstream reachable? Try again"}};
  if (state->foreign) return {foreign_door()};
  if (state->off) return {{Level::ok, subject, "it is switched off", ""}};
  if (!state->registered) {
    const auto trouble = registration_->trouble();
    return {{Level::problem, subject,
             "it is not registered upstream" + (trouble.empty() ? "" : ": " + trouble),
             "zood tries again by itself; its log has more"}};
  }
  if (state->available == "True") return {{Level::ok, subject, "registered, and available", ""}};
  return {{Level::problem, subject,
           fmt::format("the upstream does not reach it, and deletes no namespace meanwhile: {}",
                       state->message.empty() ? "it has not looked yet" : state->message),
           "see accounts.aggregated.advertise; `zooctl account aggregated off` frees namespaces"}};
}

} // namespace zoo::app
