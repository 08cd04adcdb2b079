// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/exchange.hpp"

#include "common/api/tenant.hpp"
#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "daemon/audit/log.hpp"
#include "daemon/resources/body.hpp"

#include <exception>

namespace zoo::admin {
namespace {

std::string shortened(const std::string& text) {
  return text.size() <= 512 ? text : text.substr(0, 512) + "...";
}

} // namespace

Exchange::Exchange(std::shared_ptr<ExchangeRoom> room, http::RequestHead head,
                   http::ServerStream& stream)
    : room_(std::move(room)), stream_(&stream), method_(head.method), target_(head.target),
      link_(std::make_shared<Link>()), began_(std::chrono::steady_clock::now()) {
  link_->exchange = this;
  auto parsed = resources::parse_request(head);
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
  watch_.reset();
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
  if (watch_) return watch_->received(bytes);
  if (answered_) return;
  bytes_in_ += bytes.size();
  if (refused() || health_) return; // nothing is kept for them
  if (request_.body.size() + bytes.size() > resources::k_body_limit) {
    request_.body.clear();
    finish(failure(Error(Code::too_large, fmt::format("the request body is larger than {} bytes",
                                                      resources::k_body_limit))),
           "-");
    return;
  }
  request_.body.append(bytes);
}

void Exchange::on_end() {
  if (watch_) return watch_->client_ended();
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
  if (watch_) watch_->drained();
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
  if (facts_.resource == api::k_tenant_resource)
    entry.tenant = answer.object.empty() ? facts_.name : answer.object;
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
    head.headers.add("Warning", resources::warning_value(text));
  if (answer.watch) {
    if (upgrades) (*socket_)->shake_hands(head);
    stream_->send_head(head, false);
    watch_ = std::make_unique<resources::WatchStream>(
        std::move(answer.watch), *stream_, room_->scheduler, room_->context.now,
        upgrades ? std::optional(**std::move(socket_)) : std::nullopt);
    return watch_->start();
  }
  if (method_ == "HEAD" || answer.status == 304) {
    stream_->send_head(head, true);
    return;
  }
  head.headers.add("Content-Length", std::to_string(answer.body.size()));
  stream_->send_head(head, answer.body.empty());
  if (!answer.body.empty()) stream_->send_data(answer.body, true);
}

} // namespace zoo::admin
