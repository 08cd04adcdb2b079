// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/gateway.hpp"

#include "common/base/make_room.hpp"
#include "common/base/text.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/gateway/authorizer.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/upstream_request.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

/// RFC 6750 2.1, or the subprotocol by which a browser sends one (k8s.io/apiserver
/// pkg/authentication/request/websocket). Empty: none.
std::string bearer_token(const http::RequestHead& head) {
  constexpr std::string_view k_scheme = "bearer ";
  const auto value = text::trim(head.headers.get("authorization"));
  if (value.size() > k_scheme.size() && text::iequals(value.substr(0, k_scheme.size()), k_scheme)) {
    return std::string(text::trim(value.substr(k_scheme.size())));
  }
  if (!head.upgrade) return {};
  const auto encoded =
      translate::split_subprotocols(head.headers.get("sec-websocket-protocol")).bearer;
  return crypto::base64url_decode(encoded).value_or("");
}

std::string upstream_user(std::string_view tenant) { return fmt::format("zoo:{}", tenant); }

/// A certificate with its hash, which its connection knows.
struct Der {
  std::string_view bytes;
  std::size_t hash;
};
struct OwnDer {
  std::string bytes;
  std::size_t hash;
};
struct HashOfDer {
  using is_transparent = void;
  std::size_t operator()(const auto& der) const { return der.hash; }
};
struct SameDer {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const { return a.bytes == b.bytes; }
};

} // namespace

struct Gateway::Holders
    : std::unordered_map<OwnDer, std::shared_ptr<const Holder>, HashOfDer, SameDer> {};

Gateway::Gateway(net::Loop& loop, const GatewayShared& shared, GatewayLimits limits)
    : loop_(loop), shared_(shared), limits_(limits),
      tokens_(loop, shared.upstream, shared.directory), recheck_timer_(loop),
      holders_(std::make_unique<Holders>()) {}

Gateway::~Gateway() = default;

std::unique_ptr<http::StreamHandler> Gateway::on_request(http::RequestHead head,
                                                         http::ServerStream& stream) {
  auto exchange = std::make_unique<Exchange>(*this, std::move(head), stream);
  exchange->begin();
  return exchange;
}

std::optional<Result<Route>> Gateway::by_certificate(const http::ConnectionInfo& connection,
                                                     const http::RequestHead& head) {
  if (connection.peer_certificate_der.empty()) return std::nullopt;
  auto route = judge_certificate(connection);
  if (!route && !bearer_token(head).empty()) return std::nullopt;
  return route;
}

void Gateway::by_token(const http::RequestHead& head, std::function<void(Result<Route>)> done) {
  const auto token = bearer_token(head);
  if (token.empty()) {
    return done(fail(Code::unauthorized,
                     "Unauthorized: neither a client certificate nor a bearer token was shown"));
  }
  tokens_.authenticate(token, [this, done = std::move(done)](Result<TokenUser> user) {
    if (!user) return done(fail(user.error()));
    done(Route{shared_.upstream, view_of(user->tenant),
               std::make_shared<const Identity>(std::move(user->identity))});
  });
}

Result<Route> Gateway::judge_certificate(const http::ConnectionInfo& connection) {
  if (!connection.peer_certificate_verified) {
    return fail(Code::unauthorized,
                "Unauthorized: the client certificate is expired or of an unknown authority");
  }
  ZOO_TRY(const auto holder, holder_of(connection));
  const auto& claimed = holder->claimed;

  const auto entry = shared_.directory.snapshot()->find(claimed.tenant);
  // One answer for a tenant that never was and one that came back under its ID: nobody learns
  // which IDs exist.
  if (!entry || !entry->honours_certificate(claimed.uid, claimed.serial, claimed.epoch) ||
      claimed.expires <= kube::unix_now()) { // which it was not yet at the handshake
    return fail(Code::unauthorized, "Unauthorized: this certificate is not valid any more");
  }
  if (!entry->admits()) {
    return fail(Code::unauthorized, "Unauthorized: this tenant is {}",
                entry->phase == tenants::Phase::suspended ? "suspended" : "not served");
  }
  return Route{shared_.upstream, view_of(entry),
               std::shared_ptr<const Identity>(holder, &holder->identity)};
}

Result<std::shared_ptr<const Gateway::Holder>>
Gateway::holder_of(const http::ConnectionInfo& connection) {
  const Der der{connection.peer_certificate_der, connection.peer_certificate_hash};
  if (const auto known = holders_->find(der); known != holders_->end()) return known->second;
  ZOO_TRY(const auto certificate, crypto::Certificate::from_der(connection.peer_certificate_der));
  auto holder = std::make_shared<Holder>();
  ZOO_TRY(holder->claimed, tenants::identity_of(certificate));
  const auto& claimed = holder->claimed;
  auto& identity = holder->identity;
  identity.user = claimed.user;
  identity.groups = claimed.groups;
  identity.groups.emplace_back(authz::k_authenticated);
  identity.credential = claimed.serial;
  identity.issued = claimed.epoch;
  identity.expires = claimed.expires;
  identity.upstream_fields = impersonation(upstream_user(claimed.tenant), identity);
  OwnDer own{connection.peer_certificate_der, der.hash};
  make_room(*holders_, own, k_max_holders);
  holders_->emplace(std::move(own), holder);
  return holder;
}

void Gateway::enter(Exchange& exchange) {
  exchange.join(live_);
  if (!std::exchange(rechecking_, true)) {
    recheck_timer_.start(k_recheck, [this] { recheck_rights(); });
  }
}

void Gateway::recheck_rights() {
  recheck_timer_.start(k_recheck, [this] { recheck_rights(); }); // whatever comes
  const bool begins = looked_at_.next() == &looked_at_;
  if (begins) looked_at_.move_behind(live_);
  // There may be many streams, and a tenant of many rules: others come in between.
  const auto end = std::chrono::steady_clock::now() + k_recheck_turn;
  for (auto* live = looked_at_.next(); live != &live_; live = looked_at_.next()) {
    if (std::chrono::steady_clock::now() >= end)
      return recheck_timer_.start(std::chrono::milliseconds(0), [this] { recheck_rights(); });
    looked_at_.move_behind(*live);
    auto& exchange = static_cast<Exchange&>(*live); // it may end, and others with it
    if (exchange.target().long_running) exchange.recheck_rights();
  }
  looked_at_.leave();
  rechecking_ = live_.next() != &live_;
  if (!rechecking_) recheck_timer_.cancel();
}

void Gateway::recheck(std::string_view tenant) {
  // A cut exchange may destroy itself, and others of its connection: names first, then the deed.
  std::vector<std::pair<Exchange*, std::weak_ptr<void>>> cut;
  const auto entry = shared_.directory.snapshot()->find(tenant);
  for (auto* live = live_.next(); live != &live_; live = live->next()) {
    if (live == &looked_at_) continue;
    auto& exchange = static_cast<Exchange&>(*live);
    const auto& route = exchange.route();
    if (route.view->mapping.id() != tenant) continue;
    if (entry && entry->admits() && honours(*entry, route.view->uid, route.identity())) continue;
    cut.emplace_back(&exchange, exchange.alive());
  }
  for (const auto& [exchange, alive] : cut) {
    if (alive.expired()) continue;
    exchange->abort(Error(Code::unauthorized, "Unauthorized: what this request was let in by is "
                                              "not valid any more"));
  }
}

void Gateway::set_limits(const GatewayLimits& limits) {
  limits_ = limits;
  views_.clear(); // they hold the terms
}

std::shared_ptr<const View>
Gateway::view_of(const std::shared_ptr<const tenants::TenantEntry>& entry) {
  auto names = shared_.upstream.shared_names();
  auto found = views_.find(entry->id);
  if (found == views_.end()) {
    make_room(views_, entry->id, k_max_views);
    found = views_.try_emplace(entry->id).first;
  }
  auto& cached = found->second;
  if (cached.entry != entry || cached.names != names) {
    const translate::Mapping mapping(entry->id, names);
    cached.view = std::make_shared<const View>(View{
        mapping, entry->uid, entry->created,
        std::make_shared<const TenantAuthorizer>(shared_.policies, loop_, mapping,
                                                 shared_.administrators),
        upstream_user(entry->id), entry->audit, api::merged(limits_.guards, entry->terms.guards),
        api::merged(limits_.quota, entry->terms.quota),
        api::merged(limits_.flow, entry->terms.flow), shared_.flow_control.share(entry->id)});
    cached.entry = entry;
    cached.names = std::move(names);
  }
  return cached.view;
}

} // namespace zoo::gateway
