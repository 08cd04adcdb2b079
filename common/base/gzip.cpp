// SPDX-License-Identifier: Apache-2.0
#include "common/base/gzip.hpp"

#include "common/base/text.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace zoo::gzip {
namespace {

constexpr int k_raw = -15;      ///< window bits: no header, no trailer
constexpr int k_gzip = 15 + 16; ///< with both
constexpr int k_memory_level = 8;
constexpr std::size_t k_chunk = 64 * 1024;

unsigned char* bytes_of(std::string_view text) {
  // zlib only reads what next_in points at.
  return reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
}

void little_endian(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i)
    out += static_cast<char>(value >> (8 * i));
}

} // namespace

Piece compress(std::string_view text) {
  Piece out;
  out.size = text.size();
  out.crc = static_cast<std::uint32_t>(crc32_z(0, bytes_of(text), text.size()));
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, k_raw, k_memory_level, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string chunk(k_chunk, '\0');
  do {
    const auto part = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max());
    stream.next_in = bytes_of(text);
    stream.avail_in = static_cast<uInt>(part);
    text.remove_prefix(part);
    // A full flush ends at a byte and forgets what came before: anything may follow.
    const int flush = text.empty() ? Z_FULL_FLUSH : Z_NO_FLUSH;
    do {
      stream.next_out = bytes_of(chunk);
      stream.avail_out = static_cast<uInt>(chunk.size());
      deflate(&stream, flush);
      out.bytes.append(chunk, 0, chunk.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!text.empty());
  deflateEnd(&stream);
  return out;
}

Joiner::Joiner() {
  // Magic, deflate, no flags, no time, fastest, unknown system.
  out_.assign("\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff", 10);
}

void Joiner::add(const Piece& piece) {
  out_ += piece.bytes;
  crc_ =
      static_cast<std::uint32_t>(crc32_combine(crc_, piece.crc, static_cast<z_off_t>(piece.size)));
  size_ += piece.size;
}

std::string Joiner::take() {
  out_.append("\x03\x00", 2); // an empty last block
  little_endian(out_, crc_);
  little_endian(out_, static_cast<std::uint32_t>(size_));
  return std::move(out_);
}

struct Stream::State {
  z_stream stream{};

  void run(std::string_view text, int flush, std::string& out) {
    do {
      const auto part = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max());
      stream.next_in = bytes_of(text);
      stream.avail_in = static_cast<uInt>(part);
      text.remove_prefix(part);
      do {
        // Straight behind what is there: what is not filled is taken off again.
        const auto before = out.size();
        const auto room = std::min(k_chunk, std::max<std::size_t>(part / 4, 1024));
        out.resize(before + room);
        stream.next_out = reinterpret_cast<unsigned char*>(out.data() + before);
        stream.avail_out = static_cast<uInt>(room);
        deflate(&stream, text.empty() ? flush : Z_NO_FLUSH);
        out.resize(before + room - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (!text.empty());
  }
};

Stream::Stream() : state_(std::make_unique<State>()) {
  if (deflateInit2(&state_->stream, Z_BEST_SPEED, Z_DEFLATED, k_gzip, k_memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
}

Stream::~Stream() { deflateEnd(&state_->stream); }

void Stream::add(std::string_view text, std::string& out) {
  if (!text.empty()) state_->run(text, Z_NO_FLUSH, out);
}

void Stream::end(std::string& out) { state_->run({}, Z_FINISH, out); }

std::string whole(std::string_view text) {
  Joiner joiner;
  joiner.add(compress(text));
  return joiner.take();
}

bool accepted(std::string_view accept_encoding) {
  for (const auto part : text::split(accept_encoding, ',')) {
    const auto fields = text::split(part, ';');
    if (!text::iequals(text::trim(fields.front()), "gzip")) continue;
    // "gzip;q=0" refuses it.
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const auto field = text::trim(fields[i]);
      if (!field.starts_with("q=") && !field.starts_with("Q=")) continue;
      return field.find_first_of("123456789", 2) != std::string_view::npos;
    }
    return true;
  }
  return false;
}

} // namespace zoo::gzip
