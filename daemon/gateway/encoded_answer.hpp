// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// What an answer goes out as; flows write JSON.
enum class Encoding { protobuf, protobuf_events, yaml };

/// Turns the JSON that a flow answers into what the client takes instead (docs/decisions/042 and
/// 081). An object or a list in protobuf is one message with its length in front, and in YAML it
/// needs a parser: it is held until it is whole. Events are turned one at a time. Owned by its
/// exchange; loop thread.
class EncodedAnswer {
public:
  /// `limit`: bytes of JSON that may be held.
  EncodedAnswer(Encoding encoding, std::size_t limit) : encoding_(encoding), limit_(limit) {}

  /// True: the head may be sent now, with what was changed in it. False: it is held until end().
  bool begin(http::ResponseHead& head);
  /// What can be sent now. Code::too_large above the limit, Code::not_acceptable and
  /// Code::internal as translate::json_to_protobuf().
  Result<std::string> add(std::string_view json);
  /// The rest; head() has its length if it was held.
  Result<std::string> end();
  bool holds_head() const { return encoding_ != Encoding::protobuf_events; }
  const http::ResponseHead& head() const { return head_; }

private:
  Encoding encoding_;
  std::size_t limit_;
  http::ResponseHead head_;
  std::string held_;
};

} // namespace zoo::gateway
