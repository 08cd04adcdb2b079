// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/guest.hpp"

#include "common/base/log.hpp"
#include "daemon/http/client_hello.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/connection.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace zoo::net {
namespace {

/// A fatal alert unrecognized_name (RFC 6066 3), in a record of its own.
constexpr std::string_view k_unrecognized_name("\x15\x03\x03\x00\x02\x02\x70", 7);
constexpr std::chrono::milliseconds k_refusing{1'000}; ///< for the client to take that

} // namespace

Guest::Guest(LoopShare& share, std::shared_ptr<Porter> porter, std::string name,
             std::shared_ptr<TlsServerContext> tls)
    : share_(share), porter_(std::move(porter)), name_(std::move(name)), tls_(std::move(tls)),
      client_(share.loop, *this), hears_(*this), server_(share.loop, hears_), timer_(share.loop) {}

void Guest::start(file::Fd socket) {
  const auto limits = share_.limits.load();
  if (!limits->is_balancer(socket.get())) return begin(std::move(socket));
  timer_.start(limits->proxy_header, [this] { die(); });
  proxy_ = std::make_unique<ProxyReader>(share_.loop, std::move(socket),
                                         [weak = weak_from_this()](ProxyReader::Read read) {
                                           const auto self = weak.lock();
                                           if (!self || self->stage_ != Stage::looking) return;
                                           if (!read) return self->die();
                                           self->client_name_ = std::move(read->client);
                                           self->begin(std::move(read->socket));
                                         });
}

void Guest::begin(file::Fd socket) {
  if (!client_.open(std::move(socket))) return die();
  timer_.start(share_.limits.load()->handshake, [this] { die(); });
  if (!name_.empty()) claim(name_);
}

void Guest::on_ready() {
  const auto self = shared_from_this(); // die() may be on the way
  if (stage_ == Stage::looking) return look();
  const bool stays = stage_ == Stage::refusing ? client_.discard(scratch(), Splice::k_scratch)
                                               : !client_.gone(); // one that waits makes room
  if (!stays) die();
}

/// Without taking anything. It is told when there is more, and not before: no level trigger spins
/// on what is there already.
void Guest::look() {
  const auto size =
      ::recv(client_.number(), scratch(), http::k_most_client_hello, MSG_PEEK | MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return die();
  if (size < 0) return;
  const auto there = static_cast<std::size_t>(size);
  if (there == looked_at_) return; // the end, if it came, ends it with the time for this
  looked_at_ = there;
  const auto hello = http::read_client_hello({scratch(), there});
  if (hello.state == http::ClientHello::State::need_more) return;
  if (hello.state == http::ClientHello::State::whole && porter_->claims(hello.server_name))
    return claim(hello.server_name);
  stage_ = Stage::dead;
  timer_.cancel();
  share_.serve(*this, client_.take(), tls_, {client_name_, ""});
}

void Guest::claim(const std::string& name) {
  if (share_.draining) return die();
  stage_ = Stage::waiting;
  timer_.start(k_hold, [this] { die(); });
  admitted_ = porter_->admit(share_.loop, name, [this](const Porter::Decision& decision) {
    const auto self = shared_from_this();
    decided(decision);
  });
}

void Guest::decided(const Porter::Decision& decision) {
  if (stage_ == Stage::passing || stage_ == Stage::connecting) {
    if (!decision.passes) die();
    return;
  }
  if (stage_ != Stage::waiting) return;
  if (!decision.passes) return refuse();
  const auto addresses = numeric_address(decision.address, decision.port);
  if (addresses.empty()) return refuse();
  const auto& to = addresses.front();
  file::Fd socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || (::connect(socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS) ||
      !server_.open(std::move(socket)))
    return die();
  stage_ = Stage::connecting;
}

void Guest::refuse() {
  stage_ = Stage::refusing;
  // What has come must be taken first: a socket that is closed with it sends a reset, which may
  // overtake the alert.
  while (client_.receive(scratch(), Splice::k_scratch) > 0) {
  }
  client_.send(k_unrecognized_name.data(), k_unrecognized_name.size());
  ::shutdown(client_.number(), SHUT_WR);
  timer_.start(k_refusing, [this] { die(); });
}

void Guest::on_server_ready() {
  const auto self = shared_from_this();
  if (stage_ == Stage::connecting) {
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(server_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      log::debug("net", "a connection is not handed on: error {}", error);
      return die();
    }
    if (!server_.writable()) return;
    stage_ = Stage::passing;
    timer_.cancel();
    splice_ = std::make_shared<Splice>(
        share_.loop, Splice::Counters{share_.passed_inward, share_.passed_outward},
        [this] { die(); });
    splice_->start(client_.take(), server_.take());
  }
}

void Guest::die() {
  if (stage_ == Stage::dead) return;
  stage_ = Stage::dead;
  timer_.cancel();
  admitted_.reset();
  client_.close();
  server_.close();
  if (splice_) splice_->close();
  share_.remove(*this);
}

} // namespace zoo::net
