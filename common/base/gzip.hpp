// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

/// Does an Accept-Encoding field (RFC 9110 12.5.3) allow gzip by name?
bool accepted(std::string_view accept_encoding);

} // namespace zoo::gzip
