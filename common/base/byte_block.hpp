// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// Eight bytes looked at together (Mycroft's trick): whether a byte is among them, not where. Pure;
/// any thread.
namespace zoo::byte_block {

constexpr std::size_t k_size = sizeof(std::uint64_t);
constexpr std::uint64_t k_ones = 0x0101010101010101, k_high = 0x80 * k_ones;

inline std::uint64_t load(const char* bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, bytes, k_size);
  return out;
}
/// A byte below `limit`, at most 0x80, is in it.
constexpr bool has_below(std::uint64_t block, std::uint8_t limit) {
  return ((block - limit * k_ones) & ~block & k_high) != 0;
}
/// This byte is in it.
constexpr bool has(std::uint64_t block, char byte) {
  return has_below(block ^ (static_cast<std::uint8_t>(byte) * k_ones), 1);
}
/// A byte from 0x80 on is in it.
constexpr bool beyond_ascii(std::uint64_t block) { return (block & k_high) != 0; }

/// A text shorter than a block, one byte at least: some of its bytes more than once, no others.
inline std::uint64_t load_short(const char* bytes, std::size_t size) {
  const auto part = [bytes](std::size_t at, auto word) -> std::uint64_t {
    std::memcpy(&word, bytes + at, sizeof(word));
    return word;
  };
  if (size >= 4) return part(0, std::uint32_t{}) | part(size - 4, std::uint32_t{}) << 32;
  if (size == 1) return static_cast<std::uint8_t>(*bytes) * k_ones;
  const auto all = part(0, std::uint16_t{}) | part(size - 2, std::uint16_t{}) << 16;
  return all | all << 32;
}
/// Is `suspect` true of any block of the text? Blocks may overlap.
bool any(std::string_view text, auto suspect) {
  if (text.size() < k_size) return !text.empty() && suspect(load_short(text.data(), text.size()));
  const std::size_t last = text.size() - k_size;
  for (std::size_t at = 0; at < last; at += k_size) {
    if (suspect(load(text.data() + at))) return true;
  }
  return suspect(load(text.data() + last));
}

} // namespace zoo::byte_block
