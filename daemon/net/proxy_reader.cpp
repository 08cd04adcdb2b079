// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/proxy_reader.hpp"

#include "common/base/log.hpp"
#include "daemon/net/proxy_protocol.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace zoo::net {

Address peer_of(int socket) {
  Address address;
  address.size = sizeof(address.storage);
  if (::getpeername(socket, address.get(), &address.size) != 0) return {};
  return address;
}

ProxyReader::ProxyReader(Loop& loop, file::Fd socket, std::function<void(Read)> done)
    : socket_(loop, *this), balancer_(peer_of(socket.get()).text()), done_(std::move(done)),
      later_(loop) {
  if (socket_.open(std::move(socket))) return; // what has come already is told, too
  later_.start(std::chrono::microseconds(0), [this] {
    finish(zoo::fail(Code::internal, "{}: the kernel watches no more sockets", balancer_));
  });
}

void ProxyReader::on_ready() {
  std::array<char, k_proxy_header_bytes> bytes;
  ssize_t count = 0;
  do {
    count = ::recv(socket_.number(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0)
    return finish(zoo::fail(Code::io, "{} closed before its PROXY header was whole", balancer_));
  auto header = read_proxy_header({bytes.data(), static_cast<std::size_t>(count)});
  if (!header)
    return finish(zoo::fail(Code::invalid, "{}: {}", balancer_, header.error().message()));
  if (!*header) {
    // The peer's end is told once, with the last bytes.
    if (!socket_.ended()) return;
    return finish(zoo::fail(Code::io, "{} closed before its PROXY header was whole", balancer_));
  }
  const auto taken = ::recv(socket_.number(), bytes.data(), (*header)->size, MSG_DONTWAIT);
  if (taken != static_cast<ssize_t>((*header)->size))
    return finish(zoo::fail(Code::io, "{}: its PROXY header cannot be read", balancer_));
  auto client = (*header)->client.empty() ? balancer_ : std::move((*header)->client);
  finish(Begun{socket_.take(), std::move(client)});
}

void ProxyReader::finish(Read read) {
  socket_.close();
  if (!read) log::warning("net", "a connection is refused: {}", read.error().message());
  const auto done = std::move(done_);
  done(std::move(read)); // which may be the end of this object
}

} // namespace zoo::net
