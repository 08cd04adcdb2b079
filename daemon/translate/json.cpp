// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace zoo::translate {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

int hex(char c) {
  if (digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int out = 0;
  for (int i = 0; i < 4; ++i) {
    const int one = hex(p[i]);
    if (one < 0) return -1;
    out = out * 16 + one;
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// First byte at or after `p` that ends or bends a string: quote or backslash.
const char* find_quote(const char* p, const char* end) {
#ifdef __SSE2__
  const auto quote = _mm_set1_epi8('"');
  const auto backslash = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto hits = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
    if (const int mask = _mm_movemask_epi8(hits); mask != 0)
      return p + std::countr_zero(static_cast<unsigned>(mask));
  }
#endif
  while (p != end && *p != '"' && *p != '\\')
    ++p;
  return p;
}

#ifdef __SSE2__
/// Which of 64 bytes are quotes, backslashes, opening and closing brackets.
struct Masks {
  std::uint64_t quote = 0, backslash = 0, open = 0, close = 0;
};

Masks classify(const char* p) {
  const auto quote = _mm_set1_epi8('"');
  const auto backslash = _mm_set1_epi8('\\');
  const auto fold = _mm_set1_epi8(0x20); // '[' | 0x20 == '{', ']' | 0x20 == '}'
  const auto open = _mm_set1_epi8('{');
  const auto close = _mm_set1_epi8('}');
  const auto bits = [](__m128i hits) {
    return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hits)));
  };
  Masks out;
  for (unsigned i = 0; i < 4; ++i) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const auto folded = _mm_or_si128(block, fold);
    const unsigned shift = 16 * i;
    out.quote |= bits(_mm_cmpeq_epi8(block, quote)) << shift;
    out.backslash |= bits(_mm_cmpeq_epi8(block, backslash)) << shift;
    out.open |= bits(_mm_cmpeq_epi8(folded, open)) << shift;
    out.close |= bits(_mm_cmpeq_epi8(folded, close)) << shift;
  }
  return out;
}

/// Bytes that stand behind an odd run of backslashes (the arithmetic of simdjson's paper: an odd
/// run carries out of its even or odd bits); `carry`: the first byte is escaped by the block
/// before.
std::uint64_t escaped_bytes(std::uint64_t backslash, bool& carry) {
  constexpr std::uint64_t k_even = 0x5555555555555555U;
  const auto first = static_cast<std::uint64_t>(carry);
  backslash &= ~first;
  const auto follows = backslash << 1 | first;
  const auto odd_starts = backslash & ~k_even & ~follows;
  const auto sum = odd_starts + backslash;
  carry = sum < backslash;
  return (k_even ^ (sum << 1)) & follows;
}

/// Bit i = parity of the bits 0..i: set from an opening quote up to its closing one.
std::uint64_t prefix_xor(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2)
    bits ^= bits << shift;
  return bits;
}
#endif

/// `p` behind the opening bracket, `depth` of it 1.
const char* skip_nested(const char* p, const char* end) {
  std::uint64_t depth = 1;
#ifdef __SSE2__
  bool escape = false;
  std::uint64_t inside = 0; // all ones: the block begins within a string
  for (; end - p >= 64; p += 64) {
    const auto masks = classify(p);
    const auto quotes = masks.quote & ~escaped_bytes(masks.backslash, escape);
    const auto strings = prefix_xor(quotes) ^ inside;
    inside = std::uint64_t{0} - (strings >> 63);
    auto close = masks.close & ~strings;
    const auto open = masks.open & ~strings;
    const auto closes = static_cast<unsigned>(std::popcount(close));
    if (closes < depth) {
      depth += static_cast<unsigned>(std::popcount(open));
      depth -= closes;
      continue;
    }
    for (; close != 0; close &= close - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(close));
      const auto before = open & ((std::uint64_t{1} << at) - 1);
      const auto closed = closes - static_cast<unsigned>(std::popcount(close));
      if (depth + static_cast<unsigned>(std::popcount(before)) == closed + 1) return p + at + 1;
    }
    depth += static_cast<unsigned>(std::popcount(open));
    depth -= closes;
  }
  bool in_string = inside != 0;
  if (escape && p != end) ++p;
#else
  bool in_string = false;
#endif
  while (p != end) {
    if (in_string) {
      p = find_quote(p, end);
      if (p == end) return nullptr;
      if (*p++ == '"') {
        in_string = false;
      } else if (p != end) {
        ++p;
      }
      continue;
    }
    switch (*p++) {
    case '"':
      in_string = true;
      break;
    case '{':
    case '[':
      ++depth;
      break;
    case '}':
    case ']':
      if (--depth == 0) return p;
      break;
    default:
      break;
    }
  }
  return nullptr;
}

} // namespace

const char* skip_string(const char* p, const char* end, bool* escaped) {
  if (p == end || *p != '"') return nullptr;
  if (escaped != nullptr) *escaped = false;
  ++p;
  while (true) {
    p = find_quote(p, end);
    if (p == end) return nullptr;
    if (*p == '"') return p + 1;
    if (escaped != nullptr) *escaped = true;
    if (end - p < 2) return nullptr;
    p += 2;
  }
}

const char* skip_value(const char* p, const char* end) {
  if (p == end) return nullptr;
  if (*p == '{' || *p == '[') return skip_nested(p + 1, end);
  if (*p == '"') return skip_string(p, end);
  const char* const begin = p;
  while (p != end && *p != ',' && *p != '}' && *p != ']' && *p != ' ' && *p != '\n' && *p != '\r' &&
         *p != '\t' && *p != '"' && *p != ':' && *p != '{' && *p != '[')
    ++p;
  return p == begin ? nullptr : p;
}

std::string unescape_json(std::string_view inner) {
  std::string out;
  out.reserve(inner.size());
  const char* p = inner.data();
  const char* const end = p + inner.size();
  while (p != end) {
    if (*p != '\\') {
      out += *p++;
      continue;
    }
    if (++p == end) {
      append_utf8(out, 0xFFFD);
      break;
    }
    switch (const char c = *p++; c) {
    case 'b':
      out += '\b';
      break;
    case 'f':
      out += '\f';
      break;
    case 'n':
      out += '\n';
      break;
    case 'r':
      out += '\r';
      break;
    case 't':
      out += '\t';
      break;
    case 'u': {
      const int first = hex4(p, end);
      if (first < 0) {
        append_utf8(out, 0xFFFD);
        break;
      }
      p += 4;
      auto code = static_cast<std::uint32_t>(first);
      if (code >= 0xD800 && code < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        const int second = hex4(p + 2, end);
        if (second >= 0xDC00 && second < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(second) - 0xDC00);
          p += 6;
        }
      }
      append_utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
      break;
    }
    default: // '"', '\\', '/'; anything else is no JSON and stands for itself
      out += c;
    }
  }
  return out;
}

} // namespace zoo::translate
