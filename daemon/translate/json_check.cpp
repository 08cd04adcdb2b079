// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/structure.hpp"

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

  Result<void> run();

private:
  Result<void> wrong(std::string_view where) const;
  Result<void> string();
  Result<void> number();
  Result<void> literal(std::string_view word);
  Result<void> scalar();
  void space() { p_ = skip_space(p_, end_); }

  const char* begin_;
  const char* p_;
  const char* end_;
  const JsonLimits& limits_;
  std::vector<bool> objects_; ///< one for each open bracket: it is a brace
};

Result<void> Checker::wrong(std::string_view where) const {
  if (p_ == end_) return fail(Code::bad_request, "the JSON ends at byte {} {}", p_ - begin_, where);
  const auto byte = static_cast<unsigned char>(*p_);
  if (byte > 0x20 && byte < 0x7F)
    return fail(Code::bad_request, "the JSON has the character '{}' at byte {} {}", *p_,
                p_ - begin_, where);
  return fail(Code::bad_request, "the JSON has the byte 0x{:02x} at byte {} {}", byte, p_ - begin_,
              where);
}

Result<void> Checker::string() {
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
  if (!ascii && !is_utf8({from, static_cast<std::size_t>(p_ - from)}))
    return fail(Code::bad_request, "the JSON string that begins at byte {} is not UTF-8",
                from - begin_ - 1);
  ++p_;
  return {};
}

Result<void> Checker::number() {
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
  return {};
}

Result<void> Checker::literal(std::string_view word) {
  for (const char c : word) {
    if (p_ == end_ || *p_ != c) return wrong(std::string("within ") + std::string(word));
    ++p_;
  }
  return {};
}

Result<void> Checker::scalar() {
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

Result<void> Checker::run() {
  space();
  while (true) {
    // A value begins here.
    bool complete = true;
    if (p_ != end_ && (*p_ == '{' || *p_ == '[')) {
      const bool object = *p_ == '{';
      if (objects_.size() == limits_.depth)
        return fail(Code::bad_request, "the JSON is nested deeper than {} levels (byte {})",
                    limits_.depth, p_ - begin_);
      objects_.push_back(object);
      ++p_;
      space();
      if (p_ != end_ && *p_ == (object ? '}' : ']')) {
        ++p_;
        objects_.pop_back();
      } else {
        complete = false;
      }
    } else {
      ZOO_TRY_VOID(scalar());
    }
    // Behind a complete value: close what ends, go on behind a comma.
    while (complete) {
      space();
      if (objects_.empty()) return p_ == end_ ? Result<void>{} : wrong("behind the value's end");
      const bool object = objects_.back();
      if (p_ != end_ && *p_ == ',') {
        ++p_;
        space();
        complete = false;
      } else if (p_ != end_ && *p_ == (object ? '}' : ']')) {
        ++p_;
        objects_.pop_back();
      } else {
        return wrong(object ? "behind a member of an object" : "behind an element of an array");
      }
    }
    if (objects_.back()) {
      if (p_ == end_ || *p_ != '"') return wrong("where the key of a member should begin");
      ZOO_TRY_VOID(string());
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
