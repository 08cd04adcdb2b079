// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/event_socket.hpp"
#include "daemon/http/message.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// What an answer goes out as; flows write JSON.
enum class Encoding { protobuf, protobuf_events, json_events, yaml };

/// Turns the JSON that a flow answers into what the client takes instead (docs/decisions/042 and
/// 081). An object or a list in protobuf is one message with its length in front, and in YAML it
/// needs a parser: it is held until it is whole. Events are turned one at a time, and over a
/// WebSocket each is a message of its own (docs/decisions/165). Owned by its exchange; loop thread.
class EncodedAnswer {
public:
  /// `limit`: bytes of JSON that may be held. `socket`: events go to the client over it.
  EncodedAnswer(Encoding encoding, std::size_t limit,
                std::optional<http::EventSocket> socket = std::nullopt)
      : encoding_(encoding), limit_(limit), socket_(std::move(socket)) {}

  /// True: the head may be sent now, with what was changed in it. False: it is held until end().
  bool begin(http::ResponseHead& head);
  /// What can be sent now. Code::too_large above the limit, Code::not_acceptable and
  /// Code::internal as translate::json_to_protobuf().
  Result<std::string> add(std::string_view json);
  /// The rest; head() has its length if it was held.
  Result<std::string> end();
  bool holds_head() const { return !turns_events(); }
  /// Bytes that `events` have more once they are encoded, at most.
  std::size_t growth(std::string_view events) const;
  http::EventSocket* socket() { return socket_ ? &*socket_ : nullptr; } ///< null: plain HTTP
  const http::ResponseHead& head() const { return head_; }

private:
  bool turns_events() const {
    return encoding_ == Encoding::protobuf_events || encoding_ == Encoding::json_events;
  }
  Result<std::string> add_events(std::string_view json);
  Result<void> add_event(std::string_view line, std::string& out) const;

  Encoding encoding_;
  std::size_t limit_;
  http::ResponseHead head_;
  std::string held_;
  std::optional<http::EventSocket> socket_;
};

} // namespace zoo::gateway
