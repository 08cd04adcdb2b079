// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/gateway.hpp"

#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/upstream_request.hpp"
#include "daemon/translate/headers.hpp"

namespace zoo::gateway {
namespace {

/// RFC 6750 2.1, or the subprotocol by which a browser sends one (k8s.io/apiserver
/// pkg/authentication/request/websocket), which counts only beside another one, for the server has
/// to choose one that is no secret. Empty: none.
std::string bearer_token(const http::RequestHead& head) {
  constexpr std::string_view k_scheme = "bearer ";
  const auto value = text::trim(head.headers.get("authorization"));
  if (value.size() > k_scheme.size() && text::iequals(value.substr(0, k_scheme.size()), k_scheme)) {
    return std::string(text::trim(value.substr(k_scheme.size())));
  }
  if (!head.upgrade) return {};
  const auto protocols = subprotocols_of(head);
  if (protocols.offered.empty()) return {};
  return crypto::base64url_decode(protocols.bearer).value_or("");
}

} // namespace

Gateway::Gateway(net::Loop& loop, const GatewayShared& shared,
                 std::unique_ptr<access::ViewSource> source, GatewayLimits limits)
    : loop_(loop), shared_(shared), source_(std::move(source)), limits_(limits),
      recheck_timer_(loop) {}

Gateway::~Gateway() = default;

std::unique_ptr<http::StreamHandler> Gateway::on_request(http::RequestHead head,
                                                         http::ServerStream& stream) {
  auto exchange = std::make_unique<Exchange>(*this, std::move(head), stream);
  exchange->begin();
  return exchange;
}

std::optional<Result<Route>> Gateway::by_certificate(const http::ConnectionInfo& connection,
                                                     const http::RequestHead& head) {
  if (auto known = source_->by_connection(connection)) return known;
  if (connection.peer_certificate_der.empty()) return std::nullopt;
  auto route = source_->by_certificate(connection);
  if (!route && !bearer_token(head).empty()) return std::nullopt;
  return route;
}

void Gateway::by_token(const http::ConnectionInfo& connection, const http::RequestHead& head,
                       std::function<void(Result<Route>)> done) {
  const auto token = bearer_token(head);
  if (token.empty()) {
    return done(fail(Code::unauthorized,
                     "Unauthorized: neither a client certificate nor a bearer token was shown"));
  }
  source_->by_token(connection, token, std::move(done));
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

void Gateway::recheck(std::string_view id) {
  // A cut exchange may destroy itself, and others of its connection: names first, then the deed.
  std::vector<std::pair<Exchange*, std::weak_ptr<void>>> cut;
  for (auto* live = live_.next(); live != &live_; live = live->next()) {
    if (live == &looked_at_) continue;
    auto& exchange = static_cast<Exchange&>(*live);
    if (exchange.route().principal().id != id || source_->still(exchange.route())) continue;
    cut.emplace_back(&exchange, exchange.alive());
  }
  for (const auto& [exchange, alive] : cut) {
    if (alive.expired()) continue;
    exchange->abort(Error(Code::unauthorized, "Unauthorized: what this request was let in by is "
                                              "not valid any more"));
  }
}

void Gateway::set_limits(const GatewayLimits& limits) { limits_ = limits; }

} // namespace zoo::gateway
