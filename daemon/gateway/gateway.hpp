// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/aead.hpp"
#include "daemon/access/furnisher.hpp"
#include "daemon/access/quota_gate.hpp"
#include "daemon/access/turns.hpp"
#include "daemon/access/view_source.hpp"
#include "daemon/gateway/access.hpp"
#include "daemon/gateway/definitions.hpp"
#include "daemon/gateway/live.hpp"
#include "daemon/gateway/own_spaces.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/net/loop.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zoo::audit {
class Log;
}
namespace zoo::virtuals {
class Board;
class Engine;
} // namespace zoo::virtuals

namespace zoo::gateway {

class Exchange;
class FlowControl;
class Ledger;

/// Bounds of one request (docs/limits.md); replaced whole on reload.
struct GatewayLimits {
  std::size_t request_body = 3u << 20;          ///< bytes; upstream's own MaxRequestBodyBytes
  std::size_t object = 8u << 20;                ///< bytes of the largest object in an answer
  std::size_t discovery = 64u << 20;            ///< bytes of a discovery or OpenAPI document
  std::chrono::milliseconds queue_wait{10'000}; ///< for a place, while all are taken
  bool compression = true;                      ///< gzip of large answers, for whoever takes it
};

/// Which nodes a tenant sees: all, those that carry its pods, or none.
enum class Nodes : std::uint8_t { all, own, none };

/// What all loops' gateways share. Owned by app, outlives them; read-only but for what says so.
struct GatewayShared {
  std::shared_ptr<const crypto::Sealer> continue_sealer; ///< key "continue-tokens" of the Keyring
  FlowControl& flow_control;                             ///< thread-safe
  Ledger& ledger;                                        ///< thread-safe
  Nodes nodes = Nodes::all;                              ///< nodes.visibility
  virtuals::Board* board = nullptr;   ///< thread-safe; null: virtual kinds are not served
  virtuals::Engine* engine = nullptr; ///< the same
  /// A certificate request of this tenant was approved: it may be due for signing. Any thread.
  std::function<void(const std::string& id)> on_approval{};
  /// This tenant is about to write webhooks, which upstream calls. Any thread.
  std::function<void(const std::string& id)> on_webhooks{};
  /// Asked before what an account's quota counts is created; null, or a null one: nobody is.
  std::function<std::shared_ptr<const access::QuotaGate>()> quota_gate{};
  /// Asked before a tenant is given its rights in a namespace; null, or a null one: nobody is.
  std::function<std::shared_ptr<const access::Furnisher>()> furnisher{};
  audit::Log* audit = nullptr; ///< thread-safe; told of every request that is over
  /// Of lists that are held to some namespaces. Any thread.
  std::shared_ptr<SeenSpaces> seen_spaces = std::make_shared<SeenSpaces>();
  /// Of the definitions whose stored versions tenants drop. Any thread.
  std::shared_ptr<DefinitionAges> definition_ages = std::make_shared<DefinitionAges>();
  access::Turns* turns = nullptr; ///< thread-safe; null: no other zood serves these tenants
};

/// A door on one loop: has each request authenticated by the door's ViewSource, gives it a Route
/// and an Exchange. Loop thread only.
class Gateway final : public http::Service {
public:
  Gateway(net::Loop& loop, const GatewayShared& shared, std::unique_ptr<access::ViewSource> source,
          GatewayLimits limits);
  ~Gateway() override;

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override;

  /// Who is it (DESIGN 4 `who`)? By certificate; none where no valid one was shown and a token may
  /// say more. Code::unauthorized with the reason.
  std::optional<Result<Route>> by_certificate(const http::ConnectionInfo& connection,
                                              const http::RequestHead& head);
  /// Then by a ServiceAccount's bearer token, perhaps later.
  void by_token(const http::ConnectionInfo& connection, const http::RequestHead& head,
                std::function<void(Result<Route>)> done);
  access::ViewSource& source() { return *source_; }

  /// Something that was granted to the tenant or account `id` was withdrawn: its exchanges in
  /// progress that are not let in any more are cut (DESIGN 9).
  void recheck(std::string_view id);

  /// The same for streams whose user has lost the right to them, or whose token is over: every
  /// k_recheck while there are any.
  void recheck_rights();
  static constexpr std::chrono::milliseconds k_recheck{500};
  static constexpr std::chrono::milliseconds k_recheck_turn{5}; ///< of the loop at a time

  /// `exchange` is one of those in progress from now on; it leaves by itself when it ends.
  void enter(Exchange& exchange);

  net::Loop& loop() { return loop_; }
  const GatewayShared& shared() const { return shared_; }
  const GatewayLimits& limits() const { return limits_; }
  std::size_t& compressing() { return compressing_; }   ///< answers; see CompressedAnswer
  std::size_t& opened_pages() { return opened_pages_; } ///< see page_answer()
  void set_limits(const GatewayLimits& limits);         ///< for requests from now on

private:
  net::Loop& loop_;
  const GatewayShared& shared_;
  const std::unique_ptr<access::ViewSource> source_;
  GatewayLimits limits_;
  Live live_; ///< the ring of exchanges in progress
  net::Timer recheck_timer_;
  bool rechecking_ = false;
  Live looked_at_; ///< stands in live_ within a round of recheck_rights(): what is behind it is due
  std::size_t compressing_ = 0, opened_pages_ = 0;
};

} // namespace zoo::gateway
