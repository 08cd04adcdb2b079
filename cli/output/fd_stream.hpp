// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

namespace zoo::cli {

/// A buffered ostream over a descriptor that it does not own, which remembers why a write failed:
/// a reader that went away (EPIPE) ends zooctl quietly, a full disk with a sentence.
class FdStream : public std::ostream {
public:
  explicit FdStream(int descriptor);
  ~FdStream() override;

  /// errno of the first write that failed; 0: none did. Call flush() before asking.
  int failure() const { return buffer_.failure; }

private:
  struct Buffer : std::streambuf {
    explicit Buffer(int number);
    int_type overflow(int_type byte) override;
    int sync() override;
    bool drain();

    int descriptor;
    int failure = 0;
    std::array<char, 16384> bytes{};
  };
  Buffer buffer_;
};

} // namespace zoo::cli
