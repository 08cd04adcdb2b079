// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json.hpp"

#include "daemon/translate/structure.hpp"

#include <cstdint>

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

/// `p` behind the opening bracket.
const char* skip_nested(const char* p, const char* end) {
  NestScanner scanner;
  const auto used = scanner.scan({p, static_cast<std::size_t>(end - p)});
  return scanner.done() ? p + used : nullptr;
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
