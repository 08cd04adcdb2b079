// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/broker_door.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/accounts/quota_door.hpp"
#include "daemon/app/door_identity.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/upstream.hpp"

#include <limits>
#include <utility>

namespace zoo::app {
namespace {

using Level = tenants::Finding::Level;

constexpr std::string_view k_broker_subject = "quota broker";
constexpr std::size_t k_broker_connections = 1'000, k_secret = 16;
constexpr std::chrono::seconds k_broker_body{2}, k_hook_withdrawal{3};
constexpr unsigned k_failures = 3; ///< in a row, after which upstream is not let ask any more
constexpr std::chrono::seconds k_again{10}, k_usual{60};

/// The connections are kube-apiserver's.
net::ListenerLimits limits_of_broker(net::ListenerLimits limits) {
  limits.refusals = std::numeric_limits<std::uint32_t>::max();
  limits.connections = k_broker_connections;
  limits.body = k_broker_body;
  return limits;
}

} // namespace

Result<std::unique_ptr<BrokerDoor>> BrokerDoor::open(BrokerDoorParts parts) {
  if (!parts.values.boolean("broker.enabled")) return std::unique_ptr<BrokerDoor>();
  const bool asked = !parts.values.string("broker.listen").empty();
  std::unique_ptr<BrokerDoor> out(new BrokerDoor(std::move(parts)));
  if (auto listens = out->listen(); !listens) {
    if (asked) return fail(std::move(listens).error());
    const std::scoped_lock lock(out->mutex_);
    out->known_ = true;
    out->trouble_ = listens.error().text();
    log::warning("app", "the broker of quotas has no door: {}", out->trouble_);
  }
  return out;
}

BrokerDoor::~BrokerDoor() { close(); }

Result<void> BrokerDoor::listen() {
  const auto& values = parts_.values;
  const auto& wanted = values.string("broker.listen");
  ZOO_TRY(auto place, parse_address(wanted.empty() ? values.string("listen") : wanted));
  if (wanted.empty()) place.port = 0;
  const auto& said = values.string("broker.advertise");
  const auto& advertise = values.string("advertise");
  ZOO_TRY(advertised_, parse_address(!said.empty()        ? said
                                     : !advertise.empty() ? advertise
                                                          : place.text()));
  if (said.empty()) advertised_.port = 0;
  if (unspecified(advertised_))
    return fail(Code::usage,
                "'{}' stands for every address of this machine: set broker.advertise to HOST:PORT "
                "at which the upstream's kube-apiserver reaches it",
                advertised_.text());
  ZOO_TRY(const auto options, identity());
  ZOO_TRY(tls_, net::TlsServerContext::create(options));
  ZOO_TRY(const auto secret, crypto::random_bytes(k_secret));
  const auto path = "/quota/" + crypto::base64url_encode(secret);
  ZOO_TRY(listener_, net::Listener::tcp(
                         {&parts_.loop}, place.text(), tls_, limits_of_broker(parts_.limits),
                         [&](net::Loop& loop) {
                           return std::make_unique<accounts::QuotaDoor>(accounts::QuotaDoor::Parts{
                               loop, parts_.broker, path, [this](std::string_view asked) {
                                 auto* const reach = hears_.load();
                                 return reach != nullptr && reach->hears(asked);
                               }});
                         }));
  ZOO_TRY(const auto listened, parse_address(listener_->address()));
  if (advertised_.port == 0) advertised_.port = listened.port;
  const auto base = "https://" + advertised_.text();
  const auto api = [&credential = parts_.credential]() -> std::unique_ptr<upstream::ControlApi> {
    return credential.api();
  };
  hook_ = std::make_unique<accounts::QuotaHook>(
      accounts::QuotaHook::Parts{api, base + path, parts_.pki.ca_pem()});
  RelayReach::Parts reach;
  reach.word = "quota";
  reach.api = api;
  reach.base = base;
  reach.ca_pem = parts_.pki.ca_pem();
  reach.told = [this](const Result<void>& proof) { told(proof); };
  reach.again = k_again;
  reach.usual = k_usual;
  reach_ = std::make_unique<RelayReach>(std::move(reach));
  hears_ = reach_.get();
  upstream::ChangeFollower::Hears hears;
  hears.changed = [this](auto, const translate::ObjectKey& key, auto) {
    if (key.name == accounts::k_quota_hook) hook_->touched();
  };
  hears.began = [this] { hook_->touched(); };
  follower_ = std::make_unique<upstream::ChangeFollower>(
      parts_.upstream, parts_.loop, parts_.upstream.caller(parts_.loop),
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      "metadata.name=" + std::string(accounts::k_quota_hook), std::move(hears));
  hook_->start();
  follower_->start();
  reach_->start();
  log::info("app", "the broker of quotas listens on {}", listener_->address());
  return {};
}

Result<net::TlsServerOptions> BrokerDoor::identity() {
  ZOO_TRY(auto made, issue_door_identity(parts_.pki, "zood-broker", advertised_.host));
  const std::scoped_lock lock(mutex_);
  certificate_ = std::move(made.certificate);
  return std::move(made.options);
}

void BrokerDoor::renew() {
  {
    const std::scoped_lock lock(mutex_);
    if (!tls_ || !certificate_ || !tenants::due_for_renewal(*certificate_)) return;
  }
  const auto options = identity();
  const auto done = options ? tls_->reload(*options) : Result<void>(fail(options.error()));
  if (!done)
    log::error("app", "the broker of quotas goes on with its old certificate: {}",
               done.error().text());
}

void BrokerDoor::told(const Result<void>& proof) {
  bool reached = false, news = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool was = known_ && trouble_.empty();
    failures_ = proof ? 0 : failures_ + 1;
    const auto trouble = proof ? std::string() : proof.error().text();
    news = !known_ || trouble != trouble_;
    // Once does not count; and an upstream that is away asks nobody.
    reached = proof || (was && failures_ < k_failures);
    known_ = true;
    if (!reached || proof) trouble_ = trouble;
  }
  if (news && proof)
    log::info("app", "the upstream reaches the broker of quotas at https://{}", advertised_.text());
  if (news && !reached)
    log::warning("app", "the upstream does not ask the broker of quotas: {}", proof.error().text());
  hook_->set_reached(reached);
}

void BrokerDoor::lead(bool leads) {
  if (hook_) hook_->lead(leads);
}

void BrokerDoor::withdraw() {
  if (hook_) hook_->withdraw(k_hook_withdrawal);
}

void BrokerDoor::close() {
  if (reach_) reach_->stop();
  if (hook_) hook_->stop();
  if (!listener_) return;
  listener_.reset();
  // What its connections leave goes on their loop.
  net::run_and_wait(parts_.loop, [] {});
}

std::vector<tenants::Finding> BrokerDoor::findings() const {
  const std::string subject(k_broker_subject);
  const std::scoped_lock lock(mutex_);
  if (!known_)
    return {{Level::warning, subject, "it is being tried whether the upstream reaches it",
             "ask again in a moment"}};
  if (!trouble_.empty())
    return {{Level::warning, subject,
             "the upstream does not ask it, and room moves to a space when something was refused "
             "there: " +
                 trouble_,
             "set broker.advertise to HOST:PORT at which the upstream's kube-apiserver reaches "
             "broker.listen, or broker.enabled to false"}};
  if (const auto trouble = hook_->trouble(); !trouble.empty())
    return {{Level::problem, subject, trouble, "zood tries again by itself"}};
  return {{Level::ok, subject,
           hook_->stands() ? "the upstream asks it at https://" + advertised_.text()
                           : "the upstream reaches it, and no account has a quota",
           ""}};
}

} // namespace zoo::app
