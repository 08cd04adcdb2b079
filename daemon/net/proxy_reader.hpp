// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/net/socket.hpp"

#include <functional>
#include <string>

namespace zoo::net {

/// The peer of a connected socket; of no family if there is none any more.
Address peer_of(int socket);

/// Waits until the PROXY header of a connection is whole, and takes it from the socket: what is
/// left there is the client's. Reads nothing behind it, so that TLS begins with its own first byte.
/// Who owns it looks after the time. Loop thread only.
class ProxyReader final : public SocketHandler {
public:
  struct Begun {
    file::Fd socket;    ///< behind the header
    std::string client; ///< "192.0.2.1:53124"; the socket's own peer where the header names none
  };
  using Read = Result<Begun>;

  /// `done` is called once, never from in here, and may destroy the reader. Code::invalid: what is
  /// wrong with the header, and who sent it; Code::io: the balancer closed before it was whole.
  /// The log says either.
  ProxyReader(Loop& loop, file::Fd socket, std::function<void(Read)> done);

private:
  void on_ready() override;
  void finish(Read read);

  Socket socket_;
  std::string balancer_;
  std::function<void(Read)> done_;
  Timer later_;
};

} // namespace zoo::net
