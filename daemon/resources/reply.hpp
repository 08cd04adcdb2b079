// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/event_socket.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/resources/request.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/watch_stream.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace zoo::resources {

/// Writes one Answer to the stream of its request: head and body, or a watch for as long as that
/// goes on. Whoever was asked, and by which room, is none of its business. Loop thread only; stream
/// and scheduler outlive it.
///
///   Reply reply(head, stream, scheduler, now);
///   reply.settle(answer);          // its status is known now
///   reply.send(std::move(answer));
class Reply {
public:
  /// `head` of the request: a HEAD gets no body, a WebSocket its watch in frames.
  Reply(const http::RequestHead& head, http::ServerStream& stream, Scheduler& scheduler,
        WatchStream::Clock now);

  /// Makes it the answer that this request can have: a watch by WebSocket is a 101, or says what
  /// is wrong with the handshake.
  void settle(Answer& answer) const;
  /// Once, of a settled answer.
  void send(Answer answer);

  bool watches() const { return watch_ != nullptr; } ///< a watch has begun
  // What the stream says while a watch goes on.
  void received(std::string_view bytes) { watch_->received(bytes); }
  void client_ended() { watch_->client_ended(); }
  void drained() {
    if (watch_) watch_->drained();
  }
  /// A watch ends in order, be it that it is still to begin.
  void end_watch() {
    leaving_ = true;
    if (watch_) watch_->leave();
  }
  void leave() { watch_.reset(); } ///< nothing is said to the stream any more

private:
  http::ServerStream& stream_;
  Scheduler& scheduler_;
  WatchStream::Clock now_;
  bool head_only_;
  bool leaving_ = false;
  std::optional<Result<http::EventSocket>> socket_; ///< asked for; and what of the handshake
  std::unique_ptr<WatchStream> watch_;
};

} // namespace zoo::resources
