// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/message.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

/// The two halves of an exchange between a connection (a codec) and what serves it. Neither side
/// knows which protocol or socket is behind the other. Everything here belongs to one event loop
/// and is called on its thread only.
namespace zoo::http {

/// What is known of the connection a stream came in on. Lives as long as the connection.
struct ConnectionInfo {
  std::string peer;                       ///< "127.0.0.1:53124", or "unix" for the admin socket
  std::string asked_for;                  ///< where its CONNECT wanted to go; empty: there was none
  std::string peer_certificate_der;       ///< empty: the client showed none
  std::size_t peer_certificate_hash = 0;  ///< of these bytes, for who keeps something by them
  bool peer_certificate_verified = false; ///< by the listener's client CA, dates included
  /// SHA-256 of the DER of the client authority that it was verified by; empty: it was not, or long
  /// before, in a session that was resumed.
  std::string peer_authority;
  int peer_uid = -1; ///< Unix socket: SO_PEERCRED; else -1
  int peer_gid = -1;
  int peer_pid = -1;
};

enum class ResetReason {
  cancelled, ///< nobody wants the rest
  aborted,   ///< the answer broke off: must never look complete to the client
  refused,   ///< not processed, safe to retry
};

/// The answering half, implemented by the codec. Valid until the StreamHandler is destroyed.
class ServerStream {
public:
  virtual ~ServerStream() = default;

  /// Once, before any data. Framing fields (Content-Length, Transfer-Encoding, Connection) are the
  /// codec's: a Content-Length given here is kept if present, everything else is set by it. A body
  /// that turns out longer or shorter than it is a reset(aborted).
  /// Status 101 (HTTP/1.1 only) turns the stream into a tunnel of raw bytes in both directions.
  virtual void send_head(const ResponseHead& head, bool end) = 0;
  /// Copies into the stream's buffer. Never blocks and never refuses: ask writable() first.
  virtual void send_data(std::string_view bytes, bool end) = 0;
  /// The same, without the copy where the protocol can do without.
  virtual void give_data(std::string&& bytes, bool end) { send_data(bytes, end); }
  /// False once the buffer is above its high watermark; on_drained() follows below the low one.
  virtual bool writable() const = 0;
  /// Bytes of the answer that the buffer holds.
  virtual std::size_t pending() const = 0;
  /// From now on writable() turns false at so many bytes, not at Limits::high_watermark.
  virtual void set_high_watermark(std::size_t bytes) = 0;
  /// Ends the stream at once: RST_STREAM, or the connection of HTTP/1.1 is closed. What is still
  /// buffered is dropped; the handler hears nothing more and is destroyed soon.
  virtual void reset(ResetReason reason) = 0;
  /// `bytes` of on_data() have been dealt with: opens the flow-control window by as much.
  virtual void consume(std::size_t bytes) = 0;

  /// Nothing follows the request's head, and that is known before on_end() says so. May be false
  /// all the same.
  virtual bool request_complete() const { return false; }

  virtual const ConnectionInfo& connection() const = 0;
};

/// The serving half: one request. Made by a Service, owned by the connection, destroyed after
/// on_reset() or once both directions have ended, and never inside one of its own callbacks.
class StreamHandler {
public:
  virtual ~StreamHandler() = default;
  virtual void on_data(std::string_view bytes) = 0; ///< request body, or tunnel bytes
  /// The request's body is complete. After a 101, once more: the client half-closed the tunnel.
  virtual void on_end() = 0;
  virtual void on_reset() = 0;   ///< the client went away; no call on the stream any more
  virtual void on_drained() = 0; ///< writable() again
  /// The server is about to go. An exchange that would last for as long as its client likes, a
  /// watch for one, ends its answer in order, soon. Others do nothing: they are over in a moment,
  /// or cannot be ended in order. May come before the request is complete, and more than once.
  virtual void on_leaving() {}
};

/// Makes a handler for each request. One a listener and loop.
class Service {
public:
  virtual ~Service() = default;
  /// `stream` may be answered already in here. Never returns null.
  virtual std::unique_ptr<StreamHandler> on_request(RequestHead head, ServerStream& stream) = 0;
};

} // namespace zoo::http
