// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/structure.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::translate {

/// Finds the end of one JSON value in a stream that arrives in pieces of any size. Looks at
/// quotes, escapes and brackets only: what the value contains is its reader's to judge.
class ValueScanner {
public:
  /// Takes bytes of the value (leading white space is the caller's) and returns how many belong to
  /// it; fewer than given, or all with done() true: it is complete. A number or literal ends in
  /// front of the byte that cannot belong to it.
  std::size_t scan(std::string_view bytes);
  bool done() const { return state_ == State::done; }
  bool begun() const { return state_ != State::start; }
  void reset() { *this = {}; }

private:
  enum class State : std::uint8_t { start, nested, string, scalar, done };
  State state_ = State::start;
  bool escaped_ = false; ///< of a string
  NestScanner nest_;
};

enum class Shape : std::uint8_t {
  single, ///< one value: on_frame once
  list,   ///< an object with an array of objects: on_frame_head, on_frame for each, on_frame_tail
  watch,  ///< values one after the other: on_frame for each
};

/// Hears what a Framer cuts out. The views are valid during the call only.
class FrameHandler {
public:
  virtual ~FrameHandler() = default;
  /// The bytes of the list's object up to and with the `[` of its array.
  virtual void on_frame_head(std::string_view) {}
  virtual void on_frame(std::string_view value) = 0;
  /// `rest` begins with an object of a list and may end in the middle of it: for who finds its end
  /// on the way. Its size; 0: it comes by on_frame(), when its end is found.
  virtual std::size_t on_open_frame(std::string_view /*rest*/) { return 0; }
  /// The bytes from the `]` to the end of the list's object. A list without an array (or with
  /// null) has an empty head and its whole object here.
  virtual void on_frame_tail(std::string_view) {}
};

/// Cuts a stream of JSON in chunks of any size into whole values (framing apart from rewriting:
/// docs/decisions/). A value that lies within one chunk is not copied; else it is collected, up to
/// `limit` bytes. After an error nothing more may be fed. One a body; not thread-safe.
class Framer {
public:
  /// `array`: the list's key, "items" or "rows".
  Framer(Shape shape, std::size_t limit, FrameHandler& handler, std::string_view array = "items");

  /// Code::too_large: a value (or what stands around the items) is larger than the limit;
  /// Code::internal: this is no JSON of that shape.
  Result<void> feed(std::string_view chunk);
  /// The stream has ended. Code::unavailable if it ended in the middle.
  Result<void> finish();
  /// No further callbacks; the rest of the stream is swallowed (a handler may ask for it).
  void ignore_rest() { stage_ = Stage::ignore; }
  std::size_t held() const { return partial_.size(); } ///< bytes of a value that is not whole yet

private:
  enum class Stage : std::uint8_t {
    before,
    envelope,
    key,
    colon,
    value,
    array,
    item,
    after,
    ignore
  };
  /// Of a list's head or tail; the columns of a Table are a few KiB.
  static constexpr std::size_t k_envelope_limit = std::size_t{256} << 10;

  Result<std::size_t> step(std::string_view rest);
  std::size_t open_frame(std::string_view rest);
  Result<void> collect(std::string& buffer, std::string_view bytes, std::string_view what) const;

  Shape shape_;
  Stage stage_ = Stage::before;
  bool colon_ = false; ///< seen behind the key
  bool array_seen_ = false;
  std::size_t limit_;
  FrameHandler& handler_;
  std::string array_;
  ValueScanner scanner_;
  std::string envelope_; ///< of a list: head, then tail
  std::string key_;      ///< of the member being read, with quotes
  std::string partial_;  ///< of a value that spans chunks
  std::size_t last_ = 0; ///< size of the last item that was handed on
};

} // namespace zoo::translate
