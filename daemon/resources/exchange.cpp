// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/exchange.hpp"

#include "common/base/log.hpp"
#include "daemon/resources/body.hpp"

#include <exception>
#include <utility>

namespace zoo::resources {
namespace {

std::string shortened(const std::string& text) {
  return text.size() <= 512 ? text : text.substr(0, 512) + "...";
}

} // namespace

Exchange::Exchange(std::shared_ptr<ExchangeRoom> room, const http::RequestHead& head,
                   http::ServerStream& stream)
    : room_(std::move(room)), stream_(&stream), reply_(head, stream, room_->scheduler, room_->now),
      method_(head.method), target_(head.target), link_(std::make_shared<Link>()),
      began_(std::chrono::steady_clock::now()) {
  link_->exchange = this;
  auto parsed = parse_request(head);
  if (parsed)
    request_ = *std::move(parsed);
  else
    broken_ = std::move(parsed).error();
  if (!broken_ && request_.headers.has("content-encoding") &&
      request_.headers.get("content-encoding") != "identity")
    broken_ = Error(Code::unsupported_media_type, "send the body without Content-Encoding");
  if (!broken_) facts_ = facts_of(request_);
  at_once_ = !broken_ && room_->door->is_at_once(request_);
  if (!at_once_) stranger_ = room_->door->stranger(stream.connection());
}

Exchange::~Exchange() { leave(); }

void Exchange::leave() {
  link_->exchange = nullptr;
  link_->gone = true;
  stream_ = nullptr;
  reply_.leave();
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
  if (reply_.watches()) return reply_.received(bytes);
  if (answered_) return;
  bytes_in_ += bytes.size();
  if (refused() || at_once_) return; // nothing is kept for them
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
  if (reply_.watches()) return reply_.client_ended();
  if (!stream_ || answered_) return;
  if (refused()) return;
  if (at_once_) return finish(room_->door->at_once(request_), "-");

  const auto kind = room_->door->kind(request_);
  const auto whose = kind == Workers::Kind::slow
                         ? room_->door->whose(stream_->connection(), request_)
                         : std::string();
  // The connection may be gone before a worker gets to it: its facts are copied.
  auto job = [room = room_, link = link_, peer = stream_->connection(),
              request = std::make_shared<Request>(std::move(request_))] {
    if (link->gone) return;
    auto answer = std::make_shared<Answer>();
    try {
      auto who = room->door->identify(peer, *request);
      if (who) {
        request->who = *std::move(who);
        *answer = room->door->handle(*request);
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
  using Place = Workers::Place;
  const auto place = !whose.empty() ? room_->workers.submit_slow(whose, std::move(job))
                     : room_->workers.submit(kind, std::move(job)) ? Place::given
                                                                   : Place::none;
  if (place == Place::none_of_his) return finish(failure(too_many_of_his()), whose);
  if (place == Place::none)
    finish(failure(Error(Code::too_many_requests,
                         fmt::format("zood's {} API is busy with other requests; try again",
                                     room_->door->name()))),
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

void Exchange::on_drained() { reply_.drained(); }

void Exchange::log(int status, const std::string& who, const Answer& answer) const {
  const auto took = std::chrono::steady_clock::now() - began_;
  const Finished finished{method_,
                          target_,
                          facts_,
                          who,
                          stream_ != nullptr ? std::string_view(stream_->connection().peer)
                                             : std::string_view(),
                          status,
                          std::chrono::duration_cast<std::chrono::microseconds>(took),
                          bytes_in_,
                          answer};
  const auto& note = answer.log_note;
  const auto line = fmt::format(
      "{} {} {} {} {:.1f}ms{}{}", who.empty() ? "-" : who, method_, shortened(target_), status,
      std::chrono::duration<double, std::milli>(took).count(), note.empty() ? "" : " ", note);
  if (room_->door->is_news(finished)) {
    log::info(room_->door->name(), "{}", line);
  } else {
    log::debug(room_->door->name(), "{}", line);
  }
  room_->door->over(finished);
}

void Exchange::finish(Answer answer, const std::string& who) {
  if (!stream_ || answered_) return;
  reply_.settle(answer);
  answered_ = true;
  log(answer.status, who, answer);
  reply_.send(std::move(answer));
}

} // namespace zoo::resources
