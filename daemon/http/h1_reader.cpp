// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/h1_reader.hpp"

#include "common/base/text.hpp"
#include "daemon/http/syntax.hpp"

#include <algorithm>
#include <limits>

namespace zoo::http {
namespace {

constexpr std::size_t k_size_line_limit = 256;    // a chunk's size and its extensions
constexpr std::size_t k_trailer_limit = 8 * 1024; // read and forgotten
constexpr std::size_t k_until_close_digits = 18;  // a Content-Length that fits into 63 bits
constexpr std::size_t k_chunk_size_digits = 15;   // the same for a chunk

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Every CR of `piece`, of which only the last byte can be LF, has an LF behind it or is its end;
/// and every LF, the first byte behind `before` too, has a CR in front.
bool ends_lines_well(std::string_view before, std::string_view piece) {
  const bool after_cr = before.ends_with('\r');
  if (after_cr) return piece == "\n";
  const auto cr = piece.find('\r');
  if (cr == piece.npos) return !piece.ends_with('\n');
  return cr + 1 == piece.size() || (cr + 2 == piece.size() && piece.ends_with('\n'));
}

} // namespace

ReadEvent MessageReader::fail(int status, std::string message) {
  state_ = State::failed;
  failure_ = {status, std::move(message)};
  return ReadEvent::failed;
}

void MessageReader::restart() {
  state_ = State::head;
  head_.clear();
  length_.reset();
  chunked_ = false;
  remaining_ = 0;
  first_line_ = true;
  skipped_empty_line_ = false;
  trailer_bytes_ = 0;
}

ReadEvent MessageReader::collect_head(std::string_view& input) {
  while (!input.empty()) {
    // Whole lines at a time, so that the empty one is found without looking twice.
    const auto newline = input.find('\n');
    const auto piece = input.substr(0, newline == input.npos ? input.npos : newline + 1);
    const auto size = head_.size() + piece.size();
    if (first_line_ && size > std::min(first_line_limit_, limits_.head_bytes))
      return fail(414, "the request line is too long");
    if (size > limits_.head_bytes) return fail(431, "the header fields are too large");
    if (piece.find('\0') != piece.npos) return fail(400, "a NUL byte in the head of the message");
    if (!ends_lines_well(head_, piece))
      return fail(400, "a line of the head does not end with CR LF");
    head_.append(piece);
    input.remove_prefix(piece.size());
    if (newline == std::string_view::npos) continue;
    first_line_ = false;
    if (head_ == "\r\n") { // RFC 9112 section 2.2: one empty line before a request is forgiven
      if (skipped_empty_line_) return fail(400, "empty lines before the message");
      skipped_empty_line_ = true;
      first_line_ = true;
      head_.clear();
    } else if (head_.ends_with("\r\n\r\n")) {
      return ReadEvent::head;
    }
  }
  return ReadEvent::need_more;
}

bool MessageReader::parse_fields(std::string_view lines, Headers& headers) {
  std::size_t count = 0;
  while (!lines.empty()) {
    const auto end = lines.find("\r\n");
    const auto line = lines.substr(0, end);
    lines.remove_prefix(end + 2);
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      fail(400, "a folded header line");
      return false;
    }
    const auto colon = line.find(':');
    if (colon == line.npos || !is_token(line.substr(0, colon))) {
      fail(400, "a header field whose name is not a token");
      return false;
    }
    const auto value = text::trim(line.substr(colon + 1));
    if (!is_field_value(value)) {
      fail(400, "a control character in a header field");
      return false;
    }
    if (++count > limits_.fields) {
      fail(431, "too many header fields");
      return false;
    }
    headers.add(line.substr(0, colon), value);
  }
  return true;
}

bool MessageReader::parse_framing(const Headers& headers, int version) {
  std::size_t lengths = 0, codings = 0;
  std::string_view digits, coding;
  for (const auto& field : headers) {
    if (text::iequals(field.name, "content-length")) {
      ++lengths;
      digits = field.value;
    } else if (text::iequals(field.name, "transfer-encoding")) {
      ++codings;
      coding = field.value;
    }
  }
  if (codings > 0) {
    if (lengths > 0) {
      fail(400, "both Content-Length and Transfer-Encoding");
      return false;
    }
    if (version < 11) {
      fail(400, "Transfer-Encoding in HTTP/1.0");
      return false;
    }
    if (codings > 1) {
      fail(400, "more than one Transfer-Encoding");
      return false;
    }
    if (!text::iequals(coding, "chunked")) {
      fail(501, "a Transfer-Encoding other than chunked");
      return false;
    }
    chunked_ = true;
    return true;
  }
  if (lengths == 0) return true;
  if (lengths > 1 || digits.empty() || digits.size() > k_until_close_digits ||
      digits.find_first_not_of("0123456789") != digits.npos) {
    fail(400, "a Content-Length that is not one number");
    return false;
  }
  std::uint64_t length = 0;
  for (const char c : digits)
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  length_ = length;
  return true;
}

ReadEvent MessageReader::read_line(std::string_view& input, std::size_t limit, bool& complete) {
  complete = false;
  const auto newline = input.find('\n');
  const auto piece = input.substr(0, newline == input.npos ? input.npos : newline + 1);
  if (head_.size() + piece.size() > limit) return fail(400, "a chunk's line is too long");
  head_.append(piece);
  input.remove_prefix(piece.size());
  if (newline == std::string_view::npos) return ReadEvent::need_more;
  if (!head_.ends_with("\r\n")) return fail(400, "a chunk's line does not end with CR LF");
  head_.resize(head_.size() - 2);
  if (!is_field_value(head_)) return fail(400, "a control character in a chunk's line");
  complete = true;
  return ReadEvent::need_more;
}

ReadEvent MessageReader::read_size_line(std::string_view& input) {
  bool complete = false;
  const auto event = read_line(input, k_size_line_limit, complete);
  if (!complete) return event;
  std::size_t digits = 0;
  remaining_ = 0;
  while (digits < head_.size() && hex_digit(head_[digits]) >= 0) {
    if (digits == k_chunk_size_digits) return fail(400, "a chunk's size is too large");
    remaining_ = remaining_ * 16 + static_cast<std::uint64_t>(hex_digit(head_[digits++]));
  }
  // RFC 9112 section 7.1.1: extensions may follow and are ignored; anything else may not.
  if (digits == 0 || (digits < head_.size() && head_[digits] != ';'))
    return fail(400, "a chunk's size is not a hexadecimal number");
  head_.clear();
  state_ = remaining_ == 0 ? State::trailer : State::chunk;
  return ReadEvent::need_more;
}

ReadEvent MessageReader::read_trailer(std::string_view& input) {
  bool complete = false;
  const auto event = read_line(input, k_trailer_limit, complete);
  if (!complete) return event;
  if (head_.empty()) {
    state_ = State::done;
    return ReadEvent::end;
  }
  trailer_bytes_ += head_.size();
  const auto colon = head_.find(':');
  if (colon == head_.npos || !is_token(std::string_view(head_).substr(0, colon)))
    return fail(400, "a trailer field whose name is not a token");
  if (trailer_bytes_ > k_trailer_limit) return fail(400, "the trailer is too large");
  head_.clear();
  return ReadEvent::need_more;
}

ReadEvent MessageReader::read_body(std::string_view& input) {
  if (state_ == State::length && remaining_ == 0) {
    state_ = State::done;
    return ReadEvent::end;
  }
  while (!input.empty()) {
    switch (state_) {
    case State::until_close:
      data_ = input;
      input = {};
      return ReadEvent::data;
    case State::length:
    case State::chunk: {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
      data_ = input.substr(0, count);
      input.remove_prefix(count);
      remaining_ -= count;
      if (remaining_ == 0 && state_ == State::chunk) state_ = State::chunk_end;
      return ReadEvent::data;
    }
    case State::size_line:
      if (const auto event = read_size_line(input); event == ReadEvent::failed) return event;
      break;
    case State::chunk_end: {
      const char wanted = head_.empty() ? '\r' : '\n';
      if (input.front() != wanted) return fail(400, "a chunk is longer than its size");
      input.remove_prefix(1);
      if (wanted == '\r') {
        head_ = "\r";
      } else {
        head_.clear();
        state_ = State::size_line;
      }
      break;
    }
    case State::trailer:
      if (const auto event = read_trailer(input); event != ReadEvent::need_more) return event;
      break;
    case State::failed:
      return ReadEvent::failed;
    case State::head:
    case State::done:
      return ReadEvent::need_more;
    }
  }
  return ReadEvent::need_more;
}

} // namespace zoo::http
