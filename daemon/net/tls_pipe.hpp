// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/tls.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {

/// The client's end of a TLS connection whose bytes somebody else carries: no socket, no loop. Who
/// has it moves take() to the server and what the server says into receive(). One thread at a time.
///
///   ZOO_TRY(auto pipe, TlsPipe::connect(*context));
///   send(pipe->take());                        // the handshake begins
///   ZOO_TRY_VOID(pipe->receive(came, plain));  // whenever something has come
///   send(pipe->take());                        // and what that asks for
class TlsPipe {
public:
  /// The handshake's first message waits in take(). Code::internal: no memory.
  static Result<std::unique_ptr<TlsPipe>> connect(const TlsClientContext& context);
  ~TlsPipe();
  TlsPipe(const TlsPipe&) = delete;
  TlsPipe& operator=(const TlsPipe&) = delete;

  /// Bytes of the server's; what they say is appended to `plain`, which grows by no more than they
  /// are. Code::unavailable, in one sentence: the handshake failed, the server's certificate is
  /// not as the context wants it, or the bytes are not TLS; nothing can be done with the pipe then.
  Result<void> receive(std::string_view came, std::string& plain);
  /// Only once it is open(). Code::unavailable likewise.
  Result<void> write(std::string_view plain);
  /// What is to be carried to the server; "" is nothing.
  std::string take();

  bool open() const;  ///< the handshake is done, and the server's certificate verified
  bool ended() const; ///< the server has said that nothing follows (close_notify)

private:
  TlsPipe();
  Result<void> shake_hands();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::net
