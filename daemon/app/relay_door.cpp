// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/relay_door.hpp"

#include "common/base/log.hpp"
#include "daemon/app/door_identity.hpp"
#include "daemon/store/store.hpp"
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

using Level = tenants::Finding::Level;

constexpr std::string_view k_relay_subject = "relay of webhooks";
constexpr std::string_view k_relay_kind = "relay", k_relay_key = "door"; ///< of the store's record
constexpr std::chrono::seconds k_relay_body{10};
constexpr std::size_t k_relay_connections = 1'000;
constexpr unsigned k_failures = 5; ///< in a row, after which webhooks are called directly

/// The connections are kube-apiserver's, and many tenants' calls come by each.
net::ListenerLimits limits_of_relay(net::ListenerLimits limits) {
  limits.refusals = std::numeric_limits<std::uint32_t>::max();
  limits.connections = k_relay_connections;
  limits.body = k_relay_body;
  return limits;
}

/// Is this of an upstream that cannot be asked now, rather than of one that was?
bool says_nothing(Code code) {
  return code == Code::unavailable || code == Code::timeout || code == Code::cancelled ||
         code == Code::too_many_requests;
}

/// The loop has done all that was posted before.
void flush(net::Loop& loop) {
  net::run_and_wait(loop, [] {});
}

} // namespace

Result<std::unique_ptr<RelayDoor>> RelayDoor::open(RelayDoorParts parts) {
  if (!parts.values.boolean("relay.enabled")) return std::unique_ptr<RelayDoor>();
  const bool asked = !parts.values.string("relay.listen").empty();
  std::unique_ptr<RelayDoor> out(new RelayDoor(std::move(parts)));
  if (auto listens = out->listen(); !listens) {
    if (asked) return fail(std::move(listens).error());
    const std::scoped_lock lock(out->mutex_);
    out->known_ = true;
    out->trouble_ = listens.error().text();
    log::warning("app", "the relay of webhooks has no door: {}", out->trouble_);
  }
  return out;
}

RelayDoor::RelayDoor(RelayDoorParts parts)
    : parts_(std::move(parts)), loop_(1, "relay-loop"),
      pool_(*loop_.loops().front(), parts_.endpoint, parts_.pool) {
  const auto record = parts_.store.get(k_relay_kind, k_relay_key);
  if (!record) return;
  const auto kept = nlohmann::json::parse(record->value, nullptr, false);
  if (!kept.is_object()) return;
  kept_listen_ = kept.value("listen", std::string());
  kept_base_ = kept.value("base", std::string());
}

RelayDoor::~RelayDoor() { close(); }

/// Where to listen, the best place first.
std::vector<Address> RelayDoor::places() const {
  const auto& wanted = parts_.values.string("relay.listen");
  const auto tenants = parse_address(parts_.values.string("listen"));
  const auto own = wanted.empty() ? tenants : parse_address(wanted);
  if (!own) return {};
  Address place = *own;
  if (!wanted.empty() && place.port != 0) return {place};
  std::vector<Address> out;
  if (const auto kept = parse_address(kept_listen_); kept && kept->host == place.host)
    out.push_back(*kept);
  if (wanted.empty() && tenants->port != 0 && tenants->port < 0xffff) {
    place.port = static_cast<std::uint16_t>(tenants->port + 1);
    out.push_back(place);
  }
  place.port = 0;
  out.push_back(place);
  return out;
}

Result<void> RelayDoor::listen() {
  auto& loop = *loop_.loops().front();
  const auto& advertise = parts_.values.string("relay.advertise");
  const auto& tenants = parts_.values.string("advertise");
  std::optional<Address> given;
  if (!advertise.empty()) {
    ZOO_TRY(given, parse_address(advertise));
  } else {
    ZOO_TRY(given, parse_address(tenants.empty() ? parts_.values.string("listen") : tenants));
    given->port = 0;
  }
  advertised_ = *given;
  if (unspecified(advertised_))
    return fail(Code::usage,
                "'{}' stands for every address of this machine: set relay.advertise "
                "to HOST:PORT at which the upstream's kube-apiserver reaches it",
                advertised_.text());
  ZOO_TRY(const auto options, identity());
  ZOO_TRY(tls_, net::TlsServerContext::create(options));

  Error last(Code::io, "there is no address to listen on");
  for (const auto& place : places()) {
    auto listens = net::Listener::tcp(
        loop_.loops(), place.text(), tls_, limits_of_relay(parts_.limits), [&](net::Loop&) {
          auto made = std::make_unique<relay::RelayService>(relay::Parts{
              loop, pool_, [this] { return own_.load(); },
              [this](const std::string& id) { return mapping_of(id); }, [this] { return hears(); },
              [this](std::string_view path) { return reach_->hears(path); }, tally_});
          service_ = made.get();
          return made;
        });
    if (listens) {
      listener_ = *std::move(listens);
      break;
    }
    last = listens.error();
  }
  if (!listener_) return fail(std::move(last));
  ZOO_TRY(const auto listened, parse_address(listener_->address()));
  if (advertised_.port == 0) advertised_.port = listened.port;
  auto own = std::make_shared<translate::Relay>();
  own->base = "https://" + advertised_.text();
  own->ca_pem = parts_.pki.ca_pem();
  own->key = parts_.key.clone();

  for (const auto hook : translate::k_hooks)
    follow(translate::collection_of(hook));
  RelayReach::Parts reach;
  reach.word = "relay";
  reach.api = [&credential = parts_.credential]() -> std::unique_ptr<upstream::ControlApi> {
    return credential.api();
  };
  reach.base = own->base;
  reach.ca_pem = own->ca_pem;
  reach.told = [this](const Result<void>& proof) { told(proof); };
  reach_ = std::make_unique<RelayReach>(std::move(reach));
  own_.store(own); // from here on it is asked
  // What was proven before is believed until it fails: tenants' webhooks stay as they are stored.
  if (kept_base_ == own->base) {
    published_.store(own);
    const std::scoped_lock lock(mutex_);
    known_ = true;
  }
  kept_listen_ = listened.text();
  remember(kept_base_ == own->base);
  log::info("app", "the relay of webhooks listens on {}", listener_->address());
  return {};
}

Result<net::TlsServerOptions> RelayDoor::identity() {
  ZOO_TRY(auto made, issue_door_identity(parts_.pki, "zood-relay", advertised_.host));
  const std::scoped_lock lock(mutex_);
  certificate_ = std::move(made.certificate);
  return std::move(made.options);
}

void RelayDoor::renew() {
  {
    const std::scoped_lock lock(mutex_);
    if (!tls_ || !certificate_ || !tenants::due_for_renewal(*certificate_)) return;
  }
  const auto options = identity();
  const auto done = options ? tls_->reload(*options) : Result<void>(fail(options.error()));
  if (!done)
    log::error("app", "the relay of webhooks goes on with its old certificate: {}",
               done.error().text());
}

void RelayDoor::follow(std::string_view path) {
  upstream::ChangeFollower::Hears hears;
  auto& loop = *loop_.loops().front();
  hears.changed = [this, &loop](auto, const translate::ObjectKey& key, auto) {
    loop.post([this, name = key.name] {
      if (service_ != nullptr) service_->changed(name);
    });
  };
  hears.began = [this, &loop] {
    loop.post([this] {
      if (service_ != nullptr) service_->all_changed();
    });
  };
  followers_.push_back(std::make_unique<upstream::ChangeFollower>(
      parts_.upstream, parts_.loop, parts_.upstream.caller(parts_.loop), std::string(path), "",
      std::move(hears)));
}

bool RelayDoor::hears() const {
  for (const auto& each : followers_) {
    if (!each->hears()) return false;
  }
  return true;
}

/// Suspended tenants' pods go on, and so do their webhooks: what these guard is not to be open, nor
/// shut, because nobody may speak to zood.
std::optional<translate::Mapping> RelayDoor::mapping_of(const std::string& id) const {
  if (!parts_.tenants()->find(id)) return std::nullopt;
  return translate::Mapping(id, parts_.upstream.shared_names());
}

void RelayDoor::start() {
  if (!reach_) return;
  for (const auto& each : followers_)
    each->start();
  reach_->start();
}

void RelayDoor::close() {
  if (reach_) reach_->stop();
  if (listener_) {
    auto& loop = *loop_.loops().front();
    loop.post([this] { service_ = nullptr; });
    listener_.reset();
    flush(loop); // what its connections leave goes on their loop
  }
  loop_.stop();
}

void RelayDoor::told(const Result<void>& proof) {
  const bool was = published_.load() != nullptr;
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!proof && says_nothing(proof.error().code())) {
      if (!known_) trouble_ = proof.error().text();
      return;
    }
    first = !std::exchange(known_, true);
    failures_ = proof ? 0 : failures_ + 1;
    trouble_ = proof ? std::string() : proof.error().text();
    if (!proof && was && failures_ < k_failures) return; // once does not count
  }
  if (proof) {
    if (!was) {
      log::info("app", "the upstream reaches the relay of webhooks at {}", own_.load()->base);
      published_.store(own_.load());
      remember(true);
    }
  } else {
    log::at(was || first ? LogLevel::warning : LogLevel::debug, "app",
            "webhooks of tenants are called directly: {}", proof.error().text());
    published_.store(nullptr);
    if (was) remember(false);
  }
  if (first || was != static_cast<bool>(proof)) parts_.changed();
}

void RelayDoor::remember(bool proven) {
  const nlohmann::json record = {{"listen", kept_listen_},
                                 {"base", proven ? own_.load()->base : ""}};
  if (const auto put = parts_.store.put(k_relay_kind, k_relay_key, record.dump()); !put)
    log::warning("app", "the relay's address is not kept for the next start: {}",
                 put.error().text());
}

tenants::RelayNow RelayDoor::now() const {
  tenants::RelayNow out;
  out.relay = published_.load();
  out.shared = parts_.upstream.shared_names();
  const std::scoped_lock lock(mutex_);
  out.known = known_;
  if (!out.relay) out.why = trouble_;
  return out;
}

tenants::RelayNow RelayDoor::none(const upstream::Upstream& upstream) {
  return {true, nullptr, "relay.enabled is false", upstream.shared_names()};
}

std::vector<tenants::Finding> RelayDoor::findings() const {
  const std::string subject(k_relay_subject);
  const bool relayed = published_.load() != nullptr;
  const std::scoped_lock lock(mutex_);
  if (!known_)
    return {{Level::warning, subject,
             "it is being tried whether the upstream reaches it" +
                 (trouble_.empty() ? std::string() : ": " + trouble_),
             "ask again in a moment"}};
  if (trouble_.empty())
    return {{Level::ok, subject,
             "the upstream calls tenants' webhooks through " + own_.load()->base, ""}};
  return {{relayed ? Level::problem : Level::warning, subject,
           relayed ? trouble_ : "webhooks are called directly, in upstream's words: " + trouble_,
           "set relay.advertise to HOST:PORT at which the upstream's kube-apiserver reaches "
           "relay.listen, or relay.enabled to false"}};
}

} // namespace zoo::app
