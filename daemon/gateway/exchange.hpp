// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/access/quota_gate.hpp"
#include "daemon/gateway/access.hpp"
#include "daemon/gateway/compressed_answer.hpp"
#include "daemon/gateway/encoded_answer.hpp"
#include "daemon/gateway/exchange_facts.hpp"
#include "daemon/gateway/flow.hpp"
#include "daemon/gateway/flow_control.hpp"
#include "daemon/gateway/gateway.hpp"
#include "daemon/gateway/impersonation.hpp"
#include "daemon/gateway/ledger.hpp"
#include "daemon/gateway/own_spaces.hpp"
#include "daemon/gateway/sides.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/own_name.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/upstream/upstream.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::gateway {

/// One tenant request from accept to answer (docs/life-of-a-request.md). Collects the body
/// (bounded), asks the authorizer, picks a Flow (dispatch.cpp) and is what flows answer through.
/// Loop thread only; owned by the connection.
class Exchange final : public http::StreamHandler, public Live {
public:
  Exchange(Gateway& gateway, http::RequestHead head, http::ServerStream& stream);
  ~Exchange() override;

  void begin(); ///< once, by the Gateway: may answer at once

  // What flows ask.
  Gateway& gateway() const { return gateway_; }
  const Route& route() const { return *route_; }
  const View& view() const { return *route_->view; }
  const translate::Mapping& mapping() const { return route_->view->mapping; }
  upstream::Upstream& upstream() const { return route_->upstream; }
  /// The tenant's RBAC: there for requests about RBAC objects, null for others.
  const authz::PolicyPtr& policy() const { return policy_; }
  const http::ConnectionInfo& connection() const { return stream_.connection(); }
  const http::RequestHead& head() const { return head_; }
  const translate::Target& target() const { return target_; }
  const Resource& resource() const { return resource_; }
  std::string& body() { return body_; }
  const std::string& body() const { return body_; }
  /// Of a stream that was opened long ago: may its user still? Ends it if not (DESIGN 7).
  void recheck_rights();

  /// Adds a Warning header to the answer; "" adds none.
  void warn(std::string value) {
    if (!value.empty()) warnings_.push_back(std::move(value));
  }

  /// The request is about an object that cannot be called so (translate/own_name.hpp).
  void set_misnamed(translate::Misnamed misnamed) { misnamed_ = std::move(misnamed); }
  const translate::Misnamed* misnamed() const { return misnamed_ ? &*misnamed_ : nullptr; }

  // How flows answer. After finish(), fail() or abort() nothing more may be sent.
  void send_head(http::ResponseHead head);
  /// What of upstream's head the tenant sees.
  http::ResponseHead head_out(http::ResponseHead head, translate::AnswerKind kind) const;
  void send(std::string_view bytes);
  void send(std::string&& bytes); ///< without a copy, where the client's protocol can do without
  /// Whole events of a watch that has told its state. Where its tenant may not hold as much, it
  /// ends in order before them, and its client goes on from where it was.
  void send_events(std::string&& events);
  /// So many bytes of events would be sent now: false where it would end. Other threads cannot
  /// take the room in between.
  bool take_room(std::size_t bytes);
  void end_unread(); ///< finish(): what its client, or its tenant's others, do not read is too much
  bool writable() const;
  void finish();
  void send_json(int status, std::string_view body); ///< a whole answer
  /// A Status of our own, in the tenant's words.
  void fail(const Error& error);
  void send_status(int http_status, std::string_view status_json,
                   std::string_view retry_after = {});
  /// Upstream has refused with `body`, a Status or text: said in the tenant's words.
  void send_refusal(int http_status, std::string_view body);
  /// What upstream's head says beside its body: its Warnings go with the answer, Retry-After with a
  /// refusal. Instead of what was heard before.
  void heard(const http::ResponseHead& head);
  /// The answer broke off: the client must not take it for whole.
  void abort(const Error& why);
  void ends(audit::Ending why) { outcome_.ending = why; } ///< a watch, for /metrics
  bool head_sent() const { return head_sent_; }
  void take_back_head(); ///< where nothing has left yet, something else is answered
  bool done() const { return done_; }

  /// The client may take something else than the JSON that flows answer, and events over a
  /// WebSocket. Errors stay JSON for who asks for protobuf. Code::not_acceptable: a watch has no
  /// YAML; or what http::EventSocket::open() says of the handshake.
  Result<void> answer_as(const translate::Negotiated& wanted, bool events);
  void answer_as_sent() { encoded_.reset(); } ///< what flows answer is what the client takes
  /// That much more of an answer is held in memory. False: the tenant holds enough already.
  bool buffer(std::size_t bytes);
  bool hold_part(std::size_t before, std::size_t now); ///< the same of what is given back again

  /// Runs `next` on the loop after the current callback, if this exchange still lives then.
  void later(std::function<void()> next);
  std::weak_ptr<void> alive() const { return alive_; }

  /// True once: a request that upstream refused is repeated once at most.
  bool first_recheck() { return !std::exchange(rechecked_, true); }

  const Attributes& asked() const { return asked_; } ///< what was allowed
  /// For the audit log: may the client what he asks?
  void judged(audit::Decision decision, std::string_view reason);
  /// 403: `attributes` are needed and `decision` refuses them.
  void refuse(const Attributes& attributes, const Decision& decision);
  /// What may not be made, should there be none (flows/further_rights.hpp).
  void forbid_creation(Refusal refusal) { no_creation_ = std::move(refusal); }
  const std::optional<Refusal>& no_creation() const { return no_creation_; }

  /// What the tenant's objects name (flows/own_names.cpp): volumes, addresses, nodes; or null.
  using Names = std::set<std::string, std::less<>>;
  const std::shared_ptr<const Names>& own_names() const { return own_names_; }
  void set_own_names(std::shared_ptr<const Names> names) { own_names_ = std::move(names); }

  /// The namespaces to which a list or watch over all of them is held (own_spaces.hpp).
  const std::optional<OwnSpaces>& own_spaces() const { return own_spaces_; }
  std::optional<OwnSpaces>& own_spaces() { return own_spaces_; }

  /// Who answers a list or watch of a kind that is divided (sides.hpp).
  const std::optional<Side>& side() const { return side_; }
  std::optional<Side>& side() { return side_; }

  /// Room for what this stores: settled by how it ends.
  void hold(Ledger::Hold room) { rooms_.push_back(std::move(room)); }
  /// The same of what a quota has let in.
  void keep(std::unique_ptr<access::QuotaGate::Pass> pass) { pass_ = std::move(pass); }

  /// Tunnel: `bytes` of on_tunnel_data() went on; the client may send as many more.
  void consume(std::size_t bytes);

  /// Replaces the flow by another one and starts it (a flow may hand over as its last act).
  void run(std::unique_ptr<Flow> flow);

private:
  /// Of a long-running stream, before its source has to wait: there are thousands of them, and what
  /// comes later waits where all of them share it (upstream/shared_watches.hpp).
  static constexpr std::size_t k_most_unread = 32 * 1024;

  // http::StreamHandler
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_reset() override;
  void on_drained() override;
  void on_leaving() override;

  void authenticated(Result<Route> route);
  void impersonate(std::size_t at); ///< the right to `impersonation_`'s part `at` is asked for
  void admit();                     ///< it is known who asks: takes its place
  void take_place();                ///< received as a whole: of all tenants' too
  std::function<void(bool granted)> told_of_place(); ///< for who waits for one
  void wait_for_place();
  void refuse_place(FlowControl::Verdict verdict); ///< 429
  void refuse_bytes();                             ///< 429
  void admitted();                                 ///< it has its place: the body may come
  bool become(Result<std::string> json);           ///< the body, as JSON; false: that is refused
  void dispatch();                                 ///< body complete: as whom is it asked?
  void resolve(); ///< the principal is final: which resource is it?
  void with_resource(upstream::Freshness freshness); ///< looks it up, then authorizes
  void in_catalog(upstream::CatalogPtr catalog, upstream::Freshness freshness);
  bool find_resource(upstream::CatalogPtr catalog);
  std::string not_served() const; ///< the Status for what find_resource() did not find
  void authorize(Attributes attributes);
  bool begin_served();                 ///< false: it is not for the view's own API, nor answered
  bool lost_right();                   ///< of upstream's RBAC, since the last look
  void withdraw(std::string_view why); ///< ends what was allowed until now
  void authorized(const Decision& decision);
  void begin_flow();
  void put_head(http::ResponseHead head);
  void on_frames(std::string_view bytes); ///< of a WebSocket's client
  void count_unread();
  void holds_too_much();
  void break_off(); ///< the client must not take the answer for whole
  void retire();
  void put(std::string_view bytes);
  void put(CompressedAnswer::Ready&& ready);
  void unsendable(const Error& why); ///< as `encoded_` has it
  void tell_refusal(int http_status, std::string_view reason);
  void put_status(int http_status, std::string_view status_json, std::string_view retry_after);
  void tell_audit(); ///< once, when it is over
  void settle_rooms();

  Gateway& gateway_;
  http::RequestHead head_;
  http::ServerStream& stream_;
  std::optional<Route> route_;
  std::optional<Impersonation> impersonation_; ///< what the client asks for, until he is that
  std::optional<FlowControl::Place> place_;
  std::unique_ptr<net::Timer> queue_timer_; ///< while it waits for a place
  std::vector<Ledger::Hold> rooms_;
  std::unique_ptr<access::QuotaGate::Pass> pass_; ///< likewise
  translate::Target target_;
  Resource resource_;
  authz::PolicyPtr policy_;
  authz::PolicyPtr judged_;        ///< the policy that a long-running stream was last held against
  authz::RightsPtr judged_rights_; ///< the same of upstream's rights
  bool had_right_ = false;         ///< by those
  Attributes asked_;               ///< what was allowed, once it was
  std::string body_;
  std::size_t held_ = 0; ///< bytes of body_ that were not consumed before the client was known
  std::shared_ptr<const Names> own_names_;
  std::optional<OwnSpaces> own_spaces_;
  std::optional<Side> side_;
  std::optional<Refusal> no_creation_;
  std::unique_ptr<Flow> flow_;
  std::unique_ptr<Flow> retired_; ///< until the next callback: a flow never dies in its own call
  std::shared_ptr<void> alive_;
  std::chrono::steady_clock::time_point begun_;
  StageTimes left_;
  std::unique_ptr<EncodedAnswer> encoded_;       ///< null: JSON
  std::unique_ptr<CompressedAnswer> compressed_; ///< null: as it is
  std::vector<std::string> warnings_;            ///< values of Warning headers
  std::vector<std::string> heard_;               ///< upstream's
  std::string retry_after_;                      ///< upstream's
  std::optional<translate::Misnamed> misnamed_;
  Outcome outcome_;
  std::size_t unread_ = 0; ///< bytes that count_unread() has counted
  bool admitted_ = false, dispatched_ = false;
  bool receiving_ = false; ///< its place is its tenant's alone until the request is whole
  bool ended_ = false;     ///< the request is complete
  bool foretold_ = false;  ///< and was at its beginning: on_end() says it again
  bool head_sent_ = false, done_ = false, rechecked_ = false;
  bool leaving_ = false;                          ///< Flow::leave() is due, or was told
  bool asks_token_ = false, asks_policy_ = false; ///< recheck_rights() waits for an answer
};

/// The flow for what `exchange` asks (dispatch.cpp), or the refusal.
Result<std::unique_ptr<Flow>> choose_flow(Exchange& exchange);
/// The same when all rights are there.
Result<std::unique_ptr<Flow>> choose_allowed_flow(Exchange& exchange);

} // namespace zoo::gateway
