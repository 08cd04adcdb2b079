// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/exchange.hpp"

#include "common/api/tenant.hpp"
#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "daemon/admin/body.hpp"
#include "daemon/audit/log.hpp"

#include <exception>

namespace zoo::admin {
namespace {

constexpr std::chrono::seconds k_bookmark_interval{55}; ///< "at least every minute"
/// Without timeoutSeconds; upstream takes 30 to 60 minutes (--min-request-timeout).
constexpr std::chrono::seconds k_watch_timeout{40 * 60};

std::string shortened(const std::string& text) {
  return text.size() <= 512 ? text : text.substr(0, 512) + "...";
}

} // namespace

Exchange::Exchange(std::shared_ptr<ExchangeRoom> room, http::RequestHead head,
                   http::ServerStream& stream)
    : room_(std::move(room)), stream_(&stream), method_(head.method), target_(head.target),
      link_(std::make_shared<Link>()), began_(std::chrono::steady_clock::now()) {
  link_->exchange = this;
  auto parsed = parse_request(head);
  if (parsed)
    request_ = *std::move(parsed);
  else
    broken_ = std::move(parsed).error();
  if (!broken_ && request_.headers.has("content-encoding") &&
      request_.headers.get("content-encoding") != "identity")
    broken_ = Error(Code::unsupported_media_type, "send the body without Content-Encoding");
  if (!broken_) facts_ = audit_facts(request_);
  if (http::asks_for_websocket(head))
    socket_ = http::EventSocket::open(head, head.headers.get("sec-websocket-protocol"));
  health_ = !broken_ && Router::is_health(request_);
  if (!health_) stranger_ = stranger(stream.connection());
}

Exchange::~Exchange() { leave(); }

void Exchange::leave() {
  link_->exchange = nullptr;
  link_->gone = true;
  stream_ = nullptr;
  if (feed_) feed_->attach(nullptr);
  feed_.reset();
  bookmark_.reset();
  timeout_.reset();
}

bool Exchange::refused() {
  if (stranger_) {
    finish(failure(*stranger_), stream_->connection().peer);
  } else if (broken_) {
    finish(failure(*broken_), "-");
  }
  return stranger_ || broken_;
}

void Exchange::on_data(std::string_view bytes) {
  if (!stream_) return;
  stream_->consume(bytes.size());
  if (feed_ && socket_) return hear(bytes);
  if (answered_) return;
  bytes_in_ += bytes.size();
  if (refused() || health_) return; // nothing is kept for them
  if (request_.body.size() + bytes.size() > k_body_limit) {
    request_.body.clear();
    finish(failure(Error(Code::too_large,
                         fmt::format("the request body is larger than {} bytes", k_body_limit))),
           "-");
    return;
  }
  request_.body.append(bytes);
}

void Exchange::on_end() {
  if (stream_ && feed_ && socket_) return end_watch(); // its client went without a close
  if (!stream_ || answered_) return;
  if (refused()) return;
  if (health_) return finish(room_->router.health(request_), "-");

  const auto kind = Router::kind(request_);
  // The connection may be gone before a worker gets to it: its facts are copied.
  auto job = [room = room_, link = link_, peer = stream_->connection(),
              request = std::make_shared<Request>(std::move(request_))] {
    if (link->gone) return;
    auto answer = std::make_shared<Answer>();
    try {
      auto who = identify(peer, room->context.door);
      if (who) {
        request->who = *std::move(who);
        *answer = room->router.handle(*request);
      } else {
        *answer = failure(who.error());
        request->who.name = peer.peer_uid >= 0 ? fmt::format("uid {}", peer.peer_uid) : peer.peer;
      }
    } catch (const std::exception& problem) {
      *answer = failure(Error(Code::internal, "zood could not deal with this request; its log has "
                                              "the reason"));
      answer->log_note = problem.what();
    }
    room->scheduler.post([link, answer, name = request->who.name] {
      if (link->exchange) link->exchange->finish(std::move(*answer), name);
    });
  };
  if (!room_->context.workers.submit(kind, std::move(job)))
    finish(failure(Error(Code::too_many_requests,
                         "zood's admin API is busy with other requests; try again")),
           "-");
}

void Exchange::on_reset() {
  if (stream_ && !answered_) {
    Answer none;
    none.log_note = "the client went away";
    log(499, request_.who.name, none);
  }
  leave();
}

void Exchange::on_drained() {
  if (feed_ && socket_) hear({});
  if (feed_) pump();
}

void Exchange::hear(std::string_view frames) {
  auto& socket = **socket_;
  socket.receive(frames);
  if (socket.over()) return end_watch();
  if (!stream_->writable()) return;
  std::string pong;
  socket.add_pong(pong);
  if (!pong.empty()) stream_->send_data(pong, false);
}

void Exchange::send_event(std::string_view line) {
  if (line.empty()) return;
  if (!socket_) return stream_->send_data(line, false);
  std::string message;
  http::EventSocket::add_message(http::EventSocket::Kind::text, line, message);
  stream_->send_data(message, false);
}

void Exchange::log(int status, const std::string& who, const Answer& answer) const {
  const auto took = std::chrono::steady_clock::now() - began_;
  const auto& note = answer.log_note;
  log::info("admin", "{} {} {} {} {:.1f}ms{}{}", who.empty() ? "-" : who, method_,
            shortened(target_), status, std::chrono::duration<double, std::milli>(took).count(),
            note.empty() ? "" : " ", note);
  if (room_->context.audit == nullptr) return;
  audit::Entry entry;
  entry.time = std::chrono::system_clock::now();
  entry.took = std::chrono::duration_cast<std::chrono::microseconds>(took);
  entry.door = "admin";
  entry.tenant = answer.tenant;
  if (entry.tenant.empty() && facts_.resource == api::k_tenant_resource) entry.tenant = facts_.name;
  entry.user = who == "-" ? std::string_view() : who;
  if (stream_ != nullptr) entry.peer = stream_->connection().peer;
  entry.verb = facts_.verb.empty() ? std::string_view(method_) : facts_.verb;
  entry.group = facts_.group;
  entry.version = facts_.version;
  entry.resource = facts_.resource;
  entry.subresource = facts_.subresource;
  entry.name = facts_.name;
  if (facts_.resource.empty()) entry.path = target_;
  entry.code = status;
  entry.bytes_in = bytes_in_;
  entry.bytes_out = answer.body.size();
  entry.decision = status == 401   ? audit::Decision::unauthenticated
                   : status == 403 ? audit::Decision::forbid
                   : status == 499 ? audit::Decision::none
                                   : audit::Decision::allow;
  room_->context.audit->add(std::nullopt, entry);
}

void Exchange::finish(Answer answer, const std::string& who) {
  if (!stream_ || answered_) return;
  if (answer.watch && socket_ && !*socket_) answer = failure(socket_->error());
  const bool upgrades = answer.watch && socket_;
  if (upgrades) answer.status = 101;
  answered_ = true;
  log(answer.status, who, answer);
  http::ResponseHead head;
  head.status = answer.status;
  head.headers = std::move(answer.headers);
  if (answer.status != 304) head.headers.add("Content-Type", answer.content_type);
  if (!head.headers.has("Cache-Control")) head.headers.add("Cache-Control", "no-cache, private");
  head.headers.add("X-Content-Type-Options", "nosniff");
  for (const auto& text : answer.warnings)
    head.headers.add("Warning", warning_value(text));
  if (answer.watch) {
    if (upgrades) (*socket_)->shake_hands(head);
    stream_->send_head(head, false);
    return start_watch(std::move(answer.watch));
  }
  if (method_ == "HEAD" || answer.status == 304) {
    stream_->send_head(head, true);
    return;
  }
  head.headers.add("Content-Length", std::to_string(answer.body.size()));
  stream_->send_head(head, answer.body.empty());
  if (!answer.body.empty()) stream_->send_data(answer.body, true);
}

void Exchange::start_watch(std::shared_ptr<WatchFeed> feed) {
  feed_ = std::move(feed);
  encoder_ = std::make_unique<WatchEncoder>(feed_->plan());
  if (const auto& refused = feed_->plan().refused) {
    send_event(encoder_->error(*refused));
    return end_watch();
  }
  feed_->attach([&scheduler = room_->scheduler, link = link_] {
    scheduler.post([link] {
      if (link->exchange && link->exchange->feed_) link->exchange->pump();
    });
  });
  const auto asked = feed_->plan().timeout;
  timeout_ =
      room_->scheduler.after(asked.count() > 0 ? asked : k_watch_timeout, [this] { end_watch(); });
  schedule_bookmark();
  pump();
}

void Exchange::schedule_bookmark() {
  if (!feed_ || !feed_->plan().bookmarks) return;
  bookmark_ = room_->scheduler.after(k_bookmark_interval, [this] {
    if (stream_ && initial_done_ && stream_->writable()) send_event(encoder_->bookmark(false));
    // Not from here: the alarm that runs would be replaced under its own feet.
    room_->scheduler.post([link = link_] {
      if (link->exchange) link->exchange->schedule_bookmark();
    });
  });
}

void Exchange::pump() {
  const auto& plan = feed_->plan();
  const auto now = room_->context.now();
  while (plan.emit_initial && initial_sent_ < plan.initial.size()) {
    if (!stream_->writable()) return;
    send_event(encoder_->initial(plan.initial[initial_sent_++], now));
  }
  if (!initial_done_) {
    initial_done_ = true;
    if (plan.mark_initial_end) send_event(encoder_->bookmark(true));
  }
  while (stream_->writable()) {
    const auto change = feed_->take();
    if (!change) break;
    send_event(encoder_->change(*change, now));
  }
  // Ends like upstream's own watch cache does: the client comes back where it stood.
  if (feed_->overflowed()) end_watch();
}

void Exchange::end_watch() {
  if (!stream_) return;
  std::string last;
  if (socket_) (*socket_)->add_close(last);
  stream_->send_data(last, true);
  stream_ = nullptr;
  if (feed_) feed_->attach(nullptr);
  feed_.reset();
  // May be running inside one of the alarms: they are dropped from a fresh stack.
  room_->scheduler.post([link = link_] {
    if (!link->exchange) return;
    link->exchange->timeout_.reset();
    link->exchange->bookmark_.reset();
  });
}

} // namespace zoo::admin
