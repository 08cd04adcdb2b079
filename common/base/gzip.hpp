// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// gzip (RFC 1952) of whole texts, and of texts put together from pieces that were compressed
/// before. Values without state, any thread; fastest level, since what is sent is sent once.
namespace zoo::gzip {

/// One piece of a deflate stream: it ends at a byte and refers to nothing outside of itself.
struct Piece {
  std::string bytes;
  std::uint32_t crc = 0;
  std::uint64_t size = 0; ///< of the text
};
Piece compress(std::string_view text);

/// Pieces in their order become one stream with one checksum.
class Joiner {
public:
  Joiner();
  void add(const Piece& piece);
  std::string take(); ///< once, at the end

private:
  std::string out_;
  std::uint32_t crc_ = 0;
  std::uint64_t size_ = 0;
};

std::string whole(std::string_view text);

/// A text of unknown length, compressed as it comes: what can be sent already is appended to `out`,
/// of a list of pods some 20 KiB after each 800. Holds 132 KiB, whatever the length; each thread
/// keeps those of one for the next. One thread at a time.
class Stream {
public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void add(std::string_view text, std::string& out);
  void end(std::string& out); ///< once, last

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One member of RFC 1952, opened as it comes. Holds 216 KiB, whatever the length; each thread
/// keeps those of one for the next. One thread at a time.
class Opener {
public:
  Opener();
  ~Opener();
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

  /// The next piece of the text, 128 KiB at most, until the next call; what was used of `packed` is
  /// taken off it. Empty: all that was given is used up, and more has to come. Code::invalid: this
  /// is no gzip, its checksum is wrong, or something stands behind it.
  Result<std::string_view> next(std::string_view& packed);
  bool complete() const; ///< the text has ended, with its checksum

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Does an Accept-Encoding field (RFC 9110 12.5.3) allow gzip by name?
bool accepted(std::string_view accept_encoding);

} // namespace zoo::gzip
