// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/event_socket.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/resources/scheduler.hpp"
#include "daemon/resources/watch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace zoo::resources {

/// Writes a watch into an answer whose head is sent: what there is, changes as they come, a
/// bookmark each 55 seconds, and the end. Through a WebSocket, where the head was its handshake:
/// each event is a message. Loop thread only. Destroying it says nothing more to the
/// stream, which must outlive it, and so must the scheduler.
class WatchStream {
public:
  using Clock = std::function<std::int64_t()>; ///< Unix seconds

  WatchStream(std::shared_ptr<WatchFeed> feed, http::ServerStream& stream, Scheduler& scheduler,
              Clock now, std::optional<http::EventSocket> socket = std::nullopt);
  ~WatchStream();
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  void start();
  void drained();                        ///< the stream takes bytes again
  void received(std::string_view bytes); ///< the client's; only a WebSocket's mean anything
  void client_ended();                   ///< it sends nothing any more
  void leave();                          ///< the end, behind a bookmark of where it stands
  bool ended() const { return stream_ == nullptr; } ///< the end is sent

private:
  struct Link {
    WatchStream* stream = nullptr; ///< null once it is destroyed
  };
  void send(std::string_view line); ///< "" is no event
  void answer_ping();
  void pump();
  void schedule_bookmark();
  void end();

  std::shared_ptr<WatchFeed> feed_;
  http::ServerStream* stream_; ///< null once the end is sent
  Scheduler& scheduler_;
  Clock now_;
  std::shared_ptr<Link> link_;
  WatchEncoder encoder_;
  std::optional<http::EventSocket> socket_; ///< none: lines of JSON
  std::size_t initial_sent_ = 0;
  bool initial_done_ = false;
  std::unique_ptr<Alarm> bookmark_, timeout_;
};

} // namespace zoo::resources
