// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// Turns the JSON that a flow answers into protobuf, for a client that takes nothing else
/// (docs/decisions/042). An object or a list is one message with its length in front: it is held
/// until it is whole. Events are turned one at a time. Owned by its exchange; loop thread.
class ProtobufAnswer {
public:
  /// `limit`: bytes of JSON that may be held.
  ProtobufAnswer(bool events, std::size_t limit) : events_(events), limit_(limit) {}

  /// True: the head may be sent now, with what was changed in it. False: it is held until end().
  bool begin(http::ResponseHead& head);
  /// What can be sent now. Code::too_large above the limit, Code::not_acceptable and
  /// Code::internal as translate::json_to_protobuf().
  Result<std::string> add(std::string_view json);
  /// The rest; head() has its length if it was held.
  Result<std::string> end();
  bool holds_head() const { return !events_; }
  const http::ResponseHead& head() const { return head_; }

private:
  bool events_;
  std::size_t limit_;
  http::ResponseHead head_;
  std::string held_;
};

} // namespace zoo::gateway
