// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"

#include <string>
#include <string_view>

namespace zoo::http {

/// Header fields as HTTP/1.1 sends them (RFC 9112 section 5), checked once, for who sends the same
/// ones with many requests. Immutable; any thread.
class FieldLines {
public:
  /// Code::bad_request: a field holds characters that cannot be sent.
  static Result<FieldLines> make(const Headers& fields);

  std::string_view text() const { return text_; } ///< each line with its end

private:
  std::string text_;
};

/// One line, of a name and a value that may be sent.
void append_field_line(std::string& out, std::string_view name, std::string_view value);

} // namespace zoo::http
