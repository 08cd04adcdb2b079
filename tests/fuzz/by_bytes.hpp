// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/structure.hpp"

#include <string>
#include <string_view>

/// What the scan by blocks must find, found by looking at each byte. For the unit test and the fuzz
/// target of daemon/translate/structure. Pure.
namespace zoo::translate {

/// The end of the value behind its opening bracket; npos: it does not end. Outside of strings,
/// where JSON has no backslash, one is taken like within.
inline std::size_t end_by_bytes(std::string_view text) {
  std::size_t depth = 1;
  bool inside = false, escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && !escaped) inside = !inside;
    escaped = c == '\\' && !escaped;
    if (inside) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

/// The same by NestScanner, fed in pieces of this size.
inline std::size_t end_by_blocks(std::string_view text, std::size_t piece) {
  NestScanner scanner;
  for (std::size_t at = 0; at < text.size();) {
    at += scanner.scan(text.substr(at, piece));
    if (scanner.done()) return at;
  }
  return std::string_view::npos;
}

inline Words words_by_bytes(std::string_view text, std::string_view prefix) {
  const auto has = [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  };
  Words out = has(prefix) ? k_prefix_word : Words{0};
  for (const auto* word : {"kubezoo.io", "'zoo-tenants-", "zoo-pods-inside", "zoo-root-ca.crt"})
    if (has(word)) out |= k_domain_word;
  if (has("deviceclass.")) out |= k_device_word;
  for (unsigned i = 0; i < k_rare_keys.size(); ++i)
    if (has('"' + std::string(k_rare_keys[i]) + '"')) out |= static_cast<Words>(8U << i);
  return out;
}

} // namespace zoo::translate
