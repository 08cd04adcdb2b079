// SPDX-License-Identifier: Apache-2.0
// Whatever comes as gzip from upstream, in pieces of any size, is opened or refused, and what zood
// compresses is what zlib's reader and its own make of it again.
#include "common/base/gzip.hpp"

#include "tests/fuzz/invariant.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t k_most = 1u << 20; ///< bytes of text: a few of gzip may be many of these

/// nullopt: refused, or not complete.
std::optional<std::string> opened(std::string_view packed, std::size_t step) {
  zoo::gzip::Opener opener;
  std::string out;
  while (!packed.empty()) {
    auto part = packed.substr(0, step);
    packed.remove_prefix(part.size());
    for (;;) {
      const auto text = opener.next(part);
      if (!text || out.size() > k_most) return std::nullopt;
      invariant(text->size() <= 128 * 1024, "a piece of text is no longer than said", "");
      if (text->empty()) break;
      out += *text;
    }
    invariant(part.empty(), "what was given is used up", "");
  }
  if (!opener.complete()) return std::nullopt;
  return out;
}

std::optional<std::string> opened_by_zlib(std::string_view packed) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return std::nullopt;
  std::string out(k_most, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<unsigned>(packed.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return whole ? std::optional(out) : std::nullopt;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t step = 1u + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  const auto mine = opened(bytes, step);
  invariant(mine == opened(bytes, bytes.size() + 1), "pieces of any size", "");
  const auto others = opened_by_zlib(bytes);
  if (mine || (others && others->size() < k_most))
    invariant(mine == others, "as zlib reads it", "");

  const std::string text(bytes);
  zoo::gzip::Stream stream;
  std::string packed;
  for (std::size_t at = 0; at < text.size(); at += step)
    stream.add(std::string_view(text).substr(at, step), packed);
  stream.end(packed);
  invariant(opened_by_zlib(packed) == text, "zlib reads what was compressed as it came", text);
  invariant(opened(packed, step) == text, "and so does zood", text);
  invariant(opened(zoo::gzip::whole(text), step) == text, "and what zlib compressed", text);
  return 0;
}
