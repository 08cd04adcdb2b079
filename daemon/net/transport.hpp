// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/net/tls.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {

/// Hears a Transport, on its loop's thread, never from inside a call to it. May destroy it.
class TransportHandler {
public:
  virtual ~TransportHandler() = default;
  virtual void on_open() = 0; ///< connected, and the TLS handshake is done
  virtual void on_read(std::string_view bytes) = 0;
  virtual void on_read_end() = 0;           ///< FIN or close_notify: in order, nothing is missing
  virtual void on_written() = 0;            ///< unsent() is 0 again, after it was not
  virtual void on_failure(Error error) = 0; ///< broken, and closed; one sentence; nothing follows
};

/// One connected byte stream: TCP or Unix socket, with TLS or without, of a client or a server.
/// Non-blocking; bytes that the socket does not take are kept, watched by unsent(). Loop thread
/// only. Destruction closes at once and silently.
class Transport {
public:
  enum class Phase { connecting, handshaking, open, closed };

  /// Takes an accepted, non-blocking socket. `tls` null: plain.
  static std::unique_ptr<Transport> accept(Loop& loop, file::Fd socket, const TlsServerContext* tls,
                                           TransportHandler& handler);
  /// Starts to connect; a name is looked up, its addresses are tried in turn.
  static std::unique_ptr<Transport> connect(Loop& loop, std::string host, std::uint16_t port,
                                            const TlsClientContext* tls, TransportHandler& handler);
  ~Transport();

  Phase phase() const;
  void read(bool wanted); ///< false at first; off: the socket's window fills, nothing else
  void deafen(); ///< as read(false), and until read(true) what comes does not wake the loop
  /// Much is to come: where it comes in small pieces, on_read() hears of them by the dozen, half a
  /// millisecond late at most. What comes slowly is told at once.
  void gather(bool wanted);
  void write(std::string bytes);
  void write_view(std::string_view bytes); ///< the same of bytes that stay the caller's
  std::size_t unsent() const;
  void end_write(); ///< close_notify and FIN once all is written
  void abort();     ///< RST: the peer cannot take what it has for complete

  /// False if the peer has closed or sent something although nothing was awaited, as far as the
  /// loop has heard; `ask`: as far as the kernel has, which is a system call.
  bool quiet(bool ask) const;
  std::string peer() const; ///< "127.0.0.1:53124", or "unix"
  struct PeerCredentials {
    int uid = -1, gid = -1, pid = -1;
  };
  PeerCredentials peer_credentials() const; ///< Unix sockets
  bool encrypted() const;
  std::string alpn() const;                 ///< empty: none was agreed on
  std::string peer_certificate_der() const; ///< empty: none was shown
  bool peer_certificate_verified() const;
  /// ConnectionInfo::peer_authority.
  std::string peer_authority() const;
  bool session_resumed() const;

private:
  struct Impl;
  explicit Transport(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

} // namespace zoo::net
