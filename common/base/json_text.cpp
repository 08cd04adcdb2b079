// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"

#include "common/base/byte_block.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace zoo {
namespace {

/// ASCII that stands in a JSON string as it is.
constexpr auto k_plain = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0x20; c < 0x7f; ++c)
    table[c] = c != '"' && c != '\\';
  return table;
}();

inline bool special(std::uint64_t block) {
  using namespace byte_block;
  return beyond_ascii(block) || has_below(block, 0x20) || has(block, '"') || has(block, '\\') ||
         has(block, '\x7f');
}

std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  while (text.size() - length >= byte_block::k_size &&
         !special(byte_block::load(text.data() + length)))
    length += byte_block::k_size;
  while (length < text.size() && k_plain[static_cast<std::uint8_t>(text[length])])
    ++length;
  return length;
}

/// Length of the well-formed sequence at the beginning (RFC 3629 4), 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto tail = [&](std::size_t i, std::uint8_t low = 0x80, std::uint8_t high = 0xbf) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  const auto first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return tail(1) ? 2 : 0;
  if (first < 0xf0) {
    const std::uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    const std::uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (first < 0xf5) {
    const std::uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    const std::uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

} // namespace

void append_json_quoted(std::string& out, std::string_view text) {
  static constexpr char k_hex[] = "0123456789abcdef";
  if (!byte_block::any(text, [](std::uint64_t block) { return special(block); })) {
    const auto at = out.size();
    out.resize(at + text.size() + 2);
    out[at] = out.back() = '"';
    text.copy(out.data() + at + 1, text.size());
    return;
  }
  out += '"';
  for (;;) {
    const auto plain = plain_length(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    const auto byte = static_cast<std::uint8_t>(c);
    std::size_t length = 1;
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    default:
      if (byte < 0x20) {
        out += "\\u00";
        out += k_hex[byte >> 4];
        out += k_hex[byte & 15];
      } else if (length = sequence_length(text); length > 0) {
        out += text.substr(0, length);
      } else {
        out += "\xef\xbf\xbd";
        length = 1;
      }
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_json_quoted(out, text);
  return out;
}

bool is_utf8(std::string_view text) {
  for (;;) {
    while (!text.empty() && static_cast<std::uint8_t>(text.front()) < 0x80)
      text.remove_prefix(1);
    if (text.empty()) return true;
    const auto length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

} // namespace zoo
