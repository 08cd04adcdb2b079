// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/errand.hpp"

#include "common/base/log.hpp"
#include "daemon/http/answer.hpp"
#include "daemon/net/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace zoo::net {
namespace {

constexpr std::string_view k_agreed = "HTTP/1.1 200 Connection established\r\n\r\n";
constexpr std::chrono::milliseconds k_refused_for{1'000}; ///< for the client to take a refusal
constexpr std::size_t k_most_phrase = 400;

/// A sentence where a status line has its phrase: printable ASCII alone.
std::string phrase_of(std::string_view why) {
  std::string out(why.substr(0, k_most_phrase));
  for (char& c : out)
    if (c < 0x20 || c >= 0x7f) c = '?';
  return out;
}

std::string refusal_text(int status, const std::string& why) {
  const auto body = http::status_document(status, why);
  return fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
                     "Connection: close\r\n\r\n{}",
                     status, phrase_of(why), body.size(), body);
}

} // namespace

Errand::Errand(LoopShare& share, std::shared_ptr<Gate> gate)
    : share_(share), gate_(std::move(gate)), client_(share.loop, *this), hears_(*this),
      server_(share.loop, hears_), timer_(share.loop) {}

void Errand::start(file::Fd socket) {
  if (!client_.open(std::move(socket))) return die();
  timer_.start(k_head, [this] {
    const auto self = shared_from_this();
    refuse(408, "the request did not become whole in time");
  });
}

void Errand::on_ready() {
  const auto self = shared_from_this(); // die() may be on the way
  if (stage_ == Stage::reading) return read();
  const bool stays = stage_ == Stage::refusing ? client_.discard(scratch(), Splice::k_scratch)
                                               : !client_.gone(); // one that waits makes room
  if (!stays) die();
}

void Errand::read() {
  for (;;) {
    // One byte more than a head may have: whoever sends that much is refused.
    const auto room = http::k_most_connect_head + 1 - head_bytes_.size();
    const auto size = client_.receive(scratch(), room);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return die();
    head_bytes_.append(scratch(), static_cast<std::size_t>(size));
    head_ = http::read_connect_head(head_bytes_);
    using State = http::ConnectHead::State;
    if (head_.state == State::refused) return refuse(head_.status, head_.trouble);
    if (head_.state == State::need_more) continue;
    // Whoever talks before he was answered means that for somebody else.
    if (head_bytes_.size() != head_.size)
      return refuse(400, "bytes follow the request before it was answered");
    return ask();
  }
}

void Errand::ask() {
  std::string().swap(head_bytes_);
  if (share_.draining) return die();
  stage_ = Stage::judging;
  timer_.start(k_judged, [this] {
    const auto self = shared_from_this();
    refuse(504, fmt::format("it was not found out in time where {} is", head_.authority()));
  });
  judged_ = gate_->ask(share_.loop, head_, [this](Gate::Decision decision) {
    const auto self = shared_from_this();
    decided(std::move(decision));
  });
}

void Errand::decided(Gate::Decision decision) {
  if (stage_ != Stage::judging) return;
  timer_.cancel();
  if (const auto* refusal = std::get_if<Gate::Refusal>(&decision))
    return refuse(refusal->status, refusal->why);
  if (const auto* inward = std::get_if<Gate::Inward>(&decision)) return serve(inward->tls);
  to_ = std::move(std::get<Gate::Outward>(decision).to);
  std::reverse(to_.begin(), to_.end());
  stage_ = Stage::dialling;
  dial();
}

void Errand::refuse(int status, const std::string& why) {
  stage_ = Stage::refusing;
  judged_.reset();
  server_.close();
  log::debug("net", "CONNECT {}: {}", head_.host.empty() ? "" : head_.authority(), why);
  // What has come must be taken first: a socket that is closed with it sends a reset, which may
  // overtake the answer.
  while (client_.receive(scratch(), Splice::k_scratch) > 0) {
  }
  const auto text = refusal_text(status, why);
  client_.send(text.data(), text.size());
  ::shutdown(client_.number(), SHUT_WR);
  timer_.start(k_refused_for, [this] { die(); });
}

bool Errand::agree() {
  return client_.send(k_agreed.data(), k_agreed.size()) ==
         static_cast<std::ptrdiff_t>(k_agreed.size());
}

void Errand::serve(const std::shared_ptr<TlsServerContext>& tls) {
  if (!agree()) return die();
  stage_ = Stage::dead;
  judged_.reset();
  share_.serve(*this, client_.take(), tls, {"", head_.authority()});
}

/// The next address; 502 when there is none any more.
void Errand::dial() {
  while (!to_.empty()) {
    const auto to = to_.back();
    to_.pop_back();
    file::Fd socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket || (::connect(socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS) ||
        !server_.open(std::move(socket)))
      continue;
    timer_.start(k_dial, [this] {
      const auto self = shared_from_this();
      server_.close();
      dial();
    });
    return;
  }
  refuse(502, fmt::format("{} cannot be reached", head_.authority()));
}

void Errand::on_server_ready() {
  const auto self = shared_from_this();
  if (stage_ != Stage::dialling) return;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(server_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    server_.close();
    return dial();
  }
  if (server_.writable()) connected();
}

void Errand::connected() {
  timer_.cancel();
  if (!agree()) return die();
  stage_ = Stage::passing;
  splice_ = std::make_shared<Splice>(share_.loop,
                                     Splice::Counters{share_.passed_inward, share_.passed_outward},
                                     [this] { die(); });
  splice_->start(client_.take(), server_.take());
  if (stage_ == Stage::passing) look_after(share_.limits.load()->idle);
}

/// One through which nothing has gone for `idle` ends.
void Errand::look_after(std::chrono::milliseconds idle) {
  const auto quiet = std::chrono::duration_cast<std::chrono::milliseconds>(Splice::Clock::now() -
                                                                           splice_->last_moved());
  if (quiet >= idle) return die();
  timer_.start(idle - quiet, [this, idle] {
    const auto self = shared_from_this();
    look_after(idle);
  });
}

void Errand::die() {
  if (stage_ == Stage::dead) return;
  stage_ = Stage::dead;
  timer_.cancel();
  judged_.reset();
  client_.close();
  server_.close();
  if (splice_) splice_->close();
  share_.remove(*this);
}

} // namespace zoo::net
