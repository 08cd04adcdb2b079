// SPDX-License-Identifier: Apache-2.0
#include "common/base/gzip.hpp"

#include "common/base/text.hpp"

#include <isa-l/igzip_lib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace zoo::gzip {
namespace {

constexpr int k_raw = -15; ///< window bits: no header, no trailer
constexpr int k_memory_level = 8;
constexpr std::size_t k_chunk = 64 * 1024;
/// Flags of a header that nobody has given a meaning (RFC 1952 2.3.1.2), which ISA-L passes over.
constexpr std::uint32_t k_reserved = 0xe0;
/// That ISA-L opens at a time: each time it copies twice the 32 KiB that what follows may refer to.
constexpr std::size_t k_text = 128 * 1024;
/// Room for some 8,000 tokens, 800 KiB of a list of pods: what is compressed goes out when it is
/// full.
constexpr std::size_t k_level =
    ISAL_DEF_LVL1_REQ + std::size_t{8} * IGZIP_K * ISAL_DEF_LVL1_TOKEN_SIZE;
constexpr std::size_t k_most_at_once = std::size_t{1} << 30; ///< ISA-L counts in 32 bits

unsigned char* bytes_of(std::string_view text) {
  // Both libraries only read what next_in points at.
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
  isal_zstream stream;
  std::array<std::uint8_t, k_level> level;

  void begin() {
    isal_deflate_init(&stream);
    stream.level = 1;
    stream.level_buf = level.data();
    stream.level_buf_size = static_cast<std::uint32_t>(level.size());
    stream.gzip_flag = IGZIP_GZIP;
  }

  void run(std::string_view text, bool last, std::string& out) {
    do {
      const auto part = std::min(text.size(), k_most_at_once);
      stream.next_in = bytes_of(text);
      stream.avail_in = static_cast<std::uint32_t>(part);
      text.remove_prefix(part);
      stream.end_of_stream = last && text.empty() ? 1 : 0;
      do {
        // Straight behind what is there: what is not filled is taken off again.
        const auto before = out.size();
        const auto room = std::min(k_chunk, std::max<std::size_t>(part / 4, 1024));
        out.resize(before + room);
        stream.next_out = reinterpret_cast<std::uint8_t*>(out.data() + before);
        stream.avail_out = static_cast<std::uint32_t>(room);
        isal_deflate(&stream); // whose errors are those of its settings
        out.resize(before + room - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (!text.empty());
  }
};

struct Opener::State {
  inflate_state stream;
  isal_gzip_header head; ///< isal_inflate()'s own is a new one at each call (ISA-L before 2.31)
  bool head_read;
  std::array<std::uint8_t, k_text> text;

  void begin() {
    isal_inflate_init(&stream);
    stream.crc_flag = ISAL_GZIP_NO_HDR_VER; // the trailer is
    head = {};
    head_read = false;
  }

  int go_on() {
    if (head_read) return isal_inflate(&stream);
    const int result = isal_read_gzip_header(&stream, &head);
    head_read = result == ISAL_DECOMP_OK;
    if (head_read && (head.flags & k_reserved) != 0) return ISAL_INVALID_WRAPPER;
    return result == ISAL_END_INPUT ? ISAL_DECOMP_OK : result;
  }
};

namespace {

/// What the last one of this thread has left: to ask the kernel for so many pages, and to give them
/// back, costs as much as a short list.
template <class State>
std::unique_ptr<State>& spare() {
  static thread_local std::unique_ptr<State> kept;
  return kept;
}

template <class State>
std::unique_ptr<State> take() {
  auto state = std::move(spare<State>());
  if (!state) state = std::make_unique_for_overwrite<State>();
  state->begin();
  return state;
}

} // namespace

Stream::Stream() : state_(take<State>()) {}
Stream::~Stream() { spare<State>() = std::move(state_); }

void Stream::add(std::string_view text, std::string& out) {
  if (!text.empty()) state_->run(text, false, out);
}

void Stream::end(std::string& out) { state_->run({}, true, out); }

Opener::Opener() : state_(take<State>()) {}
Opener::~Opener() { spare<State>() = std::move(state_); }

Result<std::string_view> Opener::next(std::string_view& packed) {
  auto& stream = state_->stream;
  while (!complete()) {
    const auto part = std::min(packed.size(), k_most_at_once);
    stream.next_in = bytes_of(packed);
    stream.avail_in = static_cast<std::uint32_t>(part);
    stream.next_out = state_->text.data();
    stream.avail_out = static_cast<std::uint32_t>(state_->text.size());
    const int result = state_->go_on();
    const auto made = state_->text.size() - stream.avail_out;
    const bool stuck = made == 0 && part > 0 && stream.avail_in == part && !complete();
    if (result != ISAL_DECOMP_OK || stuck)
      return fail(Code::invalid, "this is not what gzip compresses, or it is damaged ({})", result);
    packed.remove_prefix(part - stream.avail_in);
    if (made > 0) return std::string_view(reinterpret_cast<char*>(state_->text.data()), made);
    if (packed.empty()) return std::string_view();
  }
  if (!packed.empty())
    return fail(Code::invalid, "something stands behind what is compressed with gzip");
  return std::string_view();
}

bool Opener::complete() const { return state_->stream.block_state == ISAL_BLOCK_FINISH; }

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
