// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zoo {

/// A JSON string (RFC 8259 7) with its quotes. Bytes that are not UTF-8 become U+FFFD, so that the
/// result is always valid; U+2028, U+2029 and < > & pass as they are.
std::string json_quote(std::string_view text);
void append_json_quoted(std::string& out, std::string_view text);

/// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

} // namespace zoo
