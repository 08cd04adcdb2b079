// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/openssl.hpp"

#include "common/base/json_text.hpp"

#include <openssl/err.h>

#include <cstdint>

namespace zoo::crypto {

Error openssl_error(Code code, std::string_view what) {
  std::string reasons;
  std::string last;
  while (const auto number = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(number);
    std::string text = reason != nullptr ? reason : fmt::format("error {:x}", number);
    if (text == last) continue;
    if (!reasons.empty()) reasons += "; ";
    reasons += text;
    last = std::move(text);
  }
  return Error(code, reasons.empty() ? fmt::format("cannot {}", what)
                                     : fmt::format("cannot {}: {}", what, reasons));
}

void clear_openssl_errors() { ERR_clear_error(); }

bool is_clean_name(std::string_view text) {
  if (!is_utf8(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return false;
    // U+0080..U+009F are C2 80..9F.
    if (byte == 0xc2 && static_cast<std::uint8_t>(text[i + 1]) < 0xa0) return false;
  }
  return true;
}

} // namespace zoo::crypto
