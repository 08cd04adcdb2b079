// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::http {

/// What one connection may cost. All sizes in bytes. Bodies are limited by whoever buffers them.
struct Limits {
  std::size_t header_bytes = 64 * 1024; ///< a request's head; more is answered 431
  std::size_t target_bytes = 16 * 1024; ///< path and query; more is answered 414
  std::size_t header_fields = 256;
  std::uint32_t streams = 250;               ///< HTTP/2: concurrent requests a connection
  std::size_t high_watermark = 256 * 1024;   ///< of a stream's buffer: writable() turns false
  std::size_t low_watermark = 64 * 1024;     ///< on_drained() comes when it is below this
  std::size_t connection_pending = 4u << 20; ///< of all buffers together: nobody is writable()
  std::uint32_t stream_window = 256 * 1024;  ///< HTTP/2: request bytes a stream may have ahead
  std::uint32_t connection_window = 4u << 20;
  std::uint32_t reset_burst = 500; ///< HTTP/2: RST_STREAM a client may send at once,
  std::uint32_t reset_rate = 50;   ///< and a second (CVE-2023-44487)
  /// Of a request that is answered before it is complete, the rest is read and thrown away: clients
  /// read no answer before they have sent all, or while their sending fails. So many bytes, and for
  /// so long after the answer has left, at most.
  std::size_t discard_bytes = 32u << 20;
  std::chrono::milliseconds discard_time{30'000};

  /// The low watermark of a stream that has `high` for its own.
  std::size_t low_for(std::size_t high) const { return std::min(low_watermark, high / 4); }
};

/// The protocol of one client connection, without its socket: bytes in, bytes out, a Service in
/// between. Belongs to one loop. Streams' handlers are destroyed only inside receive(),
/// receive_end(), produce(), closed() and the destructor, never while one of them is on the stack.
class ServerCodec {
public:
  enum class Close {
    no,
    gracefully, ///< everything was produced: write it, then close in order
    abruptly,   ///< an answer broke off: close so that the client cannot take it for complete
  };
  enum class Waiting { nothing, head, body, close };

  virtual ~ServerCodec() = default;
  virtual void receive(std::string_view bytes) = 0;
  /// The peer will send no more (FIN, close_notify). Half-closes a tunnel, else resets.
  virtual void receive_end() = 0;
  /// Appends about `max` bytes at most to `out`; returns how many. 0: nothing to write now.
  virtual std::size_t produce(std::string& out, std::size_t max) = 0;
  /// False while the handlers are behind with what was received: do not read the socket.
  virtual bool wants_read() const = 0;
  virtual Close wants_close() const = 0;
  /// A tunnel whose sending half has ended: shut the socket's writing side once all is written.
  virtual bool write_ended() const = 0;
  virtual std::size_t open_streams() const = 0;
  virtual std::size_t pending() const = 0;   ///< bytes of answers that it holds
  virtual std::uint64_t refused() const = 0; ///< answers so far for which is_refusal() holds
  virtual Waiting waiting_for() const = 0;   ///< what the client owes us, for the listener's clocks
  /// Resets streams that hold bytes of which none has left since the last call but one: their
  /// windows stay shut, whatever else their client does.
  virtual void reset_stalled() {}
  /// The time is `now`: stops to read on what is to be thrown away once Limits::discard_time is
  /// over. To be called each second or so; calls no handler.
  virtual void stop_reading_on(std::chrono::steady_clock::time_point /*now*/) {}
  /// Says that no more requests are wanted here: GOAWAY, or Connection: close with each answer from
  /// now on. Those that come all the same, since the client has not heard of it, are served.
  virtual void drain() = 0;
  /// drain(), and StreamHandler::on_leaving() to all streams, to those that are still to come too.
  /// A connection of HTTP/1.1 that has no request closes.
  virtual void leave() = 0;
  virtual void closed() = 0; ///< the connection is gone: on_reset() to all
};

/// `wakeup` is called when produce(), wants_read() or wants_close() have something new to say, from
/// inside a ServerStream's functions too: it must only make a note (post), never call the codec.
/// `service` and `info` outlive the codec.
using Wakeup = std::function<void()>;

/// HTTP/1.1 and 1.0 (RFC 9112), strict: what two parsers could read in two ways is refused.
std::unique_ptr<ServerCodec> make_h1_codec(const Limits& limits, Service& service,
                                           const ConnectionInfo& info, Wakeup wakeup);
/// HTTP/2 (RFC 9113) by nghttp2, which validates frames and messages.
std::unique_ptr<ServerCodec> make_h2_codec(const Limits& limits, Service& service,
                                           const ConnectionInfo& info, Wakeup wakeup);

} // namespace zoo::http
