// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/splice.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace zoo::net {
namespace {

/// Bytes of one way in one turn of the loop: others have theirs.
constexpr std::size_t k_turn = 16 * Splice::k_scratch;

} // namespace

void keep_alive(int socket) {
  const int on = 1, seconds = 30, times = 3;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

char* scratch() {
  thread_local std::array<char, Splice::k_scratch> bytes;
  return bytes.data();
}

Splice::Splice(Loop& loop, Counters counters, std::function<void()> over)
    : loop_(loop), counters_(counters), over_(std::move(over)), client_(loop, *this),
      server_(loop, *this) {}

void Splice::start(file::Fd client, file::Fd server) {
  keep_alive(client.get());
  keep_alive(server.get());
  if (!client_.socket.open(std::move(client)) || !server_.socket.open(std::move(server)))
    return end();
  client_.socket.look(); // what has come so far was told before
  pass();
}

void Splice::close() {
  over_ = nullptr;
  client_.socket.close();
  server_.socket.close();
}

void Splice::end() {
  const auto over = std::exchange(over_, nullptr);
  close();
  if (over) over();
}

void Splice::pass() {
  const auto self = shared_from_this(); // end() may be on the way
  if (!over_) return;
  auto& client = client_.socket;
  auto& server = server_.socket;
  const bool inward = move(client, server, inward_, counters_.inward);
  const bool outward = inward && move(server, client, outward_, counters_.outward);
  if (!inward || !outward || (inward_.shut && outward_.shut)) end();
}

/// False: a side is gone.
bool Splice::move(Socket& from, Socket& to, Way& way, std::atomic<std::uint64_t>& counter) {
  std::size_t moved = 0;
  for (;;) {
    if (!way.pending.empty()) {
      const auto sent = to.send(way.pending.data(), way.pending.size());
      if (sent < 0) return errno == EAGAIN;
      last_moved_ = Clock::now();
      way.pending.erase(0, static_cast<std::size_t>(sent));
      if (!way.pending.empty()) continue;
      way.pending.shrink_to_fit();
    }
    if (way.ended) {
      if (!way.shut) ::shutdown(to.number(), SHUT_WR);
      way.shut = true;
      return true;
    }
    if (moved >= k_turn) {
      if (!std::exchange(posted_, true))
        loop_.post([weak = weak_from_this()] {
          const auto self = weak.lock();
          if (!self) return;
          self->posted_ = false;
          self->pass();
        });
      return true;
    }
    const auto size = from.receive(scratch(), k_scratch);
    if (size < 0) return errno == EAGAIN;
    if (size == 0) {
      way.ended = true;
      continue;
    }
    last_moved_ = Clock::now();
    moved += static_cast<std::size_t>(size);
    counter += static_cast<std::uint64_t>(size);
    const auto sent = to.send(scratch(), static_cast<std::size_t>(size));
    if (sent < 0 && errno != EAGAIN) return false;
    const auto taken = sent < 0 ? std::size_t{0} : static_cast<std::size_t>(sent);
    if (taken < static_cast<std::size_t>(size))
      way.pending.assign(scratch() + taken, static_cast<std::size_t>(size) - taken);
  }
}

} // namespace zoo::net
