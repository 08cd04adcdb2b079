// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// JSON by bytes: a strict validator for what tenants send, and the fast scanning that the
/// rewriter lives on. No state, no recursion, any thread. Bounds are always checked; where a
/// function answers null the bytes are not JSON.
namespace zoo::translate {

struct JsonLimits {
  std::size_t depth = 10'000; ///< as Go's encoding/json
  std::size_t bytes = std::size_t{64} << 20;
};

/// Strict RFC 8259: one value with white space around it, UTF-8 throughout (escaped lone surrogates
/// pass, as in Go). Code::bad_request with the byte offset and what was found; Code::too_large.
Result<void> check_json(std::string_view text, const JsonLimits& limits = {});

/// First byte at or after `p` that is no white space; `end` if there is none.
inline const char* skip_space(const char* p, const char* end) {
  // Upstream writes none: one comparison is enough there.
  while (p != end && static_cast<unsigned char>(*p) <= ' ' &&
         (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
    ++p;
  return p;
}

/// `p` at the opening quote: behind the closing one. `escaped` (may be null): a backslash occurs.
const char* skip_string(const char* p, const char* end, bool* escaped = nullptr);
/// `p` at the first byte of a value: behind it. Brackets are counted, not matched by kind: what
/// is inside is not validated.
const char* skip_value(const char* p, const char* end);

/// What stands between the quotes of a JSON string -> its bytes. Lone surrogates and bad escapes
/// become U+FFFD.
std::string unescape_json(std::string_view inner);

} // namespace zoo::translate
