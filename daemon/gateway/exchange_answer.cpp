// SPDX-License-Identifier: Apache-2.0
// What an exchange says to its client, and to the audit log when all is said.
#include "common/base/log.hpp"
#include "common/kube/status.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/gateway/page_answer.hpp"
#include "daemon/gateway/render.hpp"
#include "daemon/gateway/upstream_request.hpp"
#include "daemon/http/codec.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/json_yaml.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/translate/watch_event.hpp"

#include <algorithm>
#include <array>

namespace zoo::gateway {
namespace {

/// Where upstream is away every request fails: a loop says it once a second, and of errors of
/// zood's own another one.
void tell(LogLevel level, const http::RequestHead& head, const std::optional<Route>& route,
          std::string_view what, const Error& error) {
  if (!log::enabled(level)) return;
  thread_local std::array<log::Seldom, 2> seldom;
  const auto left_out = seldom[level == LogLevel::error ? 1 : 0].due();
  if (!left_out) return;
  log::at(level, "gateway", "{} {} of {}{} {}{}", head.method, http::logged(head.target),
          route ? access::owner_of(route->principal()) : "nobody", what, error.text(),
          *left_out == 0 ? std::string() : fmt::format(" ({} others before)", *left_out));
}

constexpr std::chrono::seconds k_slow{1};

/// Where the time of a request went that took long. A loop says it once a second.
void tell_slow(const audit::Entry& entry) {
  thread_local log::Seldom seldom;
  const auto left_out = seldom.due();
  if (!left_out) return;
  std::string stages;
  for (std::size_t i = 0; i < audit::k_stages.size(); ++i)
    stages += fmt::format("{}{} {:.1f}", i == 0 ? "" : ", ", audit::k_stages[i],
                          static_cast<double>(entry.stages[i].count()) / 1000);
  const auto line = fmt::format(
      "slow: {} {} of {}: {} after {:.1f} ms: {} ms{}{}{}", entry.verb,
      entry.resource.empty() ? entry.path.substr(0, entry.path.find('?')) : entry.resource,
      entry.tenant.empty() ? entry.user : entry.tenant, entry.code,
      static_cast<double>(entry.took.count()) / 1000, stages,
      entry.trace_id.empty() ? "" : ", trace ", entry.trace_id,
      *left_out == 0 ? std::string() : fmt::format(" ({} others before)", *left_out));
  const std::array<log::Field, 3> fields{{{"MESSAGE_ID", "5b0c3b1d0e0d4d0f9f6c3b8f2a7e4d11"},
                                          {"TENANT", entry.tenant},
                                          {"TRACE_ID", entry.trace_id}}};
  log::write(LogLevel::warning, "gateway", line, fields);
}

/// Of a request whose answer has begun.
audit::Ending ending_of(const translate::Target& target, const Outcome& outcome, bool leaving) {
  using audit::Ending;
  constexpr int k_went_away = 499;
  if (target.verb != "watch" || !target.resource_request) return Ending::none;
  if (outcome.status == k_went_away) return Ending::client;
  if (outcome.status >= 300) return Ending::none; // it was refused
  if (outcome.ending != Ending::none) return outcome.ending;
  return leaving ? Ending::leaving : Ending::done;
}

/// Which bodies were translated: logs, tunnels and what services behind upstream say are not.
void tell_bodies(const translate::Target& target, const Outcome& outcome, audit::Entry& entry) {
  if (!target.resource_request || target.connect) return;
  if (target.long_running && target.verb != "watch") return;
  if (target.writes() && outcome.bytes_in > 0) entry.read_as = outcome.read_as;
  if (outcome.status < 300 && outcome.bytes > 0) entry.told_as = outcome.told_as;
}

/// A refusal in the words of Kubernetes, with the object's name: of a create that is in the body,
/// and of an apply in the path, and both are told alike.
std::string status_of(const Error& error, const translate::Target& target, std::string_view body) {
  auto name = target.name;
  if (error.code() != Code::forbidden || !target.resource_request)
    return translate::error_status(error, target.group, target.resource, name);
  if (name.empty() && target.verb == "create") {
    if (const auto key = translate::object_key(body)) name = key->name;
  }
  if (error.message().find(" forbidden: ") == std::string::npos)
    return translate::forbidden_status(target.group, target.resource, name, error.message());
  return translate::error_status(error, target.group, target.resource, name);
}

} // namespace

Result<void> Exchange::answer_as(const translate::Negotiated& wanted, bool events) {
  if (wanted.yaml && events)
    return zoo::fail(Code::not_acceptable, "only the following media types are accepted: "
                                           "application/json;stream=watch, "
                                           "application/vnd.kubernetes.protobuf;stream=watch");
  std::optional<http::EventSocket> socket;
  if (events && http::asks_for_websocket(head_)) {
    ZOO_TRY(socket, http::EventSocket::open(head_, subprotocols_of(head_).offered));
  }
  const bool plain = !wanted.yaml && !wanted.protobuf;
  if (plain && !socket) return {};
  outcome_.told_as = wanted.yaml       ? audit::Encoding::yaml
                     : wanted.protobuf ? audit::Encoding::protobuf
                                       : audit::Encoding::json;
  const auto encoding = wanted.yaml ? Encoding::yaml
                        : plain     ? Encoding::json_events
                        : events    ? Encoding::protobuf_events
                                    : Encoding::protobuf;
  encoded_ = std::make_unique<EncodedAnswer>(encoding, gateway_.limits().object, std::move(socket));
  return {};
}

/// While the client does not read, the last pong alone waits, and takes no room in the stream.
void Exchange::on_frames(std::string_view bytes) {
  auto& socket = *encoded_->socket();
  socket.receive(bytes);
  stream_.consume(bytes.size());
  if (socket.over()) return finish();
  if (!stream_.writable()) return;
  std::string pong;
  socket.add_pong(pong);
  put(pong);
}

void Exchange::send_head(http::ResponseHead head) {
  if (done_ || head_sent_) return;
  head_sent_ = true;
  left_.left(audit::Stage::first_byte);
  if (head.status < 300) {
    for (const auto& warning : warnings_)
      head.headers.add("warning", warning);
    warnings_.clear();
  }
  for (const auto& warning : heard_)
    head.headers.add("warning", warning);
  heard_.clear();
  if (head.status >= 300) encoded_.reset(); // what send_status() says is encoded already
  const bool held = encoded_ && !encoded_->begin(head);
  outcome_.status = head.status;
  if (held) return;
  put_head(std::move(head));
}

/// What is sent is as it goes to the client, but for gzip.
void Exchange::put_head(http::ResponseHead head) {
  const bool unary = target_.resource_request && !target_.long_running;
  if (unary && gateway_.limits().compression && worth_compressing(head) &&
      gzip::accepted(head_.headers.get("accept-encoding"))) {
    compressed_ = std::make_unique<CompressedAnswer>(gateway_.compressing(), std::move(head));
    return;
  }
  stream_.send_head(head, false);
}

/// A stream that its client does not read holds what it was given: its tenant's bytes. A watch that
/// wants to hold more than these may be ends; others have their source wait.
void Exchange::count_unread() {
  if (done_ || !place_) return;
  const auto bytes = stream_.writable() ? 0 : stream_.pending();
  if (bytes == unread_) return;
  unread_ = bytes;
  if (place_->unread(bytes) || target_.verb != "watch") return;
  holds_too_much();
  break_off();
}

void Exchange::holds_too_much() {
  ends(audit::Ending::unread);
  outcome_.reason = view().shows_own_keys()
                        ? "its client, or others of its tenant, do not read: no room for what comes"
                        : "its client, or others of its user, do not read: no room for what comes";
  log::debug("gateway", "{} {} of {} ends: {}", head_.method, http::logged(head_.target),
             access::owner_of(route_->principal()), outcome_.reason);
}

bool Exchange::take_room(std::size_t bytes) {
  constexpr std::size_t k_frames = 64; // a chunk's size and ends
  const auto all = stream_.pending() + bytes + k_frames;
  const bool counts = all > k_most_unread || !stream_.writable();
  if (done_ || !place_ || !counts) return true;
  if (!place_->hold(all)) return false;
  unread_ = std::max<std::uint64_t>(unread_, all);
  return true;
}

void Exchange::send_events(std::string&& events) {
  if (events.empty()) { // nothing came of what room was taken for
    if (unread_ > stream_.pending()) count_unread();
    return;
  }
  const auto growth = encoded_ ? encoded_->growth(events) : 0;
  if (!take_room(events.size() + growth)) return end_unread();
  send(std::move(events));
}

void Exchange::end_unread() {
  holds_too_much();
  finish();
}

void Exchange::put(std::string_view bytes) {
  if (compressed_) return put(compressed_->add(bytes));
  outcome_.bytes += bytes.size();
  if (!bytes.empty()) stream_.send_data(bytes, false);
}

/// A head that is held still can be another one.
void Exchange::take_back_head() {
  const bool held =
      (encoded_ && encoded_->holds_head()) || (compressed_ && compressed_->holds_head());
  if (!head_sent_ || !held) return;
  encoded_.reset();
  compressed_.reset();
  head_sent_ = false;
}

void Exchange::put(CompressedAnswer::Ready&& ready) {
  if (ready.head) stream_.send_head(*ready.head, false);
  outcome_.bytes += ready.bytes.size();
  if (!ready.bytes.empty()) stream_.give_data(std::move(ready.bytes), false);
}

void Exchange::send(std::string_view bytes) {
  if (done_ || bytes.empty()) return;
  std::string encoded;
  if (encoded_) {
    // What a write has done is told whatever it costs.
    const bool counts = encoded_->holds_head() && !target_.writes();
    if (counts && !buffer(bytes.size())) return unsendable(held_too_much());
    auto made = encoded_->add(bytes);
    if (!made) return unsendable(made.error());
    encoded = *std::move(made);
    bytes = encoded;
    if (bytes.empty()) return;
  }
  put(bytes);
  count_unread();
}

void Exchange::send(std::string&& bytes) {
  if (encoded_ || compressed_) return send(std::string_view(bytes));
  if (done_ || bytes.empty()) return;
  outcome_.bytes += bytes.size();
  stream_.give_data(std::move(bytes), false);
  count_unread();
}

void Exchange::unsendable(const Error& why) {
  // While the head is held, it can still be another one.
  if (encoded_->holds_head()) head_sent_ = false;
  encoded_.reset();
  abort(why);
}

bool Exchange::writable() const { return !done_ && stream_.writable(); }

void Exchange::finish() {
  if (done_) return;
  if (encoded_) {
    const auto last = encoded_->end();
    if (!last) return unsendable(last.error());
    if (encoded_->holds_head()) put_head(encoded_->head());
    put(*last);
  }
  if (compressed_) put(compressed_->end());
  done_ = true;
  settle_rooms();
  if (held_ > 0) stream_.consume(std::exchange(held_, 0)); // what follows on this connection
  stream_.send_data({}, true);
  retire();
  std::string().swap(body_);
  // What the client does not read is still held, and counted until its stream is closed.
  constexpr std::uint64_t k_stream = 4096; // what a stream costs besides
  encoded_.reset();
  compressed_.reset();
  const std::uint64_t held = stream_.pending();
  if (place_) place_->answered(held == 0 ? 0 : std::max(held, k_stream));
  tell_audit();
}

/// The flow may be what called. What it holds does not wait for a client that reads nothing.
void Exchange::retire() {
  constexpr std::size_t k_much = 4096;
  const bool asked_at_length = head_.target.size() + head_.headers.bytes() > k_much;
  retired_ = std::move(flow_);
  const bool keeps = retired_ && (target_.long_running || retired_->keeps_much());
  if (!keeps && !asked_at_length) return;
  gateway_.loop().post([this, alive = alive()] {
    if (alive.expired()) return;
    retired_.reset();
    head_ = {};
    target_ = {};
  });
}

bool Exchange::buffer(std::size_t bytes) { return place_ && place_->buffer(bytes); }

bool Exchange::hold_part(std::size_t before, std::size_t now) {
  if (now > before) return buffer(now - before);
  if (place_) place_->give_back(before - now);
  return true;
}

/// An answer of upstream's or our own failure leaves open what was stored; destroyed rooms say so.
void Exchange::settle_rooms() {
  const bool dry_run = translate::find_param(target_.params, "dryRun") != nullptr;
  for (auto& room : rooms_) {
    if (dry_run || (outcome_.status >= 300 && outcome_.status < 500)) {
      room.drop();
    } else if (outcome_.status < 300) {
      room.keep(outcome_.bytes);
    }
  }
  rooms_.clear();
  const bool removes = target_.verb == "delete" || target_.verb == "deletecollection";
  if (removes && outcome_.status < 300 && route_) {
    gateway_.shared().ledger.removed(view().uid, Ledger::Clock::now());
  }
}

void Exchange::send_json(int status, std::string_view body) {
  http::ResponseHead head{status, {}};
  head.headers.add("content-type", "application/json");
  head.headers.add("cache-control", "no-cache, private");
  head.headers.add("content-length", std::to_string(body.size()));
  send_head(std::move(head));
  send(body);
  finish();
}

void Exchange::fail(const Error& error) {
  if (const auto level = error_row(error.code()).level; level >= LogLevel::warning)
    tell(level, head_, route_, ":", error);
  if (error.code() == Code::unauthorized) {
    judged(audit::Decision::unauthenticated, error.message());
  } else if (error.code() == Code::forbidden) {
    judged(audit::Decision::forbid, error.message());
  } else if (outcome_.decision == audit::Decision::none) {
    outcome_.reason = error_row(error.code()).reason; // the message may speak of the body
  }
  kube::StatusDetails details;
  const bool retry = error.code() == Code::too_many_requests || error.code() == Code::unavailable;
  if (retry) details.retry_after_seconds = 1;
  send_status(error_row(error.code()).http_status,
              retry ? kube::status_json(error, details) : status_of(error, target_, body_),
              retry ? "1" : "");
}

void Exchange::send_status(int http_status, std::string_view status_json,
                           std::string_view retry_after) {
  tell_refusal(http_status, error_row(Code::forbidden).reason);
  put_status(http_status, status_json, retry_after);
}

/// Allowed, and refused all the same: who allowed it is of no interest then.
void Exchange::tell_refusal(int http_status, std::string_view reason) {
  if (outcome_.decision == audit::Decision::allow && (http_status == 401 || http_status == 403))
    outcome_.reason = reason;
}

void Exchange::put_status(int http_status, std::string_view status_json,
                          std::string_view retry_after) {
  if (done_) return;
  take_back_head();
  if (head_sent_) {
    return abort(Error(Code::internal, "an error came after the answer had begun"));
  }
  http::ResponseHead head{http_status, {}};
  std::string yaml;
  if (translate::wants_yaml(head_.headers.get("accept"))) {
    if (auto made = translate::json_to_yaml(status_json)) yaml = *std::move(made);
  }
  if (!yaml.empty()) status_json = yaml;
  head.headers.add("content-type",
                   yaml.empty() ? std::string_view("application/json") : translate::k_yaml);
  head.headers.add("cache-control", "no-cache, private");
  head.headers.add("content-length", std::to_string(status_json.size()));
  if (!retry_after.empty()) head.headers.add("retry-after", retry_after);
  send_head(std::move(head));
  send(status_json);
  finish();
}

http::ResponseHead Exchange::head_out(http::ResponseHead head, translate::AnswerKind kind) const {
  const auto context = status_context(*this);
  translate::RequestWords words(mapping(), context);
  translate::AnswerHeaders filter(mapping(), kind, head.headers.all("connection"), &words);
  std::vector<std::pair<std::string, std::string>> rewritten;
  head.headers.erase_if([&](const http::Header& field) {
    const auto passed = filter.passes(field.name, field.value);
    if (passed && passed->data() == field.value.data()) return false;
    if (passed) rewritten.emplace_back(field.name, *passed);
    return true;
  });
  for (const auto& [name, value] : rewritten)
    head.headers.add(name, value);
  const auto location = head.headers.find("location");
  if (const auto place = location ? proxy_place(*this) : std::nullopt) {
    if (const auto link = translate::link_out(*place, *location))
      head.headers.set("location", *link);
  }
  return head;
}

void Exchange::heard(const http::ResponseHead& head) {
  heard_.clear();
  const auto context = status_context(*this);
  translate::RequestWords words(mapping(), context);
  translate::AnswerHeaders filter(mapping(), translate::AnswerKind::api, {}, &words);
  for (const auto value : head.headers.all("warning")) {
    if (const auto said = filter.passes("warning", value)) heard_.emplace_back(*said);
  }
  retry_after_ = head.headers.get("retry-after");
}

void Exchange::send_refusal(int http_status, std::string_view body) {
  // It is zood's own credential: who asks has another, and would throw it away. A service behind
  // upstream may be an API server, too (docs/decisions/145).
  if (http_status == 401 && target_.subresource != "proxy")
    return fail(Error(Code::unavailable, "the upstream refuses zood's credential; try again"));
  if (route_ && view().holds(Fence::objects) && translate::denied_by_platform(body))
    http_status = error_row(Code::forbidden).http_status; // as its Status says then
  tell_refusal(http_status, "upstream refused it");
  put_status(http_status,
             translate::status_out(mapping(), status_context(*this), body, http_status),
             retry_after_);
}

void Exchange::abort(const Error& why) {
  if (done_) return;
  take_back_head();
  if (!head_sent_) return fail(why);
  outcome_.reason = error_row(why.code()).reason;
  if (outcome_.ending == audit::Ending::none) ends(audit::Ending::broken);
  tell(LogLevel::warning, head_, route_, " broke off:", why);
  break_off();
}

void Exchange::break_off() {
  done_ = true;
  stream_.reset(http::ResetReason::aborted);
  retire();
  place_.reset();
  tell_audit();
}

void Exchange::judged(audit::Decision decision, std::string_view reason) {
  outcome_.decision = decision;
  outcome_.reason = reason;
}

void Exchange::tell_audit() {
  auto* log = gateway_.shared().audit;
  if (log == nullptr) return;
  const auto& connection = stream_.connection();
  audit::Entry entry;
  entry.time = std::chrono::system_clock::now();
  entry.took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begun_);
  entry.door = gateway_.source().door();
  entry.peer = connection.peer;
  entry.user_agent = head_.headers.get("user-agent");
  std::optional<api::AuditLevel> level;
  std::shared_ptr<const Principal> claimed; // keeps what the entry points into
  if (route_) {
    const auto& who = route_->principal();
    entry.tenant = mapping().id();
    entry.user = who.user;
    entry.groups = who.groups;
    entry.impersonator = who.impersonator;
    entry.credential = who.credential;
    level = view().audit;
  } else if (connection.peer_certificate_verified) {
    // Not let in; but zood signed what it was.
    claimed = gateway_.source().claimed(connection);
    if (claimed != nullptr) {
      entry.tenant = claimed->id;
      entry.user = claimed->user;
      entry.groups = claimed->groups;
      entry.credential = claimed->credential;
    }
  }
  entry.verb = target_.verb.empty() ? std::string_view(head_.method) : target_.verb;
  if (target_.resource_request) {
    entry.group = target_.group;
    entry.version = target_.version;
    entry.resource = target_.resource;
    entry.subresource = target_.subresource;
    entry.name_space = target_.name_space;
    entry.name = target_.name;
  } else {
    entry.path = head_.target;
  }
  entry.code = outcome_.status;
  entry.bytes_in = outcome_.bytes_in;
  entry.bytes_out = outcome_.bytes;
  entry.decision = outcome_.decision;
  entry.reason = outcome_.reason;
  entry.trace_id = translate::trace_id_of(head_.headers.get("traceparent"));
  if (!target_.long_running) left_.measure(begun_, entry);
  if (head_sent_) entry.ending = ending_of(target_, outcome_, leaving_);
  tell_bodies(target_, outcome_, entry);
  log->add(level, entry);
  if (entry.took >= k_slow && !target_.long_running) tell_slow(entry);
}

void StageTimes::measure(Clock::time_point begun, audit::Entry& entry) const {
  auto from = begun;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (left_[i] == Clock::time_point()) continue;
    entry.stages[i] = std::chrono::duration_cast<std::chrono::microseconds>(left_[i] - from);
    from = left_[i];
  }
  entry.stages.back() =
      entry.took - std::chrono::duration_cast<std::chrono::microseconds>(from - begun);
}

} // namespace zoo::gateway
