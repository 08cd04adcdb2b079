// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Eight bytes looked at together (Mycroft's trick). What is found may be a byte beside the one
/// that was sought: whoever finds something looks at the bytes. Pure; any thread.
namespace zoo::byte_block {

constexpr std::size_t k_size = sizeof(std::uint64_t);
constexpr std::uint64_t k_ones = 0x0101010101010101, k_high = 0x80 * k_ones;

inline std::uint64_t load(const char* bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, bytes, k_size);
  return out;
}
/// Perhaps a byte below `limit`, at most 0x80, is in it.
constexpr bool has_below(std::uint64_t block, std::uint8_t limit) {
  return ((block - limit * k_ones) & ~block & k_high) != 0;
}
/// Perhaps this byte is in it.
constexpr bool has(std::uint64_t block, char byte) {
  return has_below(block ^ (static_cast<std::uint8_t>(byte) * k_ones), 1);
}
/// A byte from 0x80 on is in it.
constexpr bool beyond_ascii(std::uint64_t block) { return (block & k_high) != 0; }

} // namespace zoo::byte_block
