// SPDX-License-Identifier: Apache-2.0
#include "cli/output/fd_stream.hpp"

#include <unistd.h>

#include <cerrno>

namespace zoo::cli {

FdStream::Buffer::Buffer(int number) : descriptor(number) {
  setp(bytes.data(), bytes.data() + bytes.size());
}

bool FdStream::Buffer::drain() {
  const char* at = pbase();
  while (at != pptr() && failure == 0) {
    const auto n = ::write(descriptor, at, static_cast<std::size_t>(pptr() - at));
    if (n >= 0) {
      at += n;
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  setp(bytes.data(), bytes.data() + bytes.size());
  return failure == 0;
}

FdStream::Buffer::int_type FdStream::Buffer::overflow(int_type byte) {
  if (!drain()) return traits_type::eof();
  if (!traits_type::eq_int_type(byte, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(byte);
    pbump(1);
  }
  return traits_type::not_eof(byte);
}

int FdStream::Buffer::sync() { return drain() ? 0 : -1; }

FdStream::FdStream(int descriptor) : std::ostream(nullptr), buffer_(descriptor) { rdbuf(&buffer_); }

FdStream::~FdStream() { buffer_.drain(); }

} // namespace zoo::cli
