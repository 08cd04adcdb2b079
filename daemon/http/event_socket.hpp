// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::http {

/// Does the client ask for a WebSocket? Only HTTP/1.1 can: `head.upgrade` says that it does.
bool asks_for_websocket(const RequestHead& head);

/// The server's end of a WebSocket (RFC 6455) that carries events to a client and nothing back, as
/// kube-apiserver serves a watch (k8s.io/apiserver pkg/endpoints/handlers/watch.go HandleWS;
/// docs/decisions/165). It makes the answer to the handshake, puts messages into frames, and reads
/// the client's frames: messages are discarded, a ping is due a pong, a close is due a close. Its
/// user moves the bytes. Holds 125 bytes at most. One thread at a time.
class EventSocket {
public:
  /// Judges the handshake in `head`. `subprotocols` is the list that the client offers, without a
  /// bearer token; one is chosen by being the only one, and "" is none. Code::bad_request and
  /// Code::forbidden (no Origin) say what is wrong with it.
  static Result<EventSocket> open(const RequestHead& head, std::string_view subprotocols);

  /// Makes `head` the 101: of its fields the Warnings and the Audit-Id stay.
  void shake_hands(ResponseHead& head) const;

  enum class Kind : std::uint8_t { text, binary };
  /// Appends a whole message to `out`: one frame.
  static void add_message(Kind kind, std::string_view message, std::string& out);
  static constexpr std::size_t k_most_around = 10; ///< bytes that a frame has beside its message

  /// Bytes of the client's, in any pieces. They are used up, and after over() ignored.
  void receive(std::string_view bytes);
  /// The client has closed, or broken the protocol: close() is all that may follow.
  bool over() const { return state_ == State::over; }
  /// Appends the pong that is due, to the last ping alone (RFC 6455 5.5.3).
  void add_pong(std::string& out);
  /// Appends the last frame: 1000 (normal), or 1002 (protocol error) where the client broke it.
  void add_close(std::string& out) const;

private:
  EventSocket(std::string_view key, std::string_view subprotocol);

  enum class State : std::uint8_t { head, payload, over };
  void end_head();
  void end_frame();
  void fail();

  std::string accept_, subprotocol_;
  State state_ = State::head;
  bool broken_ = false;                       ///< the protocol, by the client
  bool fragmented_ = false;                   ///< a message of the client's is not whole yet
  std::array<std::uint8_t, 14> head_bytes_{}; ///< of the frame that is being read
  std::size_t head_size_ = 0;                 ///< of these, how many are there
  std::uint64_t payload_left_ = 0;
  std::string control_;             ///< payload of a ping that is being read, unmasked
  std::optional<std::string> ping_; ///< the last one that has no pong yet
};

} // namespace zoo::http
