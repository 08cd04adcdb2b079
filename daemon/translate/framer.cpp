// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/framer.hpp"

#include <algorithm>

namespace zoo::translate {
namespace {

constexpr std::size_t k_room = 64 * 1024; ///< that is kept from one split value to the next

bool white(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

} // namespace

std::size_t ValueScanner::scan(std::string_view bytes) {
  std::size_t at = 0;
  if (state_ == State::start && !bytes.empty()) {
    const char c = bytes[0];
    if (c == '{' || c == '[') {
      state_ = State::nested;
      nest_.reset();
      at = 1;
    } else if (c == '"') {
      state_ = State::string;
      at = 1;
    } else {
      state_ = State::scalar;
    }
  }
  if (state_ == State::scalar) {
    while (at < bytes.size()) {
      const char c = bytes[at];
      if (white(c) || c == ',' || c == ']' || c == '}' || c == ':' || c == '[' || c == '{' ||
          c == '"') {
        state_ = State::done;
        return at;
      }
      ++at;
    }
    return at;
  }
  if (state_ == State::nested) {
    at += nest_.scan(bytes.substr(at));
    if (nest_.done()) state_ = State::done;
    return at;
  }
  while (at < bytes.size() && state_ != State::done) {
    if (escaped_) {
      escaped_ = false;
      ++at;
      continue;
    }
    const auto* const from = bytes.data();
    at = static_cast<std::size_t>(find_quote(from + at, from + bytes.size()) - from);
    if (at == bytes.size()) break;
    if (bytes[at++] == '\\') {
      escaped_ = true;
    } else {
      state_ = State::done;
    }
  }
  return at;
}

Framer::Framer(Shape shape, std::size_t limit, FrameHandler& handler, std::string_view array)
    : shape_(shape), limit_(limit), handler_(handler), array_('"' + std::string(array) + '"') {}

Result<void> Framer::collect(std::string& buffer, std::string_view bytes,
                             std::string_view what) const {
  const auto limit = &buffer == &partial_ ? limit_ : std::min(limit_, k_envelope_limit);
  if (buffer.size() + bytes.size() > limit)
    return fail(Code::too_large, "{} is larger than {} bytes", what, limit);
  buffer.append(bytes);
  return {};
}

Result<void> Framer::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    if (stage_ == Stage::ignore) return {};
    ZOO_TRY(const std::size_t used, step(chunk));
    chunk.remove_prefix(used);
  }
  return {};
}

/// Consumes some of `rest`, at least one byte or a change of stage.
Result<std::size_t> Framer::step(std::string_view rest) {
  const char c = rest.front();
  switch (stage_) {
  case Stage::before:
    if (white(c)) return 1;
    if (shape_ == Shape::list) {
      if (c != '{') return fail(Code::internal, "the upstream's list does not begin with '{{'");
      envelope_ = "{";
      stage_ = Stage::envelope;
      return 1;
    }
    stage_ = Stage::item;
    return 0;

  case Stage::envelope: // between members
    if (!white(c) && c != ',' && c != '"' && c != '}') {
      return fail(Code::internal, "the upstream's list has byte {} where a member should be",
                  static_cast<int>(static_cast<unsigned char>(c)));
    }
    if (c == '"') {
      key_.clear();
      scanner_.reset();
      stage_ = Stage::key;
      return 0;
    }
    ZOO_TRY_VOID(collect(envelope_, rest.substr(0, 1), "what stands around a list's items"));
    if (c == '}') {
      stage_ = Stage::after;
      handler_.on_frame_tail(envelope_);
    }
    return 1;

  case Stage::key: {
    const auto used = scanner_.scan(rest);
    ZOO_TRY_VOID(collect(key_, rest.substr(0, used), "a key of a list"));
    if (scanner_.done()) {
      ZOO_TRY_VOID(collect(envelope_, key_, "what stands around a list's items"));
      stage_ = Stage::colon;
      colon_ = false;
    }
    return used;
  }

  case Stage::colon:
    if (white(c) || (c == ':' && !colon_)) {
      colon_ = colon_ || c == ':';
      ZOO_TRY_VOID(collect(envelope_, rest.substr(0, 1), "what stands around a list's items"));
      return 1;
    }
    if (!colon_) return fail(Code::internal, "the upstream's list has a member without a colon");
    if (key_ == array_ && c == '[') {
      if (array_seen_) return fail(Code::internal, "the upstream's list has two arrays");
      array_seen_ = true;
      envelope_ += c;
      handler_.on_frame_head(envelope_);
      envelope_.clear();
      if (stage_ != Stage::ignore) stage_ = Stage::array;
      return 1;
    }
    scanner_.reset();
    stage_ = Stage::value;
    return 0;

  case Stage::value: { // of a member that is not the array
    const auto used = scanner_.scan(rest);
    ZOO_TRY_VOID(collect(envelope_, rest.substr(0, used), "what stands around a list's items"));
    if (scanner_.done()) stage_ = Stage::envelope;
    return used;
  }

  case Stage::array: // between items
    if (white(c) || c == ',') return 1;
    if (c == ']') {
      envelope_ = "]";
      stage_ = Stage::envelope;
      return 1;
    }
    scanner_.reset();
    stage_ = Stage::item;
    // Those of a list are of about the same size: one that will not be whole is not begun twice.
    if (c != '{' || rest.size() < last_) return 0;
    return open_frame(rest.substr(0, limit_));

  case Stage::item: {
    const auto used = scanner_.scan(rest);
    const auto part = rest.substr(0, used);
    if (!scanner_.done()) {
      ZOO_TRY_VOID(collect(partial_, part, "an object"));
      return used;
    }
    std::string_view whole = part;
    if (!partial_.empty()) {
      ZOO_TRY_VOID(collect(partial_, part, "an object"));
      whole = partial_;
    } else if (part.size() > limit_) {
      return fail(Code::too_large, "an object is larger than {} bytes", limit_);
    }
    if (shape_ == Shape::single && used == 0 && partial_.empty()) {
      return fail(Code::internal, "the upstream's answer is not JSON");
    }
    scanner_.reset();
    stage_ = shape_ == Shape::list    ? Stage::array
             : shape_ == Shape::watch ? Stage::before
                                      : Stage::after;
    if (whole.empty()) return fail(Code::internal, "the upstream's answer is not JSON");
    last_ = whole.size();
    handler_.on_frame(whole);
    partial_.clear();
    if (partial_.capacity() > k_room) std::string().swap(partial_);
    return used;
  }

  case Stage::after:
    if (white(c)) return 1;
    return fail(Code::internal, "the upstream's answer goes on after its end");

  case Stage::ignore:
    return rest.size();
  }
  return rest.size();
}

std::size_t Framer::open_frame(std::string_view rest) {
  const auto used = handler_.on_open_frame(rest);
  if (used == 0) return 0;
  last_ = used;
  if (stage_ == Stage::item) stage_ = Stage::array;
  return used;
}

Result<void> Framer::finish() {
  if (stage_ == Stage::item && scanner_.begun() && !scanner_.done() && shape_ == Shape::single) {
    // A bare number or literal has no end of its own.
    std::string_view last = partial_;
    if (!last.empty() && last.front() != '{' && last.front() != '[' && last.front() != '"') {
      stage_ = Stage::after;
      handler_.on_frame(last);
      return {};
    }
  }
  const bool whole = stage_ == Stage::after || stage_ == Stage::ignore ||
                     (shape_ == Shape::watch && stage_ == Stage::before);
  if (!whole) return fail(Code::unavailable, "the upstream's answer broke off in the middle");
  return {};
}

} // namespace zoo::translate
