// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/structure.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace zoo::translate {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

bool hex(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// One pass over the text; the open brackets are its only memory.
class Checker {
public:
  Checker(std::string_view text, const JsonLimits& limits)
      : begin_(text.data()), p_(begin_), end_(begin_ + text.size()), limits_(limits) {}

  Result<void> run() {
    if (!document()) return fail(*std::move(error_));
    return {};
  }

private:
  bool document();
  bool wrong(std::string_view where);
  bool string();
  bool number();
  bool literal(std::string_view word);
  bool scalar();
  void space() { p_ = skip_space(p_, end_); }

  // The open brackets: a bit each, 64 of them at hand.
  void open(bool brace) {
    if (depth_ % 64 == 0 && depth_ != 0) outer_.push_back(brackets_);
    brackets_ = brackets_ << 1 | (brace ? 1U : 0U);
    ++depth_;
  }
  void close() {
    brackets_ >>= 1;
    if (--depth_ % 64 != 0 || depth_ == 0) return;
    brackets_ = outer_.back();
    outer_.pop_back();
  }
  bool in_object() const { return (brackets_ & 1U) != 0; }

  const char* begin_;
  const char* p_;
  const char* end_;
  const JsonLimits& limits_;
  std::uint64_t brackets_ = 0; ///< the innermost lowest; set: it is a brace
  std::size_t depth_ = 0;
  std::vector<std::uint64_t> outer_;
  std::optional<Error> error_;
};

bool Checker::wrong(std::string_view where) {
  const auto at = p_ - begin_;
  const auto byte = p_ == end_ ? 0U : static_cast<unsigned char>(*p_);
  error_.emplace(
      Code::bad_request,
      p_ == end_ ? fmt::format("the JSON ends at byte {} {}", at, where)
      : byte > 0x20 && byte < 0x7F
          ? fmt::format("the JSON has the character '{}' at byte {} {}", *p_, at, where)
          : fmt::format("the JSON has the byte 0x{:02x} at byte {} {}", byte, at, where));
  return false;
}

bool Checker::string() {
  const char* const from = ++p_;
  bool ascii = true;
  while (true) {
    p_ = skip_plain(p_, end_);
    if (p_ == end_) return wrong("within a string");
    const auto c = static_cast<unsigned char>(*p_);
    if (c == '"') break;
    if (c < 0x20) return wrong("within a string, where it must be escaped");
    if (c >= 0x80) ascii = false;
    ++p_;
    if (c != '\\') continue;
    if (p_ == end_) return wrong("within an escape");
    switch (*p_) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      ++p_;
      break;
    case 'u':
      ++p_;
      for (int i = 0; i < 4; ++i, ++p_) {
        if (p_ == end_ || !hex(*p_)) return wrong("within a \\u escape of four hex digits");
      }
      break;
    default:
      return wrong("within a string, behind a backslash");
    }
  }
  if (!ascii && !is_utf8({from, static_cast<std::size_t>(p_ - from)})) {
    error_.emplace(
        Code::bad_request,
        fmt::format("the JSON string that begins at byte {} is not UTF-8", from - begin_ - 1));
    return false;
  }
  ++p_;
  return true;
}

bool Checker::number() {
  if (*p_ == '-') ++p_;
  if (p_ == end_ || !digit(*p_)) return wrong("where a number needs a digit");
  if (*p_ == '0') {
    ++p_;
  } else {
    while (p_ != end_ && digit(*p_))
      ++p_;
  }
  if (p_ != end_ && *p_ == '.') {
    ++p_;
    if (p_ == end_ || !digit(*p_)) return wrong("behind a number's decimal point");
    while (p_ != end_ && digit(*p_))
      ++p_;
  }
  if (p_ != end_ && (*p_ == 'e' || *p_ == 'E')) {
    ++p_;
    if (p_ != end_ && (*p_ == '+' || *p_ == '-')) ++p_;
    if (p_ == end_ || !digit(*p_)) return wrong("in a number's exponent");
    while (p_ != end_ && digit(*p_))
      ++p_;
  }
  return true;
}

bool Checker::literal(std::string_view word) {
  for (const char c : word) {
    if (p_ == end_ || *p_ != c) return wrong(std::string("within ") + std::string(word));
    ++p_;
  }
  return true;
}

bool Checker::scalar() {
  if (p_ == end_) return wrong("where a value should begin");
  switch (*p_) {
  case '"':
    return string();
  case 't':
    return literal("true");
  case 'f':
    return literal("false");
  case 'n':
    return literal("null");
  default:
    if (*p_ == '-' || digit(*p_)) return number();
    return wrong("where a value should begin");
  }
}

bool Checker::document() {
  space();
  while (true) {
    // A value begins here.
    bool complete = true;
    if (p_ != end_ && (*p_ == '{' || *p_ == '[')) {
      const bool object = *p_ == '{';
      if (depth_ == limits_.depth) {
        error_.emplace(Code::bad_request,
                       fmt::format("the JSON is nested deeper than {} levels (byte {})",
                                   limits_.depth, p_ - begin_));
        return false;
      }
      open(object);
      ++p_;
      space();
      if (p_ != end_ && *p_ == (object ? '}' : ']')) {
        ++p_;
        close();
      } else {
        complete = false;
      }
    } else {
      if (!scalar()) return false;
    }
    // Behind a complete value: close what ends, go on behind a comma.
    while (complete) {
      space();
      if (depth_ == 0) return p_ == end_ || wrong("behind the value's end");
      const bool object = in_object();
      if (p_ != end_ && *p_ == ',') {
        ++p_;
        space();
        complete = false;
      } else if (p_ != end_ && *p_ == (object ? '}' : ']')) {
        ++p_;
        close();
      } else {
        return wrong(object ? "behind a member of an object" : "behind an element of an array");
      }
    }
    if (in_object()) {
      if (p_ == end_ || *p_ != '"') return wrong("where the key of a member should begin");
      if (!string()) return false;
      space();
      if (p_ == end_ || *p_ != ':') return wrong("behind the key of a member");
      ++p_;
      space();
    }
  }
}

} // namespace

Result<void> check_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return fail(Code::too_large, "the JSON has {} bytes; at most {} are taken", text.size(),
                limits.bytes);
  return Checker(text, limits).run();
}

} // namespace zoo::translate
