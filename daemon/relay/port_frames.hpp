// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::relay {

/// The client's end of a port-forward by WebSocket, subprotocol k_protocol, for one port, as
/// kubelets serve it (k8s.io/kubelet pkg/cri/streaming/portforward/websocket.go): each message
/// begins with a channel, 0 for the port's bytes and 1 for what went wrong; the first message of
/// each channel is the port. RFC 6455 section 5. Pure; keeps 1 KiB at most. One thread at a time.
class PortFrames {
public:
  static constexpr std::string_view k_protocol = "v4.channel.k8s.io";
  static constexpr std::size_t k_frame = 32 * 1024; ///< bytes that one frame carries at most

  enum class Event : std::uint8_t {
    need_more, ///< the input is used up
    data,      ///< data(), valid as long as the input
    ended,     ///< the other end has closed in order
    refused,   ///< words(): what the other end says went wrong
    broken,    ///< this is not the protocol
  };
  /// Takes bytes off `input`. After ended, refused and broken it is over.
  Event next(std::string_view& input);
  std::string_view data() const { return data_; }
  const std::string& words() const { return words_; }

  /// Appends frames that carry `bytes` to the port. `mask`: four random bytes for each frame.
  static void add(std::string_view bytes, std::uint32_t (*mask)(), std::string& out);
  /// Appends the pong that is due, to the last ping alone.
  void add_pong(std::uint32_t (*mask)(), std::string& out);

private:
  enum class State : std::uint8_t { head, payload, over };
  Event end_head();
  Event take_payload(std::string_view& input);
  Event end_frame();
  Event end(Event how);

  State state_ = State::head;
  std::array<std::uint8_t, 10> head_{};
  std::size_t head_size_ = 0;
  std::uint64_t left_ = 0;              ///< of the frame's payload
  bool inside_ = false;                 ///< a message has begun and is not whole
  bool names_channel_ = false;          ///< the next byte of the payload is the channel
  std::uint8_t channel_ = 0;            ///< of the message
  std::array<std::uint8_t, 2> ports_{}; ///< bytes that came of each channel's port
  bool ping_due_ = false;
  std::string ping_, words_;
  std::string_view data_;
};

} // namespace zoo::relay
